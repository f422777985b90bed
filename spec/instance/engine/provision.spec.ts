import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { JsonObject } from '../../../lib/protocol/jsonrpc.ts';
import { contentOf, nameOf } from '../support/eventReader.ts';
import { cleanUp, temporaryFolder, TestInstance } from '../support/testInstance.ts';

describe('provision', () => {
  afterEach(cleanUp);

  async function provisioned(test: TestInstance, environment: JsonObject, agent: JsonObject = {}): Promise<{ id: string; home: string }> {
    const made = await test.post('/api/environments', { name: `e-${Math.random()}`, ...environment });
    expect(made.status, JSON.stringify(made.body)).to.equal(201);
    const id = await test.conversation({ agent_id: await test.agent({ environment_id: made.data['id'], ...agent }) });
    const home = path.join(test.instance.dataDir, 'sandboxes', String((await test.show(id))['sandbox_id']), 'home');
    return { id, home };
  }

  it('should run the setup script in the sandbox with its variables and store what it says', async () => {
    const test = await TestInstance.start();
    const { id, home } = await provisioned(test, { setup_script: 'echo "$COLOUR" > colour; echo said; echo grumbled >&2', env_vars: { COLOUR: 'red' } });
    await test.event(id, 'provision/done');
    const events = await test.events(id);
    expect(events.filter(({ kind }) => kind === 'stage').map(nameOf)).to.deep.equal(['provision/started', 'setup/started', 'setup/done', 'provision/done']);
    expect(contentOf(await test.event(id, 'setup/done'))).to.deep.equal({ exit_code: 0 });
    expect(events.find(({ stream }) => stream === 'stdout')).to.include({ data: 'said\n', stage: 'setup', turn_id: null });
    expect(events.find(({ stream }) => stream === 'stderr')).to.include({ data: 'grumbled\n', stage: 'setup' });
    expect(readFileSync(path.join(home, 'colour'), 'utf8')).to.equal('red\n');
  });

  it('should fail the conversation, and the prompt that waits, when the script fails', async () => {
    const test = await TestInstance.start();
    const made = await test.post('/api/environments', { name: 'e', setup_script: 'exit 4' });
    const { data } = await test.post('/api/conversations', { agent_id: await test.agent({ environment_id: made.data['id'] }), prompt: 'x', client_request_id: 'c' });
    const id = String(data['id']);
    await test.event(id, 'turn/failed');
    const stages = (await test.events(id)).filter(({ kind }) => kind === 'stage');
    expect(stages.map(nameOf)).to.deep.equal(['provision/started', 'setup/started', 'setup/failed', 'provision/failed', 'turn/failed']);
    expect(contentOf(stages[2]!)).to.deep.equal({ exit_code: 4 });
    expect(contentOf(stages[3]!)['reason']).to.include('exit code 4');
    expect(await test.show(id)).to.include({ status: 'failed' });
    expect((await test.get(`/api/conversations/${id}/turns`)).list[0]).to.include({ status: 'failed', client_request_id: 'c' });
    expect((await test.submit(id, 'x')).status).to.equal(410);
  });

  it('should fail with words that say what to install when the runtime is not there', async () => {
    const test = await TestInstance.start({ env: { PATH: '/nowhere' } });
    const { data } = await test.post('/api/agents', { name: 'c', runtime: 'claude', model: 'anthropic/x' });
    const id = await test.conversation({ agent_id: data['id'] });
    expect(contentOf(await test.event(id, 'provision/failed'))['reason']).to.match(/npm install -g/);
  });

  it('should fail when it takes too long, and leave no process', async () => {
    const test = await TestInstance.start({ provisionSeconds: 0.3 });
    const { id } = await provisioned(test, { setup_script: 'sleep 60' });
    expect(contentOf(await test.event(id, 'provision/failed'))['reason']).to.include('longer than 0.3 s');
    expect(await test.names(id)).to.include('setup/failed');
  });

  it('should clone repositories to their place', async () => {
    const origin = path.join(await temporaryFolder(), 'origin');
    mkdirSync(origin);
    const git = (...args: string[]): void => void execFileSync('git', ['-C', origin, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args]);
    git('init', '-q');
    writeFileSync(path.join(origin, 'file'), 'content');
    git('add', '.');
    git('commit', '-qm', 'x');
    const env = { ...process.env, GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: `url.file://${origin}.insteadOf`, GIT_CONFIG_VALUE_0: 'https://code.example.test/app' };
    const test = await TestInstance.start({ env });
    const { id, home } = await provisioned(test, { repositories: [{ url: 'https://code.example.test/app', mount_path: '/home/sprite/work/app' }] });
    await test.event(id, 'provision/done');
    expect(await test.names(id)).to.include.members(['clone/started', 'clone/done']);
    expect(readFileSync(path.join(home, 'work', 'app', 'file'), 'utf8')).to.equal('content');
  });

  it('should say which step failed when a repository cannot be cloned', async () => {
    const env = { ...process.env, GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'url.file:///nowhere.insteadOf', GIT_CONFIG_VALUE_0: 'https://code.example.test/app' };
    const test = await TestInstance.start({ env });
    const { id } = await provisioned(test, { repositories: [{ url: 'https://code.example.test/app', mount_path: '/app' }] });
    await test.event(id, 'provision/failed');
    expect(await test.names(id)).to.include('clone/failed');
  });

  it('should not pretend to limit the network when it cannot', async () => {
    const test = await TestInstance.start({ isolation: 'off' });
    const { id } = await provisioned(test, { networking_type: 'limited', networking_config: { allowed_hosts: ['a.test', 'b.test'] } });
    expect(contentOf(await test.event(id, 'network/started'))).to.deep.equal({ type: 'limited', hosts: 2 });
    expect(contentOf(await test.event(id, 'network/failed'))['reason']).to.include('cannot limit the network');
    await test.event(id, 'provision/failed');
  });

  it("should write the agent's instructions where its program looks for them", async () => {
    const test = await TestInstance.start();
    const { id, home } = await provisioned(test, {}, { system: 'Be brief.' });
    await test.event(id, 'provision/done');
    expect(readFileSync(path.join(home, 'AGENTS.md'), 'utf8')).to.equal('Be brief.\n');
  });

  it('should leave nothing of a machine that never started', async () => {
    const test = await TestInstance.start();
    const { id, home } = await provisioned(test, { setup_script: 'exit 1' });
    await test.event(id, 'provision/failed');
    await test.post(`/api/conversations/${id}/terminate`);
    expect(existsSync(home)).to.equal(false);
    expect(await test.names(id)).to.not.include('terminate/done');
  });
});
