import { expect } from 'chai';
import { createHash, randomUUID } from 'node:crypto';
import { fixtureProgram } from '../../../lib/instance/programs/installedPrograms.ts';
import type { JsonObject } from '../../../lib/protocol/jsonrpc.ts';
import { contentOf, nameOf } from '../support/eventReader.ts';
import type { Frame } from '../support/eventReader.ts';
import { cleanUp, TestInstance } from '../support/testInstance.ts';
import { until } from '../support/until.ts';

const accountId = randomUUID();
const owner = { id: accountId, email: 'fixture@example.test', password: 'pass' };
const other = { email: 'other@example.test', password: 'pass' };
const agentInput = { name: 'f', runtime: 'fountain-fixture', model: 'fixture/deterministic-v1', sandbox_mode: 'ephemeral', permission_policy: { default: 'ask' } };

function environment(enabled: string, userId: string = accountId): NodeJS.ProcessEnv {
  return { ...process.env, DEPLOYED_ACP_FIXTURE_ENABLED: enabled, DEPLOYED_ACP_FIXTURE_USER_ID: userId };
}

/** Starts an instance and returns it with the headers of its two accounts. */
async function start(env: NodeJS.ProcessEnv, dataDir?: string): Promise<{ test: TestInstance; mine: Record<string, string>; foreign: Record<string, string> }> {
  const test = await TestInstance.start({ env, accounts: [owner, other], ...(dataDir === undefined ? {} : { dataDir }) });
  const header = async (account: { email: string; password: string }): Promise<Record<string, string>> => ({ authorization: `Bearer ${String((await test.post('/api/auth/token', account)).body['api_key'])}` });
  return { test, mine: await header(owner), foreign: await header(other) };
}

async function shown(test: TestInstance): Promise<{ inDocument: boolean; inCatalog: boolean }> {
  const document = JSON.stringify(await (await fetch(`${test.instance.baseUrl}/api/openapi.json`)).json());
  const catalog = JSON.stringify((await test.get('/api/catalog')).data);
  return { inDocument: document.includes('fountain-fixture'), inCatalog: catalog.includes('fountain-fixture') };
}

describe('the fixture runtime', () => {
  afterEach(cleanUp);

  for (const [enabled, userId, expected] of [
    ['true', 'not a uuid', { inDocument: false, inCatalog: false }],
    ['', accountId, { inDocument: true, inCatalog: false }],
    ['TRUE', accountId, { inDocument: true, inCatalog: false }],
    ['1', accountId, { inDocument: true, inCatalog: false }],
    ['true', accountId, { inDocument: true, inCatalog: true }],
  ] as const) {
    it(`should be seen as ${JSON.stringify(expected)} when the flag is "${enabled}" and the user ${userId === accountId ? 'is an account' : 'is none'}`, async () => {
      const { test, mine } = await start(environment(enabled, userId));
      expect(await shown(test)).to.deep.equal(expected);
      expect((await test.call('POST', '/api/agents', agentInput, mine)).status).to.equal(expected.inCatalog ? 201 : 422);
    });
  }

  it('should be refused to other accounts, and with anything beside its model', async () => {
    const { test, mine, foreign } = await start(environment('true'));
    const refused = await test.call('POST', '/api/agents', agentInput, foreign);
    expect([refused.status, refused.body['errors']]).to.deep.equal([422, { runtime: ['is not enabled for this account'] }]);
    for (const [field, value] of [['model', 'fixture/other'], ['skills', [{}]], ['mcp_servers', { a: {} }], ['system', 'Be kind.']] as const) {
      const { status, body } = await test.call('POST', '/api/agents', { ...agentInput, [field]: value }, mine);
      expect([status, Object.keys(body['errors'] as JsonObject)]).to.deep.equal([422, [field]]);
    }
  });

  it('should leave its agents readable, editable and deletable, and not launchable, after the flag has gone', async () => {
    const first = await start(environment('true'));
    const agentId = String((await first.test.call('POST', '/api/agents', agentInput, first.mine)).data['id']);
    const conversation = await first.test.call('POST', '/api/conversations', { agent_id: agentId }, first.mine);
    expect(conversation.data).to.include({ acp: true });
    await first.test.close();
    const { test, mine } = await start(environment('false'), first.test.instance.dataDir);
    expect((await test.call('GET', `/api/agents/${agentId}`, undefined, mine)).data).to.include({ acp: false, runtime: 'fountain-fixture' });
    expect((await test.call('GET', `/api/conversations/${String(conversation.data['id'])}`, undefined, mine)).data).to.include({ acp: false });
    expect((await test.call('PATCH', `/api/agents/${agentId}`, { description: 'x' }, mine)).status).to.equal(200);
    const launch = await test.call('POST', '/api/conversations', { agent_id: agentId }, mine);
    expect(launch.status).to.equal(400);
    expect(launch.body['error']).to.include('not enabled');
    expect((await test.call('DELETE', `/api/agents/${agentId}`, undefined, mine)).status).to.equal(204);
  });

  it('should pass the seven prompts of the deployed profile and leave nothing', async () => {
    const { test, mine, foreign } = await start(environment('true'));
    const call = (method: string, url: string, body?: unknown): ReturnType<TestInstance['call']> => test.call(method, url, body, mine);
    const environmentId = String((await call('POST', '/api/environments', { name: 'e' })).data['id']);
    const agentId = String((await call('POST', '/api/agents', { ...agentInput, environment_id: environmentId })).data['id']);
    const id = String((await call('POST', '/api/conversations', { agent_id: agentId, title: 'run-1', channel_id: 'run-1' })).data['id']);
    const events = async (): Promise<Frame[]> => (await call('GET', `/api/conversations/${id}/events?limit=1000`)).list as unknown as Frame[];
    const turns = async (): Promise<readonly JsonObject[]> => (await call('GET', `/api/conversations/${id}/turns`)).list;
    const file = (name: string): ReturnType<TestInstance['call']> => call('GET', `/api/sandboxes/${sandboxId}/file?path=${encodeURIComponent(name)}&max_bytes=65536`);
    await until(async () => (await events()).some((event) => nameOf(event) === 'provision/done'), 'the sandbox');
    const conversation = (await call('GET', `/api/conversations/${id}`)).data;
    const sandboxId = String(conversation['sandbox_id']);
    expect(conversation['sandbox']).to.include({ status: 'ready' });
    const program = (await file('.fountain-acp-fixture.mjs')).data;
    expect(createHash('sha256').update(String(program['content'])).digest('hex')).to.equal(fixtureProgram().sha256);

    let sent = 0;
    const prompt = async (scenario: string, nonce: string, delayMs = 0): Promise<string> => {
      const text = JSON.stringify({ fixture: 'fountain-acp-fixture/1', scenario, nonce, delay_ms: delayMs });
      sent += 1;
      expect((await call('POST', `/api/conversations/${id}/prompts`, { prompt: text })).status).to.equal(200);
      return text;
    };
    const started = (scenario: string, nonce: string): Promise<boolean> => until(async () => JSON.stringify(await events()).includes(`fixture:started:${scenario}:${nonce}`), `the start of ${scenario}`);
    const ended = async (text: string, status: string): Promise<void> => {
      const turn = await until(async () => (await turns()).find((entry) => entry['turn_number'] === sent && entry['status'] !== 'running'), 'the end of the turn');
      expect(turn).to.include({ prompt: text, status });
      const terminal = (await events()).filter((event) => event.stage === 'turn' && event.state !== 'started' && event.kind === 'stage').at(-1)!;
      expect(contentOf(terminal)['turn_id']).to.equal(turn['id']);
      expect(await turns()).to.have.length(sent);
    };
    const question = async (): Promise<string> => {
      const found = await until(async () => {
        const all = await events();
        const done = new Set(all.filter((event) => nameOf(event) === 'request/done').map((event) => contentOf(event)['request_id']));
        return all.find((event) => nameOf(event) === 'request/started' && !done.has(contentOf(event)['request_id']));
      }, 'the question');
      return `/api/conversations/${id}/requests/${encodeURIComponent(String(contentOf(found)['request_id']))}`;
    };
    const answer = async (url: string, optionId: string, headers = mine): Promise<number> => (await test.call('POST', url, { option_id: optionId }, headers)).status;
    const pathOf = async (nonce: string): Promise<string> => new RegExp(`fixture:artifact:${nonce}:writes=1:turns=\\d+:path=([^"\\\\]+)`).exec(JSON.stringify(await events()))![1]!;

    const [first, allowed, denied, waiting, failing] = Array.from({ length: 5 }, () => randomUUID() as string) as [string, string, string, string, string];
    const write = await prompt('write', first, 1500);
    await started('write', first);
    expect((await turns())[0]).to.include({ status: 'running' });
    await until(async () => (await events()).some((event) => nameOf(event) === 'request/started') || (await turns())[0]!['status'] !== 'running', 'progress');
    if ((await turns())[0]!['status'] === 'running') expect(await answer(await question(), 'allow-once')).to.equal(200);
    await ended(write, 'completed');
    expect((await file(await pathOf(first))).data).to.include({ content: `${first}\n` });

    await ended(await prompt('read', first), 'completed');
    const whole = await events();
    const stream = async (lastEventId: number): Promise<unknown[]> => {
      const key = mine['authorization']!.slice('Bearer '.length);
      const reader = test.follow(id, '?wait=false&blocks=true', { key, lastEventId });
      await reader.ended();
      return reader.frames.map((frame) => without(frame, 'event'));
    };
    const paged: JsonObject[] = [];
    for (let cursor: number | null = 0; cursor !== null; ) {
      const { list, body } = await call('GET', `/api/conversations/${id}/events?limit=5&blocks=true&after=${cursor}`);
      paged.push(...list.map((event) => without(event, 'duration_ms')));
      cursor = (body['meta'] as { next_cursor: number | null }).next_cursor;
    }
    expect(await stream(0)).to.deep.equal(paged);
    expect(await stream(whole[4]!.id)).to.deep.equal(paged.slice(5));

    const permitted = await prompt('permission', allowed);
    const url = await question();
    expect(await answer(url, 'allow-once', foreign)).to.equal(404);
    expect(await answer(url, 'not-offered')).to.equal(422);
    expect(await answer(url, 'allow-once')).to.equal(200);
    await ended(permitted, 'completed');
    expect((await file(await pathOf(allowed))).status).to.equal(200);

    const rejected = await prompt('permission', denied);
    expect(await answer(await question(), 'reject-once')).to.equal(200);
    await ended(rejected, 'completed');
    expect((await file((await pathOf(allowed)).replace(allowed, denied))).status).to.equal(404);

    const waited = await prompt('wait', waiting);
    await started('wait', waiting);
    expect((await call('POST', `/api/conversations/${id}/interrupt`)).status).to.equal(204);
    await ended(waited, 'interrupted');

    await ended(await prompt('fail', failing), 'failed');

    const before = (await call('GET', `/api/conversations/${id}`)).data['runtime_session_id'];
    await ended(await prompt('read', first), 'completed');
    expect((await call('GET', `/api/conversations/${id}`)).data['runtime_session_id']).to.equal(before);
    expect(JSON.stringify(await events())).to.match(new RegExp(`fixture:artifact:${first}:writes=1:turns=7:`));

    expect((await call('POST', `/api/conversations/${id}/terminate`)).status).to.equal(204);
    expect((await call('GET', `/api/sandboxes/${sandboxId}`)).data['status']).to.equal('terminated');
    for (const resource of [`conversations/${id}`, `agents/${agentId}`, `environments/${environmentId}`]) expect((await call('DELETE', `/api/${resource}`)).status).to.equal(204);
  }).timeout(60_000);

  it('should run one turn at a time on a machine', async () => {
    const { test, mine } = await start(environment('true'));
    const agentId = String((await test.call('POST', '/api/agents', { ...agentInput, sandbox_mode: 'persistent' }, mine)).data['id']);
    const first = String((await test.call('POST', '/api/conversations', { agent_id: agentId }, mine)).data['id']);
    const text = (): string => JSON.stringify({ fixture: 'fountain-acp-fixture/1', scenario: 'wait', nonce: randomUUID(), delay_ms: 0 });
    const prompt = (id: string): ReturnType<TestInstance['call']> => test.call('POST', `/api/conversations/${id}/prompts`, { prompt: text() }, mine);
    await until(async () => (await prompt(first)).status === 200, 'the first turn');
    const second = await until(async () => {
      const { status, data } = await test.call('POST', '/api/conversations', { agent_id: agentId }, mine);
      return status === 201 && String(data['id']);
    }, 'the second conversation');
    const { status, body } = await prompt(second);
    expect([status, body['error']]).to.deep.equal([409, 'sandbox_at_capacity']);
  });
});

function without(object: object, name: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([member]) => member !== name));
}
