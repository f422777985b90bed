import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { cleanUp, TestInstance } from '../support/testInstance.ts';
import { until } from '../support/until.ts';

describe('variablesOf', () => {
  afterEach(cleanUp);

  async function withSecrets(): Promise<{ test: TestInstance; agentId: string; vaultId: string; environmentId: string }> {
    const test = await TestInstance.start();
    const environmentId = String((await test.post('/api/environments', { name: 'e', env_vars: { PLAIN: 'x', BOTH: 'from-env-vars' } })).data['id']);
    const vaultId = String((await test.post('/api/vaults', { name: 'v' })).data['id']);
    await test.post(`/api/environments/${environmentId}/secrets`, { key: 'BOTH', value: 'from-environment-secret' });
    await test.post(`/api/environments/${environmentId}/secrets`, { key: 'ONLY', value: 'short' });
    await test.post(`/api/vaults/${vaultId}/secrets`, { key: 'BOTH', value: 'from-vault-secret' });
    return { test, environmentId, vaultId, agentId: await test.agent({ environment_id: environmentId }) };
  }

  it('should let the vault win over the environment and show no value', async () => {
    const { test, agentId, vaultId } = await withSecrets();
    const id = await test.conversation({ agent_id: agentId, vault_id: vaultId });
    await test.turn(id, [{ env: 'PLAIN' }, { env: 'ONLY' }, { env: 'BOTH' }, { file: { path: 'proof', text: 'x' } }]);
    expect(await test.said(id)).to.equal('PLAIN=xONLY=shortBOTH=[REDACTED]');
    const other = await test.conversation({ agent_id: agentId });
    await test.turn(other, [{ env: 'BOTH' }, { title: 'uses from-environment-secret and from-vault-secret' }]);
    expect(await test.said(other)).to.equal('BOTH=[REDACTED]');
    expect((await test.show(other))['title']).to.equal('uses [REDACTED] and from-vault-secret');
  });

  it('should give the sandbox its own key, which may do what an agent may, and never show it', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation();
    const script = [{ env: 'FOUNTAIN_BASE_URL' }, { env: 'FOUNTAIN_SANDBOX_ID' }, { env: 'FOUNTAIN_TOKEN' }];
    await test.turn(id, script);
    expect(await test.said(id)).to.equal(`FOUNTAIN_BASE_URL=${test.instance.baseUrl}FOUNTAIN_SANDBOX_ID=${String((await test.show(id))['sandbox_id'])}FOUNTAIN_TOKEN=[REDACTED]`);
    const without = await test.conversation({ sandbox_api_access: 'none' });
    await test.turn(without, [{ env: 'FOUNTAIN_TOKEN' }]);
    expect(await test.said(without)).to.equal('FOUNTAIN_TOKEN=');
  });

  it("should not hand the server's own environment on", async () => {
    const test = await TestInstance.start({ env: { ...process.env, MY_DATABASE_PASSWORD: 'hunter2hunter2' } });
    const id = await test.conversation();
    await test.turn(id, [{ env: 'MY_DATABASE_PASSWORD' }, { env: 'HOME' }]);
    expect(await test.said(id)).to.match(/^MY_DATABASE_PASSWORD=HOME=.*sandboxes.*home$/);
  });

  it('should not show the key or an old secret in later turns of the same process', async () => {
    const { test, agentId, vaultId } = await withSecrets();
    const id = await test.conversation({ agent_id: agentId, vault_id: vaultId });
    await test.turn(id, 'start');
    await test.post(`/api/vaults/${vaultId}/secrets`, { key: 'BOTH', value: 'another-vault-secret' });
    await test.turn(id, [{ env: 'FOUNTAIN_TOKEN' }, { env: 'BOTH' }]);
    expect(await test.said(id)).to.equal('echo:startFOUNTAIN_TOKEN=[REDACTED]BOTH=[REDACTED]');
  });

  it('should redact a secret that arrives in pieces, in words and in stderr', async () => {
    const { test, agentId, vaultId } = await withSecrets();
    const id = await test.conversation({ agent_id: agentId, vault_id: vaultId });
    await test.turn(id, [{ say: 'it is from-va' }, { say: 'ult-sec' }, { say: 'ret, yes from' }, { say: '-here' }, { stderr: 'from-vault-' }, { sleep: 50 }, { stderr: 'secret!\n' }]);
    expect(await test.said(id)).to.equal('it is [REDACTED], yes from-here');
    const stderr = (await test.events(id)).filter(({ stream }) => stream === 'stderr').map(({ data }) => data);
    expect(stderr.join('')).to.equal('[REDACTED]!\n');
  });

  it('should keep secrets out of every file of the data folder', async () => {
    const { test, agentId, vaultId } = await withSecrets();
    const id = await test.conversation({ agent_id: agentId, vault_id: vaultId });
    await test.turn(id, [{ env: 'BOTH' }, { stderrEnv: 'BOTH' }, { errorEnv: 'BOTH' }]);
    expect(JSON.stringify(await test.events(id)).match(/\[REDACTED\]/g)).to.have.length(3);
    await test.close();
    for (const name of readdirSync(test.instance.dataDir)) {
      if (name === 'sandboxes') continue;
      const content = readFileSync(path.join(test.instance.dataDir, name)).toString('latin1');
      expect(content.includes('from-vault-secret'), name).to.equal(false);
      expect(content.includes('from-environment-secret'), name).to.equal(false);
    }
  });

  it('should not return a value', async () => {
    const { test, vaultId } = await withSecrets();
    const { list } = await test.get(`/api/vaults/${vaultId}/secrets`);
    expect(list).to.have.length(1);
    expect(JSON.stringify(list)).to.not.include('from-vault');
    expect(list[0]).to.include({ key: 'BOTH' });
    expect((await test.get(`/api/vaults/${vaultId}`)).data).to.include({ secret_count: 1 });
  });

  it('should use a secret that was changed with the next start of the agent', async () => {
    const { test, agentId, vaultId } = await withSecrets();
    const id = await test.conversation({ agent_id: agentId, vault_id: vaultId });
    await test.turn(id, [{ exit: 0 }]);
    await test.post(`/api/vaults/${vaultId}/secrets`, { key: 'BOTH', value: 'now' });
    await until(async () => (await test.show(id))['status'] === 'idle', 'the conversation');
    await test.turn(id, [{ env: 'BOTH' }]);
    expect(await test.said(id)).to.equal('BOTH=now');
  });
});
