import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../../lib/protocol/jsonrpc.ts';
import { cleanUp, TestInstance } from '../support/testInstance.ts';
import type { Answer } from '../support/testInstance.ts';

const other = { email: 'other@example.test', password: 'correct horse' };

describe('Launches', () => {
  afterEach(cleanUp);

  function launch(test: TestInstance, body: JsonObject, headers = {}): Promise<Answer> {
    return test.call('POST', '/api/conversations', body, headers);
  }

  it('should answer 201 at once with a pending conversation and its sandbox', async () => {
    const test = await TestInstance.start();
    const agentId = await test.agent();
    const { status, body, data } = await launch(test, { agent_id: agentId, permission_policy: { execute: 'ask' }, labels: { a: 'b' }, title: '  My   title ' });
    expect(status).to.equal(201);
    expect(body['meta']).to.deep.equal({ resumed: false });
    expect(data).to.include({ status: 'pending', agent_id: agentId, vault_id: null, environment_id: null, title: 'My title', source: 'api', turn_count: 0, unread: true, runtime: 'acp', acp: true });
    expect(data['permission_policy']).to.deep.equal({ execute: 'ask' });
    expect(data['sandbox']).to.include({ id: data['sandbox_id'], status: 'pending', mode: 'ephemeral' });
  });

  it('should run a prompt that comes along once the sandbox is ready', async () => {
    const test = await TestInstance.start();
    const { data, status } = await launch(test, { agent_id: await test.agent(), prompt: 'hello', client_request_id: 'c' });
    expect(status).to.equal(201);
    const id = String(data['id']);
    await test.terminal(id);
    expect(await test.said(id)).to.equal('echo:hello');
    expect(await test.show(id)).to.include({ first_prompt: 'hello', turn_count: 1 });
  });

  it('should take the parent from its header', async () => {
    const test = await TestInstance.start();
    const agentId = await test.agent();
    const parent = await test.conversation({ agent_id: agentId });
    const { data } = await launch(test, { agent_id: agentId }, { 'x-fountain-parent-conversation-id': parent });
    expect(data).to.include({ source: 'agent', parent_conversation_id: parent });
    const child = String(data['id']);
    const grandchild = String((await launch(test, { agent_id: agentId }, { 'x-fountain-parent-conversation-id': child })).data['id']);
    for (const id of [parent, child, grandchild]) {
      const { list } = await test.get(`/api/conversations/${id}/tree`);
      expect(new Set(list.map((entry) => entry['id']))).to.deep.equal(new Set([parent, child, grandchild]));
    }
    expect((await test.get('/api/conversations?roots_only=true')).list.map((entry) => entry['id'])).to.deep.equal([parent]);
  });

  const nobody = randomUUID();
  const refusals: readonly [name: string, body: JsonObject, status: number, error: string][] = [
    ['the agent is unknown', { agent_id: nobody }, 404, 'not_found'],
    ['there is no agent', {}, 422, 'validation_failed'],
    ['the vault is unknown', { vault_id: nobody }, 404, 'vault_not_found'],
    ['the environment is unknown', { environment_id: nobody }, 404, 'environment_not_found'],
    ['the sandbox is unknown', { sandbox_id: nobody }, 404, 'sandbox_not_found'],
    ['the sandbox mode is none', { sandbox_mode: 'forever' }, 422, 'validation_failed'],
    ['the prompt is blank', { prompt: '  ' }, 422, 'invalid_prompt'],
    ['images come without a prompt', { images: [{ data: 'AAAA', media_type: 'image/png' }] }, 422, 'invalid_images'],
    ['an image has a wrong type', { prompt: 'x', images: [{ data: 'AAAA', media_type: 'image/tiff' }] }, 400, 'unsupported image media_type image/tiff — must be one of image/png, image/jpeg, image/gif, image/webp'],
    ['the policy is none', { permission_policy: { execute: 'perhaps' } }, 422, 'permission_policy_invalid'],
    ['the policy is a list', { permission_policy: ['ask'] }, 422, 'permission_policy_invalid'],
    ['the channel is too long', { channel_id: 'c'.repeat(256) }, 422, 'validation_failed'],
    ['the title is too long', { title: 'x'.repeat(121) }, 422, 'validation_failed'],
    ['a label is too long', { labels: { key: 'x'.repeat(257) } }, 422, 'validation_failed'],
  ];
  for (const [name, body, status, error] of refusals) {
    it(`should refuse with ${status} and leave nothing when ${name}`, async () => {
      const test = await TestInstance.start();
      const agentId = await test.agent();
      const answer = await launch(test, name === 'there is no agent' ? {} : { agent_id: agentId, ...body });
      expect([answer.status, answer.body['error']]).to.deep.equal([status, error]);
      expect((await test.get('/api/conversations')).list).to.deep.equal([]);
      expect((await test.get('/api/sandboxes')).list).to.deep.equal([]);
    });
  }

  it('should keep to the lists of an agent, whose own environment always passes', async () => {
    const test = await TestInstance.start();
    const own = String((await test.post('/api/environments', { name: 'own' })).data['id']);
    const listed = String((await test.post('/api/environments', { name: 'listed' })).data['id']);
    const unlisted = String((await test.post('/api/environments', { name: 'unlisted' })).data['id']);
    const vault = String((await test.post('/api/vaults', { name: 'v' })).data['id']);
    const agentId = await test.agent({ environment_id: own, allowed_environment_ids: [listed], allowed_vault_ids: [] });
    for (const [id, status] of [[own, 201], [listed, 201], [unlisted, 422]] as const) expect((await launch(test, { agent_id: agentId, environment_id: id })).status).to.equal(status);
    const refused = await launch(test, { agent_id: agentId, environment_id: unlisted });
    expect(refused.body['error']).to.equal('environment_not_allowed');
    expect(refused.body['message']).to.include('allowed_environment_ids');
    const vaultRefused = await launch(test, { agent_id: agentId, vault_id: vault });
    expect([vaultRefused.status, vaultRefused.body['error']]).to.deep.equal([422, 'vault_not_allowed']);
    expect(vaultRefused.body['message']).to.include('allowed_vault_ids');
    expect((await launch(test, { agent_id: agentId, vault_id: '' })).status).to.equal(201);
  });

  it('should name the key that a launch would loosen', async () => {
    const test = await TestInstance.start();
    const agentId = await test.agent({ permission_policy: { execute: 'ask' } });
    expect((await launch(test, { agent_id: agentId, permission_policy: { default: 'ask' } })).status).to.equal(201);
    const { status, body } = await launch(test, { agent_id: agentId, permission_policy: { edit: 'ask' } });
    expect([status, body['error']]).to.deep.equal([422, 'permission_policy_widens']);
    expect(body['message']).to.include('execute');
  });

  it('should refuse a policy that opencode cannot keep, on the agent and at the launch', async () => {
    const test = await TestInstance.start();
    const strict = await test.post('/api/agents', { name: 'o', runtime: 'opencode', model: 'openai/gpt', permission_policy: { default: 'ask' } });
    expect(strict.status).to.equal(422);
    expect(strict.body['errors']).to.have.property('permission_policy');
    const { data } = await test.post('/api/agents', { name: 'o', runtime: 'opencode', model: 'openai/gpt' });
    const { status, body } = await launch(test, { agent_id: data['id'], permission_policy: { default: 'ask' } });
    expect([status, body['error']]).to.deep.equal([422, 'permission_policy_unenforceable']);
    expect(body['message']).to.include('opencode');
  });

  it('should refuse with both counts when the quota is used up, and not count what has ended', async () => {
    const test = await TestInstance.start({ sandboxQuota: 2 });
    const agentId = await test.agent();
    const first = await test.conversation({ agent_id: agentId });
    await test.conversation({ agent_id: agentId });
    const { status, body } = await launch(test, { agent_id: agentId });
    expect(status).to.equal(429);
    expect(body).to.include({ error: 'sandbox_quota_exceeded', active_sandboxes: 2, limit: 2 });
    expect(body['message']).to.match(/2 of 2/);
    await test.post(`/api/conversations/${first}/terminate`);
    expect((await launch(test, { agent_id: agentId })).status).to.equal(201);
  });

  it('should keep to the quota when launches race', async () => {
    const test = await TestInstance.start({ sandboxQuota: 3 });
    const agentId = await test.agent();
    const answers = await Promise.all(Array.from({ length: 10 }, () => launch(test, { agent_id: agentId })));
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 201, 201, ...Array<number>(7).fill(429)]);
  });

  it('should land all racing first launches on one persistent machine, or ask them to come back', async () => {
    const test = await TestInstance.start();
    const agentId = await test.agent({ sandbox_mode: 'persistent' });
    const answers = await Promise.all(Array.from({ length: 5 }, () => launch(test, { agent_id: agentId })));
    expect(answers.map(({ status }) => status).filter((status) => status !== 201 && status !== 503)).to.deep.equal([]);
    expect((await test.get('/api/sandboxes')).list).to.have.length(1);
  });

  it("should not see another account's resources", async () => {
    const test = await TestInstance.start({ accounts: [other] });
    const agentId = await test.agent();
    const id = await test.conversation({ agent_id: agentId });
    const token = await test.post('/api/auth/token', other);
    const foreign = { authorization: `Bearer ${String(token.body['api_key'])}` };
    expect((await launch(test, { agent_id: agentId }, foreign)).status).to.equal(404);
    for (const [method, url] of [['GET', ''], ['GET', '/turns'], ['GET', '/events'], ['GET', '/stream'], ['GET', '/tree'], ['POST', '/interrupt'], ['POST', '/terminate'], ['DELETE', ''], ['POST', '/read']] as const) {
      const { status, body } = await test.call(method, `/api/conversations/${id}${url}`, undefined, foreign);
      expect([status, body['error']], `${method} ${url}`).to.deep.equal([404, 'not_found']);
    }
    expect((await test.call('GET', '/api/conversations', undefined, foreign)).list).to.deep.equal([]);
    expect((await test.show(id))['status']).to.not.equal('terminated');
  });

  describe('on a channel', () => {
    it('should resume the conversation that is bound and deliver no prompt', async () => {
      const test = await TestInstance.start();
      const agentId = await test.agent();
      const first = await launch(test, { agent_id: agentId, channel_id: 'room' });
      const again = await launch(test, { agent_id: agentId, channel_id: 'room', prompt: 'ignored', title: 'ignored', permission_policy: { default: 'ask' } });
      expect(again.status).to.equal(200);
      expect(again.body['meta']).to.deep.equal({ resumed: true });
      expect(again.data).to.include({ id: first.data['id'], title: null, turn_count: 0 });
    });

    it('should keep apart what differs in agent, vault, environment or channel', async () => {
      const test = await TestInstance.start();
      const [a, b] = [await test.agent(), await test.agent()];
      const vault = (await test.post('/api/vaults', { name: 'v' })).data['id'];
      const environment = (await test.post('/api/environments', { name: 'e' })).data['id'];
      const keys = [{ agent_id: a }, { agent_id: b }, { agent_id: a, vault_id: vault }, { agent_id: a, environment_id: environment }, { agent_id: a, channel_id: 'other' }];
      const ids = new Set<unknown>();
      for (const key of keys) {
        const { status, data } = await launch(test, { channel_id: 'room', ...key });
        expect(status).to.equal(201);
        ids.add(data['id']);
      }
      expect(ids.size).to.equal(keys.length);
      for (const key of keys) expect((await launch(test, { channel_id: 'room', ...key })).status).to.equal(200);
    });

    it('should open one conversation when many first calls come at once', async () => {
      const test = await TestInstance.start();
      const agentId = await test.agent();
      const answers = await Promise.all(Array.from({ length: 10 }, () => launch(test, { agent_id: agentId, channel_id: 'room' })));
      expect(answers.filter(({ status }) => status === 201)).to.have.length(1);
      expect(new Set(answers.map(({ data }) => data['id'])).size).to.equal(1);
    });

    it('should bind a new conversation and let the old one go on when fresh is set', async () => {
      const test = await TestInstance.start();
      const agentId = await test.agent();
      const old = await test.conversation({ agent_id: agentId, channel_id: 'room' });
      await test.event(old, 'provision/done');
      const { status, data, body } = await launch(test, { agent_id: agentId, channel_id: 'room', fresh: 'true' });
      expect(status).to.equal(201);
      expect(body['meta']).to.deep.equal({ resumed: false });
      expect(await test.show(old)).to.include({ channel_id: null, status: 'idle' });
      expect((await test.turn(old, 'still here?')).state).to.equal('done');
      expect((await launch(test, { agent_id: agentId, channel_id: 'room' })).data['id']).to.equal(data['id']);
    });

    it('should leave the binding when the fresh launch is refused', async () => {
      const test = await TestInstance.start({ sandboxQuota: 1 });
      const agentId = await test.agent();
      const old = await test.conversation({ agent_id: agentId, channel_id: 'room' });
      expect((await launch(test, { agent_id: agentId, channel_id: 'room', fresh: true })).status).to.equal(429);
      expect(await test.show(old)).to.include({ channel_id: 'room' });
    });

    it('should open a new conversation when the bound one is over', async () => {
      const test = await TestInstance.start();
      const agentId = await test.agent();
      const old = await test.conversation({ agent_id: agentId, channel_id: 'room' });
      await test.post(`/api/conversations/${old}/terminate`);
      expect((await launch(test, { agent_id: agentId, channel_id: 'room' })).status).to.equal(201);
    });
  });
});
