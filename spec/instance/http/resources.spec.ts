import { expect } from 'chai';
import type { JsonObject } from '../../../lib/protocol/jsonrpc.ts';
import { cleanUp, TestInstance } from '../support/testInstance.ts';

describe('the resources of an instance', () => {
  afterEach(cleanUp);

  it('should have a ready agent from the start, and tell who the local account is', async () => {
    const test = await TestInstance.start({ env: { PATH: '/nowhere' } });
    const { list } = await test.get('/api/agents');
    expect(list.map((agent) => [agent['name'], agent['runtime'], agent['model'], agent['acp']])).to.deep.equal([['demo', 'demo', 'fountain/demo', true]]);
    expect((await test.get('/api/auth/me')).body).to.include({ id: test.instance.accountId, role: 'user', email_verified: true });
    expect(test.key).to.match(/^ftn_[0-9a-f]{64}$/);
  });

  it('should offer the coding agents that are there, each once', async () => {
    const env = { PATH: '/nowhere', FOUNTAIN_RUNTIME_CLAUDE: '/bin/true', FOUNTAIN_RUNTIME_GEMINI: '/bin/true' };
    const test = await TestInstance.start({ env });
    const names = async (instance: TestInstance): Promise<unknown[]> => (await instance.get('/api/agents')).list.map((agent) => agent['name']).reverse();
    expect(await names(test)).to.deep.equal(['demo', 'claude', 'gemini']);
    const claude = (await test.get('/api/agents')).list.find((agent) => agent['name'] === 'claude');
    await test.call('DELETE', `/api/agents/${String(claude!['id'])}`);
    const { dataDir } = test.instance;
    await test.close();
    const again = await TestInstance.start({ dataDir, env: { ...env, FOUNTAIN_RUNTIME_CODEX: '/bin/true' } });
    expect(await names(again)).to.deep.equal(['demo', 'gemini', 'codex']);
  });

  it('should list newest first, and filter agents', async () => {
    const test = await TestInstance.start();
    const environment = (await test.post('/api/environments', { name: 'e' })).data['id'];
    const input = { runtime: 'acp', runtime_command: 'x' };
    await test.post('/api/agents', { ...input, name: 'Alpha', environment_id: environment });
    await test.post('/api/agents', { ...input, name: 'beta', skills: [{ name: 's' }] });
    await test.post('/api/agents', { ...input, name: 'gamma', mcp_servers: { a: {} } });
    const names = async (query: string): Promise<unknown[]> => (await test.get(`/api/agents${query}`)).list.map((agent) => agent['name']);
    expect((await names('')).slice(0, 3)).to.deep.equal(['gamma', 'beta', 'Alpha']);
    expect(await names('?search=alph')).to.deep.equal(['Alpha']);
    expect(await names('?runtime=demo,claude')).to.include('demo').and.not.include('beta');
    expect(await names(`?environment_id=${String(environment)}`)).to.deep.equal(['Alpha']);
    expect(await names('?has_skills=true')).to.deep.equal(['beta']);
    expect(await names('?has_mcp=1')).to.deep.equal(['gamma']);
    expect(await names('?has_mcp=maybe')).to.include('beta');
  });

  const badAgents: readonly [string, JsonObject, string][] = [
    ["a claude agent has another provider's model", { runtime: 'claude', model: 'openai/gpt' }, 'model'],
    ['there is no model', { runtime: 'claude' }, 'model'],
    ['an acp agent has no command', { runtime: 'acp' }, 'runtime_command'],
    ['another agent has a command', { runtime: 'demo', model: 'fountain/demo', runtime_command: 'x' }, 'runtime_command'],
    ['the environment is not there', { runtime: 'demo', model: 'fountain/demo', environment_id: '00000000-0000-4000-8000-000000000000' }, 'environment_id'],
    ['the fixture runtime is not configured', { runtime: 'fountain-fixture', model: 'fixture/deterministic-v1' }, 'runtime'],
    ['the name is taken', { name: 'demo', runtime: 'demo', model: 'fountain/demo' }, 'name'],
  ];
  for (const [name, input, field] of badAgents) {
    it(`should refuse an agent with 422 on ${field} when ${name}`, async () => {
      const test = await TestInstance.start();
      const { status, body } = await test.post('/api/agents', { name: 'n', ...input });
      expect([status, Object.keys(body['errors'] as JsonObject)]).to.deep.equal([422, [field]]);
    });
  }

  it("should not let a sandbox's key loosen the rules of an agent", async () => {
    const test = await TestInstance.start();
    const agentId = await test.agent({ permission_policy: { default: 'ask' } });
    const sprite = { authorization: `Bearer ${await test.instance.mintKey('sprite')}` };
    const { status, body } = await test.call('PATCH', `/api/agents/${agentId}`, { permission_policy: {} }, sprite);
    expect([status, body['reason']]).to.deep.equal([403, 'insufficient_scope']);
    expect((await test.call('PATCH', `/api/agents/${agentId}`, { description: 'fine' }, sprite)).status).to.equal(200);
    expect((await test.call('PATCH', `/api/agents/${agentId}`, { runtime_command: 'sh -c evil' }, sprite)).status).to.equal(403);
    expect((await test.call('POST', '/api/agents', { name: 'x', runtime: 'acp', runtime_command: 'sh -c evil' }, sprite)).status).to.equal(403);
    expect((await test.call('GET', '/api/auth/me', undefined, sprite)).status).to.equal(200);
  });

  it('should refuse an environment that cannot be kept', async () => {
    const test = await TestInstance.start();
    for (const [input, field] of [
      [{ packages: { brew: ['x'] } }, 'packages'],
      [{ repositories: [{ url: 'file:///etc', mount_path: '/a' }] }, 'repositories/0/url'],
      [{ repositories: [{ url: 'https://a.test', mount_path: 'a' }] }, 'repositories/0/mount_path'],
      [{ networking_type: 'open' }, 'networking_type'],
      [{ env_vars: { A: 1 } }, 'env_vars/A'],
    ] as const) {
      const { status, body } = await test.post('/api/environments', { name: 'e', ...input });
      expect([status, Object.keys(body['errors'] as JsonObject)], JSON.stringify(input)).to.deep.equal([422, [field]]);
    }
    for (const key of ['lower', '1A', 'A-B', '']) expect((await test.post(`/api/environments/${String((await test.post('/api/environments', { name: `e${key}` })).data['id'])}/secrets`, { key, value: 'x' })).status).to.equal(422);
  });

  it('should take a deleted environment from its agents', async () => {
    const test = await TestInstance.start();
    const environment = String((await test.post('/api/environments', { name: 'e' })).data['id']);
    const agentId = await test.agent({ environment_id: environment });
    expect((await test.get(`/api/environments/${environment}`)).data).to.include({ agent_count: 1 });
    await test.call('DELETE', `/api/environments/${environment}`);
    expect((await test.get(`/api/agents/${agentId}`)).data).to.include({ environment_id: null });
  });

  it('should list conversations by their last change, filtered, and refuse nonsense', async () => {
    const test = await TestInstance.start();
    const agentId = await test.agent();
    const first = await test.conversation({ agent_id: agentId, channel_id: 'c' });
    const second = await test.conversation({ agent_id: agentId });
    await test.post(`/api/conversations/${second}/terminate`);
    const ids = async (query: string): Promise<unknown[]> => (await test.get(`/api/conversations${query}`)).list.map((row) => row['id']);
    expect(await ids('?status=terminated')).to.deep.equal([second]);
    expect(await ids('?status=pending,idle')).to.deep.equal([first]);
    expect(await ids('?channel_id=c')).to.deep.equal([first]);
    expect(await ids(`?agent_id=${agentId}`)).to.have.length(2);
    expect(await ids('?limit=1')).to.have.length(1);
    for (const [query, error] of [['?status=gone', 'invalid_status'], ['?limit=0', 'invalid_limit'], ['?limit=501', 'invalid_limit'], ['?limit=x', 'invalid_limit']] as const) {
      const { status, body } = await test.get(`/api/conversations${query}`);
      expect([status, body['error']]).to.deep.equal([400, error]);
    }
    expect((await test.get('/api/sandboxes?status=gone')).body['error']).to.equal('invalid_status');
  });

  it('should know what has been read', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation();
    expect(await test.show(id)).to.include({ unread: true });
    await test.turn(id, 'x');
    expect((await test.post(`/api/conversations/${id}/read`)).status).to.equal(204);
    expect(await test.show(id)).to.include({ unread: false });
    await test.turn(id, 'y');
    expect(await test.show(id)).to.include({ unread: true });
  });

  it('should page events with a cursor', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation();
    await test.turn(id, [{ burst: { count: 250, length: 5 } }]);
    const all = (await test.events(id)).map((event) => event.id);
    const pages: unknown[] = [];
    let cursor = 0;
    for (;;) {
      const { list, body } = await test.get(`/api/conversations/${id}/events?limit=100&after=${cursor}`);
      pages.push(...list.map((event) => event['id']));
      const meta = body['meta'] as { has_more: boolean; next_cursor: number; limit: number };
      expect(meta.limit).to.equal(100);
      if (!meta.has_more) break;
      cursor = meta.next_cursor;
    }
    expect(pages).to.deep.equal(all);
    expect((await test.get(`/api/conversations/${id}/events?limit=99999`)).body['meta']).to.include({ limit: 1000 });
    expect((await test.get(`/api/conversations/${id}/events?after=${all.at(-1)!}`)).body['meta']).to.deep.equal({ limit: 100, has_more: false, next_cursor: null });
  });

  it('should tell account streams that something changed', async () => {
    const test = await TestInstance.start();
    const response = await fetch(`${test.instance.baseUrl}/api/events/stream`, { headers: { authorization: `Bearer ${test.key}` } });
    const reader = response.body!.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    const decoder = new TextDecoder();
    expect(decoder.decode((await reader.read()).value)).to.equal(': connected\n\n');
    await test.conversation();
    expect(decoder.decode((await reader.read()).value)).to.equal('event: conversations\ndata: {"reason":"changed"}\n\n');
    await reader.cancel();
  });

  it('should answer 404 for what only a hosted instance has', async () => {
    const test = await TestInstance.start();
    for (const url of ['/api/billing', '/api/team', '/api/webhooks', '/api/team/stream']) expect((await test.get(url)).status).to.equal(404);
  });
});

describe('log-in', () => {
  afterEach(cleanUp);
  const account = { email: 'Me@Example.test', password: 'correct horse' };

  it('should give a new key for the right password', async () => {
    const test = await TestInstance.start({ accounts: [account] });
    const { status, body } = await test.call('POST', '/api/auth/token', { email: 'me@example.TEST', password: account.password }, { authorization: '' });
    expect(status).to.equal(201);
    expect(body['api_key']).to.match(/^ftn_[0-9a-f]{64}$/);
    expect(body['prefix']).to.equal(String(body['api_key']).slice(0, 8));
    const me = await test.call('GET', '/api/auth/me', undefined, { authorization: `Bearer ${String(body['api_key'])}` });
    expect(me.body).to.include({ email: 'me@example.test' });
    expect((await test.post('/api/auth/token', account)).body['api_key']).to.not.equal(body['api_key']);
  });

  it('should refuse everything else, and an account without a password', async () => {
    const test = await TestInstance.start({ accounts: [account, { email: 'nobody@example.test' }], loginAttempts: 0 });
    for (const [body, status] of [
      [{ ...account, password: 'wrong' }, 401],
      [{ email: 'nobody@example.test', password: '' }, 422],
      [{ email: 'nobody@example.test', password: 'x' }, 401],
      [{ email: 'local@localhost', password: 'x' }, 401],
      [{ email: 'stranger@example.test', password: 'x' }, 401],
      [{ email: account.email }, 422],
      [{ email: 1, password: 2 }, 422],
    ] as const) expect((await test.post('/api/auth/token', body)).status, JSON.stringify(body)).to.equal(status);
  });

  it('should refuse after ten attempts in an hour', async () => {
    const test = await TestInstance.start({ accounts: [account] });
    for (let attempt = 0; attempt < 10; attempt += 1) expect((await test.post('/api/auth/token', { ...account, password: 'x' })).status).to.equal(401);
    const { status, headers, body } = await test.post('/api/auth/token', account);
    expect([status, body['error']]).to.deep.equal([429, 'rate_limited']);
    expect(Number(headers.get('retry-after'))).to.be.within(3500, 3600);
  });
});
