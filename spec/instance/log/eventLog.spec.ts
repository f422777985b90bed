import { expect } from 'chai';
import path from 'node:path';
import { EventLog } from '../../../lib/instance/log/eventLog.ts';
import { openSqlite } from '../../../lib/instance/store/openSqlite.ts';
import { insert, UniqueViolation } from '../../../lib/instance/store/store.ts';
import type { Store, StoredEvent } from '../../../lib/instance/store/store.ts';
import { accountRow, agentRow, conversationRow, eventOf } from '../store/storeContract.ts';
import { cleanUp, temporaryFolder } from '../support/testInstance.ts';

describe('EventLog', () => {
  let store: Store;
  let commits: number;
  let log: EventLog;
  let ids: string[];

  beforeEach(async () => {
    store = openSqlite(path.join(await temporaryFolder(), 'store.db'));
    commits = 0;
    const counting: Store = { ...bound(store), commit: (writes) => ((commits += 1), store.commit(writes)) };
    log = new EventLog(counting);
    const account = accountRow();
    const agent = agentRow(account.id);
    const conversations = [conversationRow(agent), conversationRow(agent)];
    await store.commit([insert('accounts', account), insert('agents', agent), ...conversations.map((row) => insert('conversations', row))]);
    ids = conversations.map(({ id }) => id);
  });

  afterEach(async () => {
    await store.close();
    await cleanUp();
  });

  it('should commit what arrives in one turn of the event loop together and in order', async () => {
    const [a = '', b = ''] = ids;
    const seen: string[] = [];
    log.subscribe(a, (events) => seen.push(...events.map(({ data }) => data)));
    const results = await Promise.all(Array.from({ length: 50 }, (_, index) => log.commit([eventOf(index % 2 === 0 ? a : b, String(index))])));
    expect(commits).to.equal(1);
    const numbers = results.map(([event]) => event!.id);
    expect(numbers).to.deep.equal([...numbers].sort((x, y) => x - y));
    expect(seen).to.deep.equal(Array.from({ length: 25 }, (_, index) => String(index * 2)));
  });

  it('should publish an event only when it is stored', async () => {
    const [a = ''] = ids;
    let stored: readonly StoredEvent[] = [];
    const published = new Promise<void>((resolve) => {
      log.subscribe(a, (events) => {
        void store.events({ conversationId: a, after: 0, limit: 10 }).then((rows) => {
          stored = rows;
          expect(rows).to.deep.equal(events);
          resolve();
        });
      });
    });
    await log.commit([eventOf(a, 'x')]);
    await published;
    expect(stored).to.have.length(1);
  });

  it('should refuse one write and keep the others of its transaction', async () => {
    const [a = ''] = ids;
    const account = accountRow();
    await store.commit([insert('accounts', account)]);
    const results = await Promise.allSettled([log.commit([eventOf(a, '1')]), log.commit([eventOf(a, 'refused'), insert('accounts', account)]), log.commit([eventOf(a, '2')])]);
    expect(results.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    expect((results[1] as PromiseRejectedResult).reason).to.be.instanceOf(UniqueViolation);
    expect((await store.events({ conversationId: a, after: 0, limit: 10 })).map(({ data }) => data)).to.deep.equal(['1', '2']);
  });

  it('should no longer call a listener that has unsubscribed', async () => {
    const [a = ''] = ids;
    let calls = 0;
    const unsubscribe = log.subscribe(a, () => (calls += 1));
    await log.commit([eventOf(a, '1')]);
    unsubscribe();
    unsubscribe();
    await log.commit([eventOf(a, '2')]);
    expect(calls).to.equal(1);
  });

  it('should be settled when all is written', async () => {
    const [a = ''] = ids;
    void log.commit([eventOf(a, '1')]);
    await log.settled();
    expect(await store.events({ conversationId: a, after: 0, limit: 10 })).to.have.length(1);
    await log.settled();
  });
});

function bound(store: Store): Store {
  return {
    get: (table, id) => store.get(table, id),
    find: (table, where, options) => store.find(table, where, options),
    count: (table, where) => store.count(table, where),
    commit: (writes) => store.commit(writes),
    events: (query) => store.events(query),
    close: () => store.close(),
  };
}
