import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import type { AccountRow, AgentRow, ConversationRow, TurnRow } from '../../../lib/instance/store/rows.ts';
import { insert, remove, UniqueViolation, update } from '../../../lib/instance/store/store.ts';
import type { NewEvent, Store, Write } from '../../../lib/instance/store/store.ts';

const time = '2026-09-01T10:00:00Z';

/** Returns an account's row. */
export function accountRow(): AccountRow {
  const id = randomUUID();
  return { id, email: `${id}@example.test`, password: null, role: 'user', inserted_at: time };
}

/** Returns an agent's row. */
export function agentRow(accountId: string, name = randomUUID() as string): AgentRow {
  return {
    id: randomUUID(), account_id: accountId, name, description: null, system: '', model: null, runtime: 'acp', runtime_command: 'x', sandbox_provider: null,
    sandbox_mode: 'ephemeral', environment_id: null, skills: [], mcp_servers: {}, metadata: { a: [1, null] }, allowed_vault_ids: null, allowed_environment_ids: [],
    permission_policy: { default: 'ask' }, inserted_at: time, updated_at: time,
  };
}

/** Returns a conversation's row. */
export function conversationRow(agent: AgentRow): ConversationRow {
  return {
    id: randomUUID(), account_id: agent.account_id, agent_id: agent.id, agent, vault_id: null, environment_id: null, permission_policy: {}, status: 'idle',
    sandbox_id: null, runtime_session_id: null, title: null, title_source: null, first_prompt: null, turn_count: 0, source: 'api', parent_conversation_id: null,
    channel_id: null, labels: {}, sandbox_api_access: 'owner', usage_input: 0, usage_output: 0, output_bytes: 0, last_output_at: null, last_read_at: null,
    inserted_at: time, updated_at: time,
  };
}

/** Returns a turn's row. */
function turnRow(conversationId: string, turnNumber = 1): TurnRow {
  return {
    id: randomUUID(), conversation_id: conversationId, turn_number: turnNumber, status: 'running', prompt: 'p', image_count: 0, exit_code: null, usage: null,
    client_request_id: null, started_at: time, ended_at: null, inserted_at: time,
  };
}

/** Returns the write of an event. */
export function eventOf(conversationId: string, data: string, change: Partial<NewEvent> = {}): Write {
  return { kind: 'event', event: { conversationId, kind: 'output', stream: 'acp', data, stage: 'turn', state: '', durationMs: null, turnId: null, ts: '2026-09-01T10:00:00.000001Z', ...change } };
}

/**
 * What every store must do; each implementation runs it.
 *
 * @param open - Returns a store without rows.
 */
export function describeStore(open: () => Promise<Store>): void {
  let store: Store;
  let account: AccountRow;
  let agent: AgentRow;
  let conversation: ConversationRow;

  beforeEach(async () => {
    store = await open();
    account = accountRow();
    agent = agentRow(account.id);
    conversation = conversationRow(agent);
    await store.commit([insert('accounts', account), insert('agents', agent), insert('conversations', conversation)]);
  });

  afterEach(() => store.close());

  it('should give rows back as they were written, whatever their columns hold', async () => {
    expect(await store.get('agents', agent.id)).to.deep.equal(agent);
    expect(await store.get('conversations', conversation.id)).to.deep.equal(conversation);
    const image = { id: randomUUID(), turn_id: '', position: 0, media_type: 'image/png', data: Buffer.from([0, 255, 10]) };
    const turn = { ...turnRow(conversation.id), prompt: 'quote \' " \\ NUL \u0000 emoji 😀', usage: { input: 1, output: 2 } };
    await store.commit([insert('turns', turn), insert('images', { ...image, turn_id: turn.id })]);
    expect(await store.get('turns', turn.id)).to.deep.equal(turn);
    const [stored] = await store.find('images', { turn_id: turn.id });
    expect(Buffer.from(stored!.data).equals(image.data)).to.equal(true);
    expect(await store.get('agents', randomUUID())).to.equal(undefined);
  });

  it('should find by values, by lists and by null, in order and up to a limit', async () => {
    const others = Array.from({ length: 5 }, (_, index) => ({ ...agentRow(account.id, `n${index}`), environment_id: index % 2 === 0 ? 'e' : null }));
    await store.commit(others.map((row) => insert('agents', row)));
    const names = async (...args: Parameters<typeof store.find<'agents'>> extends [unknown, ...infer R] ? R : never): Promise<string[]> => (await store.find('agents', ...args)).map((row) => row.name);
    expect(await names({ environment_id: 'e' })).to.deep.equal(['n0', 'n2', 'n4']);
    expect(await names({ name: ['n4', 'n1', 'nobody'] })).to.deep.equal(['n1', 'n4']);
    expect(await names({ environment_id: null, name: ['n1', 'n2', 'n3'] }, { order: 'newest' })).to.deep.equal(['n3', 'n1']);
    expect(await names({ account_id: account.id }, { order: 'newest', limit: 2 })).to.deep.equal(['n4', 'n3']);
    expect(await names({ name: [] })).to.deep.equal([]);
    expect(await store.count('agents', { environment_id: 'e' })).to.equal(3);
  });

  it('should write all of a commit or nothing', async () => {
    const turn = turnRow(conversation.id);
    const failure = await store.commit([insert('turns', turn), eventOf(conversation.id, 'x'), insert('agents', agentRow(account.id, agent.name))]).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(UniqueViolation);
    expect((failure as UniqueViolation).table).to.equal('agents');
    expect(await store.get('turns', turn.id)).to.equal(undefined);
    expect(await store.events({ conversationId: conversation.id, after: 0, limit: 10 })).to.deep.equal([]);
    await store.commit([insert('turns', turn)]);
    expect(await store.get('turns', turn.id)).to.deep.equal(turn);
  });

  it('should change the columns that are named and no others', async () => {
    await store.commit([update('agents', agent.id, { name: 'renamed', metadata: { b: 1 } }), update('agents', randomUUID(), { name: 'nobody' }), update('agents', agent.id, {})]);
    expect(await store.get('agents', agent.id)).to.deep.equal({ ...agent, name: 'renamed', metadata: { b: 1 } });
  });

  it('should number events of all conversations with one counter that only grows', async () => {
    const other = conversationRow(agent);
    await store.commit([insert('conversations', other)]);
    const first = await store.commit([eventOf(conversation.id, 'a'), eventOf(other.id, 'b'), eventOf(conversation.id, 'c')]);
    const ids = first.map(Number);
    expect(ids[0]! < ids[1]! && ids[1]! < ids[2]!).to.equal(true);
    await store.commit([remove('conversations', { id: other.id }), remove('conversations', { id: conversation.id })]);
    const third = conversationRow(agent);
    await store.commit([insert('conversations', third)]);
    const [next] = await store.commit([eventOf(third.id, 'd')]);
    expect(next).to.be.greaterThan(ids[2]!);
  });

  it('should drop the events of a conversation that is gone and keep the rest of the commit', async () => {
    const ids = await store.commit([eventOf(randomUUID(), 'lost'), eventOf(conversation.id, 'kept')]);
    expect(ids[0]).to.equal(null);
    expect((await store.events({ conversationId: conversation.id, after: 0, limit: 10 })).map(({ id, data }) => [id, data])).to.deep.equal([[ids[1], 'kept']]);
  });

  it('should read events above an id, forwards and backwards, by number and by length', async () => {
    const ids = (await store.commit(Array.from({ length: 10 }, (_, index) => eventOf(conversation.id, String(index).repeat(100))))).map(Number);
    const read = async (query: Omit<Parameters<Store['events']>[0], 'conversationId'>): Promise<number[]> => (await store.events({ conversationId: conversation.id, ...query })).map(({ id }) => ids.indexOf(id));
    expect(await read({ after: ids[6]!, limit: 100 })).to.deep.equal([7, 8, 9]);
    expect(await read({ after: 0, limit: 2 })).to.deep.equal([0, 1]);
    expect(await read({ after: 0, limit: 2, order: 'newest' })).to.deep.equal([9, 8]);
    expect(await read({ after: 0, limit: 100, maxLength: 250 })).to.deep.equal([0, 1, 2]);
    expect(await read({ after: 0, limit: 100, maxLength: 1 })).to.deep.equal([0]);
    expect(await read({ after: ids[9]!, limit: 100 })).to.deep.equal([]);
  });

  it('should give an event back with all of its members', async () => {
    const event = { conversationId: conversation.id, kind: 'stage', stream: '', data: '{"a":"é"}', stage: 'turn', state: 'done', durationMs: 12, turnId: randomUUID(), ts: '2026-09-01T10:00:00.000002Z' } as const;
    const [id] = await store.commit([{ kind: 'event', event }]);
    expect(await store.events({ conversationId: conversation.id, after: 0, limit: 1 })).to.deep.equal([{ id, ...event }]);
  });

  it('should find stage events among others', async () => {
    await store.commit([eventOf(conversation.id, 'a'), eventOf(conversation.id, '{}', { kind: 'stage', stream: '', state: 'done' }), eventOf(conversation.id, 'b')]);
    const stages = await store.events({ conversationId: conversation.id, after: 0, limit: 10, stageOnly: true });
    expect(stages.map(({ data }) => data)).to.deep.equal(['{}']);
  });

  it("should count the bytes and keep the time of a conversation's output", async () => {
    await store.commit([eventOf(conversation.id, 'é'), eventOf(conversation.id, 'abc', { ts: '2026-09-01T10:00:05.000000Z' }), eventOf(conversation.id, '{}', { kind: 'stage', stream: '', ts: '2026-09-01T10:00:09.000000Z' })]);
    await store.commit([eventOf(conversation.id, '12345', { ts: '2026-09-01T10:00:07.000000Z' })]);
    expect(await store.get('conversations', conversation.id)).to.include({ output_bytes: 10, last_output_at: '2026-09-01T10:00:07.000000Z' });
  });

  it('should remove with a conversation all that belongs to it, and forget the agent of one that was removed', async () => {
    const turn = turnRow(conversation.id);
    const key = { id: randomUUID(), account_id: account.id, digest: randomUUID(), prefix: 'ftn_', scope: 'sprite', conversation_id: conversation.id, inserted_at: time } as const;
    await store.commit([insert('turns', turn), insert('images', { id: randomUUID(), turn_id: turn.id, position: 0, media_type: 'image/png', data: Buffer.from('x') }), insert('keys', key), eventOf(conversation.id, 'x')]);
    const other = conversationRow(agent);
    await store.commit([insert('conversations', other), remove('conversations', { id: conversation.id }), remove('agents', { id: agent.id })]);
    expect(await store.count('turns', {})).to.equal(0);
    expect(await store.count('images', {})).to.equal(0);
    expect(await store.count('keys', {})).to.equal(0);
    expect(await store.get('conversations', other.id)).to.include({ agent_id: null });
  });
}
