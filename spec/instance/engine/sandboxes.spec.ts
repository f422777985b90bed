import { expect } from 'chai';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { JsonObject } from '../../../lib/protocol/jsonrpc.ts';
import { contentOf, nameOf } from '../support/eventReader.ts';
import { isAlive } from '../support/isAlive.ts';
import { cleanUp, TestInstance } from '../support/testInstance.ts';
import type { Answer } from '../support/testInstance.ts';
import { until } from '../support/until.ts';

describe('Sandboxes', () => {
  afterEach(cleanUp);

  async function sandboxOf(test: TestInstance, id: string): Promise<JsonObject> {
    return (await test.show(id))['sandbox'] as JsonObject;
  }

  function folderOf(test: TestInstance, sandbox: JsonObject): string {
    return path.join(test.instance.dataDir, 'sandboxes', String(sandbox['id']));
  }

  describe('suspension', () => {
    it('should end the process of an idle sandbox, keep its folder, and resume the same session with the next prompt', async () => {
      const test = await TestInstance.start({ sandboxIdleSeconds: 0.2, sandboxCheckSeconds: 0.05 });
      const id = await test.conversation({}, '--resume');
      await test.turn(id, [{ pid: 1 }, { file: { path: 'kept', text: 'kept' } }]);
      const session = (await test.show(id))['runtime_session_id'];
      const pid = Number(/pid:(\d+)/.exec(await test.said(id))![1]);
      expect(contentOf(await test.event(id, 'sandbox/done'))).to.include({ event: 'suspended', reason: 'idle' });
      await until(() => !isAlive(pid), 'the end of the agent');
      expect(await sandboxOf(test, id)).to.include({ status: 'suspended' });
      expect(await test.show(id)).to.include({ status: 'idle' });
      const head = (await test.events(id)).at(-1)!.id;
      await test.turn(id, 'back');
      const names = (await test.events(id, head)).map(nameOf);
      expect(names.slice(0, 5)).to.deep.equal(['reattach/started', 'reattach/done', 'turn/started', 'acp', 'turn/done']);
      const [started, done] = await test.events(id, head);
      expect(contentOf(started!)['sprite_name']).to.equal((await sandboxOf(test, id))['sprite_name']);
      expect(contentOf(done!)).to.deep.equal({ outcome: 'no_running_turn' });
      expect((await test.show(id))['runtime_session_id']).to.equal(session);
      expect(existsSync(path.join(folderOf(test, await sandboxOf(test, id)), 'home', 'kept'))).to.equal(true);
      expect((await test.get(`/api/sandboxes/${String((await sandboxOf(test, id))['id'])}`)).data['last_resumed_at']).to.be.a('string');
    });

    it("should say that the agent's memory is lost when its session is gone", async () => {
      const test = await TestInstance.start({ sandboxIdleSeconds: 0.2, sandboxCheckSeconds: 0.05 });
      const id = await test.conversation();
      await test.turn(id, 'x');
      await test.event(id, 'sandbox/done');
      await test.turn(id, 'y');
      expect(contentOf(await test.event(id, 'session/done'))).to.include({ event: 'reset', reason: 'session_gone' });
    });

    it('should not suspend a sandbox in the middle of a turn', async () => {
      const test = await TestInstance.start({ sandboxIdleSeconds: 0.1, sandboxCheckSeconds: 0.02 });
      const id = await test.conversation();
      const end = await test.turn(id, [{ sleep: 500 }]);
      expect(end.state).to.equal('done');
      expect((await test.events(id, 0)).filter((event) => event.id < end.id).map(nameOf)).to.not.include('sandbox/done');
    });

    it('should fail the waking prompt when the folder is gone, and provision anew for the one after it', async () => {
      const test = await TestInstance.start({ sandboxIdleSeconds: 0.2, sandboxCheckSeconds: 0.05 });
      const id = await test.conversation({}, '--resume');
      await test.turn(id, 'x');
      await test.event(id, 'sandbox/done');
      const old = await sandboxOf(test, id);
      await rm(folderOf(test, old), { recursive: true });
      const head = (await test.events(id)).at(-1)!.id;
      await test.prompt(id, 'lost');
      await test.event(id, 'turn/failed');
      const events = await test.events(id, head);
      expect(events.map(nameOf)).to.deep.equal(['reattach/started', 'reattach/failed', 'turn/failed']);
      expect(contentOf(events[1]!)).to.include({ reason: 'not_found', retryable: false });
      expect(contentOf(events[2]!)).to.not.have.property('turn_number');
      const next = await test.turn(id, 'anew');
      expect(next.state).to.equal('done');
      const names = (await test.events(id, events.at(-1)!.id)).map(nameOf);
      expect(names.slice(0, 4)).to.deep.equal(['provision/started', 'session/done', 'provision/done', 'turn/started']);
      expect(contentOf(await test.event(id, 'session/done'))).to.include({ reason: 'fresh_sandbox' });
      expect((await sandboxOf(test, id))['id']).to.not.equal(old['id']);
    });

    it('should let one of two prompts wake a parked conversation', async () => {
      const test = await TestInstance.start({ sandboxIdleSeconds: 0.2, sandboxCheckSeconds: 0.05 });
      const id = await test.conversation();
      await test.turn(id, 'x');
      await test.event(id, 'sandbox/done');
      const answers = await Promise.all([test.submit(id, [{ wait: 1 }]), test.submit(id, [{ wait: 1 }])]);
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 400]);
      expect((await test.get(`/api/conversations/${id}/turns`)).list).to.have.length(2);
    });

    it('should refuse to provision when the agent was deleted', async () => {
      const test = await TestInstance.start({ sandboxIdleSeconds: 0.2, sandboxCheckSeconds: 0.05 });
      const agentId = await test.agent();
      const id = await test.conversation({ agent_id: agentId });
      await test.event(id, 'sandbox/done');
      await test.call('DELETE', `/api/agents/${agentId}`);
      expect((await test.turn(id, 'its machine is there')).state).to.equal('done');
      await until(async () => (await sandboxOf(test, id))['status'] === 'suspended', 'the suspension');
      await rm(folderOf(test, await sandboxOf(test, id)), { recursive: true });
      await test.turn(id, 'lost');
      const { status, body } = await test.submit(id, 'x');
      expect([status, body['error']]).to.deep.equal([422, 'no_agent']);
      expect((await test.submit(id, 'x')).status).to.equal(422);
    });
  });

  describe('the maximum lifetime', () => {
    it('should reclaim an ephemeral sandbox in the middle of a turn, say so first, and go on with a new one', async () => {
      const test = await TestInstance.start({ sandboxLifetimeSeconds: 0.5, sandboxCheckSeconds: 0.05 });
      const id = await test.conversation();
      await test.prompt(id, [{ pid: 1 }, { hang: 1 }]);
      await test.event(id, 'turn/failed');
      const pid = Number(/pid:(\d+)/.exec(await test.said(id))![1]);
      const events = await test.events(id);
      expect(events.map(nameOf).slice(-2)).to.deep.equal(['sandbox/done', 'turn/failed']);
      expect(contentOf(events.at(-2)!)).to.include({ event: 'reclaimed', reason: 'max_lifetime' });
      expect(contentOf(events.at(-1)!)['reason']).to.include('maximum lifetime');
      const sandbox = await sandboxOf(test, id);
      expect(sandbox).to.include({ status: 'terminated' });
      await until(() => !isAlive(pid) && !existsSync(folderOf(test, sandbox)), 'the end of everything');
      expect((await test.turn(id, 'go on')).state).to.equal('done');
    });

    it('should park a persistent sandbox', async () => {
      const test = await TestInstance.start({ sandboxLifetimeSeconds: 0.3, sandboxCheckSeconds: 0.05 });
      const id = await test.conversation({ sandbox_mode: 'persistent' });
      expect(contentOf(await test.event(id, 'sandbox/done'))).to.include({ event: 'suspended', reason: 'max_lifetime' });
      expect(existsSync(folderOf(test, await sandboxOf(test, id)))).to.equal(true);
    });
  });

  describe('a persistent home', () => {
    it('should be shared by conversations of one agent, environment and vault, and survive them', async () => {
      const test = await TestInstance.start();
      const agentId = await test.agent({ sandbox_mode: 'persistent' });
      const first = await test.conversation({ agent_id: agentId });
      await test.turn(first, [{ file: { path: 'note', text: 'from the first' } }]);
      const second = await test.post('/api/conversations', { agent_id: agentId });
      expect(second.data).to.include({ status: 'idle', sandbox_id: (await sandboxOf(test, first))['id'] });
      const id = String(second.data['id']);
      expect(await test.names(id)).to.deep.equal([]);
      await test.turn(id, 'x');
      expect((await test.names(id))[0]).to.equal('turn/started');
      await test.post(`/api/conversations/${first}/terminate`);
      expect(contentOf(await test.event(first, 'terminate/done'))).to.deep.equal({ event: 'released' });
      expect((await test.turn(id, 'y')).state).to.equal('done');
      expect((await test.conversation({ agent_id: agentId, sandbox_mode: 'ephemeral' }))).to.be.a('string');
      const homes = (await test.get('/api/sandboxes')).list.filter((sandbox) => sandbox['mode'] === 'persistent');
      expect(homes).to.have.length(1);
      expect(homes[0]!['conversations']).to.have.length(2);
    });

    it('should be refused with 503 while it still starts', async () => {
      const test = await TestInstance.start();
      const environment = (await test.post('/api/environments', { name: 'e', setup_script: 'sleep 60' })).data['id'];
      const agentId = await test.agent({ sandbox_mode: 'persistent', environment_id: environment });
      await test.conversation({ agent_id: agentId });
      const { status, body, headers } = await test.post('/api/conversations', { agent_id: agentId });
      expect([status, body['error'], headers.get('retry-after')]).to.deep.equal([503, 'provisioning', '30']);
    });

    it('should be reset, whereupon its conversations get a new one', async () => {
      const test = await TestInstance.start();
      const agentId = await test.agent({ sandbox_mode: 'persistent' });
      const ids = [await test.conversation({ agent_id: agentId })];
      await test.turn(ids[0]!, 'x');
      ids.push(await test.conversation({ agent_id: agentId }));
      const old = String((await sandboxOf(test, ids[0]!))['id']);
      await test.prompt(ids[1]!, [{ wait: 1 }]);
      const busy = await test.call('DELETE', `/api/sandboxes/${old}`);
      expect([busy.status, busy.body['error']]).to.deep.equal([409, 'sandbox_mid_turn']);
      await test.post(`/api/conversations/${ids[1]!}/interrupt`);
      expect((await test.call('DELETE', `/api/sandboxes/${old}`)).status).to.equal(204);
      for (const id of ids) expect(contentOf(await test.event(id, 'sandbox/done'))).to.include({ event: 'reset', by: 'user' });
      for (const id of ids) expect((await test.turn(id, 'anew')).state).to.equal('done');
      const [a, b] = [await sandboxOf(test, ids[0]!), await sandboxOf(test, ids[1]!)];
      expect(a['id']).to.equal(b['id']);
      expect(a['id']).to.not.equal(old);
    });

    it('should refuse to reset an ephemeral sandbox', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      const { status, body } = await test.call('DELETE', `/api/sandboxes/${String((await test.show(id))['sandbox_id'])}`);
      expect([status, body['error']]).to.deep.equal([422, 'sandbox_not_resettable']);
    });
  });

  describe('attaching', () => {
    async function prepared(): Promise<{ test: TestInstance; agentId: string; id: string; sandboxId: string }> {
      const test = await TestInstance.start();
      const agentId = await test.agent();
      const id = await test.conversation({ agent_id: agentId });
      await test.event(id, 'provision/done');
      return { test, agentId, id, sandboxId: String((await test.show(id))['sandbox_id']) };
    }

    function attach(test: TestInstance, body: JsonObject, key = test.key): Promise<Answer> {
      return test.call('POST', '/api/conversations', body, { authorization: `Bearer ${key}` });
    }

    it('should open idle on the same machine, which goes on until its last conversation has left', async () => {
      const { test, agentId, id, sandboxId } = await prepared();
      const { status, data } = await attach(test, { agent_id: agentId, sandbox_id: sandboxId, sandbox_mode: 'persistent' });
      expect(status).to.equal(201);
      expect(data).to.include({ status: 'idle', sandbox_id: sandboxId });
      const other = String(data['id']);
      await test.turn(other, 'x');
      await test.post(`/api/conversations/${id}/terminate`);
      expect(contentOf(await test.event(id, 'terminate/done'))).to.deep.equal({ event: 'released' });
      expect((await test.turn(other, 'y')).state).to.equal('done');
      await test.post(`/api/conversations/${other}/terminate`);
      expect(contentOf(await test.event(other, 'terminate/done'))).to.deep.equal({});
      expect((await test.get(`/api/sandboxes/${sandboxId}`)).data['status']).to.equal('terminated');
      const { body } = await attach(test, { agent_id: agentId, sandbox_id: sandboxId });
      expect(body).to.include({ error: 'sandbox_not_attachable', status: 'terminated' });
    });

    it('should be refused for another vault, environment or agent', async () => {
      const { test, agentId, sandboxId } = await prepared();
      const vault = (await test.post('/api/vaults', { name: 'v' })).data['id'];
      const environment = (await test.post('/api/environments', { name: 'e' })).data['id'];
      for (const body of [{ agent_id: agentId, vault_id: vault }, { agent_id: agentId, environment_id: environment }, { agent_id: await test.agent() }]) {
        const answer = await attach(test, { ...body, sandbox_id: sandboxId });
        expect([answer.status, answer.body['error']]).to.deep.equal([422, 'sandbox_identity_mismatch']);
      }
    });

    it('should be refused when the runtime of the agent is another one by now', async () => {
      const { test, agentId, sandboxId } = await prepared();
      await test.call('PATCH', `/api/agents/${agentId}`, { runtime: 'demo', runtime_command: null, model: 'fountain/demo' });
      const { status, body } = await attach(test, { agent_id: agentId, sandbox_id: sandboxId });
      expect([status, body['error']]).to.deep.equal([422, 'sandbox_runtime_mismatch']);
    });

    it('should let claude and codex share a machine, and with a full-scope key only', async () => {
      const test = await TestInstance.start({ env: { ...process.env, FOUNTAIN_RUNTIME_CLAUDE: 'true', FOUNTAIN_RUNTIME_CODEX: 'true' } });
      const claude = (await test.post('/api/agents', { name: 'c1', runtime: 'claude', model: 'anthropic/x' })).data['id'];
      const codex = (await test.post('/api/agents', { name: 'c2', runtime: 'codex', model: 'openai/x' })).data['id'];
      const id = await test.conversation({ agent_id: claude });
      await test.event(id, 'provision/done');
      const sandboxId = (await test.show(id))['sandbox_id'];
      const sprite = await attach(test, { agent_id: codex, sandbox_id: sandboxId }, await test.instance.mintKey('sprite'));
      expect([sprite.status, sprite.body['reason']]).to.deep.equal([403, 'insufficient_scope']);
      expect((await attach(test, { agent_id: codex, sandbox_id: sandboxId })).status).to.equal(201);
    });
  });
});
