import { expect } from 'chai';
import { nameOf } from '../support/eventReader.ts';
import type { Frame } from '../support/eventReader.ts';
import { cleanUp, TestInstance } from '../support/testInstance.ts';
import { until } from '../support/until.ts';

function withoutRest(frame: Frame): Omit<Frame, 'event'> {
  const { id, kind, stream, data, stage, state, turn_id, ts } = frame;
  return { id, kind, stream, data, stage, state, turn_id, ts };
}

describe('writeEventStream', () => {
  afterEach(cleanUp);

  it('should send every stored event and then the live ones, each once and in order', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation();
    await test.turn(id, [{ burst: { count: 2500, length: 300 } }]);
    await test.prompt(id, [{ burst: { count: 2500, length: 300 } }]);
    const readers = Array.from({ length: 5 }, () => test.follow(id));
    await Promise.all(readers.map((reader) => until(() => reader.frames.filter((frame) => nameOf(frame) === 'turn/done').length === 2, 'both turns', 20_000)));
    const stored = await test.events(id);
    expect(stored).to.have.length(5006);
    for (const { frames, headers, status } of readers) {
      expect(frames.map(withoutRest)).to.deep.equal(stored.map(withoutRest));
      expect(frames.every((frame) => frame.event === frame.kind)).to.equal(true);
      expect(status).to.equal(200);
      expect(headers['content-type']).to.match(/^text\/event-stream/);
      expect(headers['cache-control']).to.equal('no-cache');
    }
  });

  it('should go on after the id that a client had last', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation();
    await test.turn(id, [{ burst: { count: 50, length: 10 } }]);
    const stored = await test.events(id);
    const from = stored[20]!.id;
    for (const [lastEventId, expected] of [[from, stored.slice(21)], [`${from}xyz`, stored.slice(21)], ['', stored], ['0', stored], ['abc', stored], [stored.at(-1)!.id, []], [2 ** 53 - 1, []]] as const) {
      const reader = test.follow(id, '?wait=false', { lastEventId });
      await reader.ended();
      expect(reader.frames.map((frame) => frame.id), String(lastEventId)).to.deep.equal(expected.map((event) => event.id));
    }
  });

  it('should end right after the replay, without a heartbeat, when wait is false', async () => {
    const test = await TestInstance.start({ heartbeatSeconds: 0.01 });
    const id = await test.conversation();
    await test.turn(id, 'x');
    for (const query of ['?wait=false', '?wait=0']) {
      const reader = test.follow(id, query);
      await reader.ended();
      expect(reader.frames).to.have.length(5);
      expect(reader.comments).to.deep.equal([]);
      expect(reader.hasFailed).to.equal(false);
    }
  });

  it('should select the same events in a replay, live and as pages', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation();
    const queries = ['', '?streams=acp,stage', '?streams=stage', '?streams=stderr', '?streams=stdout,%20acp', '?streams=nonsense'];
    const live = queries.map((query) => test.follow(id, query));
    await until(() => live.every((reader) => reader.status === 200), 'the streams');
    await test.turn(id, [{ say: 'a' }, { stderr: 'b\n' }, { stdout: 'c\n' }, { say: 'd' }]);
    await until(() => live[0]!.frames.some((frame) => nameOf(frame) === 'turn/done'), 'the end');
    const all = await test.events(id);
    for (const [index, query] of queries.entries()) {
      const replay = test.follow(id, `${query === '' ? '?' : `${query}&`}wait=false`);
      await replay.ended();
      const { list } = await test.get(`/api/conversations/${id}/events${query}`);
      const expected = list.map((event) => event['id']);
      expect(replay.frames.map((frame) => frame.id), query).to.deep.equal(expected);
      expect(live[index]!.frames.map((frame) => frame.id), query).to.deep.equal(expected);
      expect(expected.length <= all.length).to.equal(true);
    }
  });

  it('should end 60 s after the last event, in test time, however many heartbeats it sent', async () => {
    const test = await TestInstance.start({ heartbeatSeconds: 0.05, streamIdleSeconds: 0.4 });
    const id = await test.conversation();
    await test.event(id, 'provision/done');
    const startedAt = Date.now();
    const reader = test.follow(id);
    await reader.ended();
    expect(Date.now() - startedAt).to.be.within(380, 3000);
    expect(reader.comments.length).to.be.greaterThan(3);
    expect(reader.comments.every((comment) => comment === ': heartbeat')).to.equal(true);
    expect(reader.hasFailed).to.equal(false);
  });

  it('should stay open while events come', async () => {
    const test = await TestInstance.start({ streamIdleSeconds: 0.3 });
    const id = await test.conversation();
    const reader = test.follow(id);
    await test.prompt(id, Array.from({ length: 8 }, () => [{ sleep: 100 }, { say: '.' }]).flat());
    await reader.frame('turn/done');
    expect(reader.hasEnded).to.equal(false);
    await reader.ended();
  });

  it('should open at any time of a conversation, its end included', async () => {
    const test = await TestInstance.start({ streamIdleSeconds: 0.1 });
    const id = await test.conversation();
    await test.post(`/api/conversations/${id}/terminate`);
    const reader = test.follow(id);
    await reader.frame('terminate/done');
    await reader.ended();
  });

  it('should add blocks when they are asked for', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation();
    await test.turn(id, [{ say: 'hello' }]);
    const reader = test.follow(id, '?wait=false&blocks=true');
    await reader.ended();
    const { list } = await test.get(`/api/conversations/${id}/events?blocks=1`);
    expect(reader.frames.map((frame) => frame.blocks)).to.deep.equal(list.map((event) => event['blocks']));
    expect(reader.frames.find((frame) => frame.stream === 'acp')!.blocks).to.deep.equal([{ kind: 'text', body: 'hello' }]);
    expect(reader.frames[0]!.blocks).to.deep.equal([]);
  });

  it('should let a client that does not read cost nobody anything, and lose nothing', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation();
    await test.event(id, 'provision/done');
    const sleepers = Array.from({ length: 10 }, () => test.follow(id, '', { paused: true }));
    const awake = test.follow(id);
    await until(() => [awake, ...sleepers].every((reader) => reader.status === 200), 'the streams');
    global.gc?.();
    const before = process.memoryUsage().rss;
    await test.prompt(id, [{ burst: { count: 4000, length: 5000 } }]);
    await awake.frame('turn/done', 20_000);
    // Twenty megabytes for each of ten sleepers would be two hundred.
    expect((process.memoryUsage().rss - before) / 1024 / 1024).to.be.lessThan(120);
    expect(sleepers.every((reader) => reader.frames.length < 4000)).to.equal(true);
    const [one] = sleepers;
    one!.resume();
    await one!.frame('turn/done', 20_000);
    expect(one!.frames.map((frame) => frame.id)).to.deep.equal(awake.frames.map((frame) => frame.id));
  }).timeout(60_000);

  it('should leave no listener behind when clients leave', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation();
    await test.event(id, 'provision/done');
    const readers = Array.from({ length: 20 }, () => test.follow(id));
    await until(() => readers.every((reader) => reader.frames.length === 2), 'the streams');
    for (const reader of readers) reader.close();
    expect((await test.turn(id, 'x')).state).to.equal('done');
  });

  it('should answer with JSON and no stream when it is refused', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation();
    for (const [key, url, status] of [['wrong', id, 401], [test.key, '00000000-0000-0000-0000-000000000000', 404], [test.key, 'no-uuid', 404]] as const) {
      const response = await fetch(`${test.instance.baseUrl}/api/conversations/${url}/stream`, { headers: { authorization: `Bearer ${key}` } });
      expect([response.status, response.headers.get('content-type')]).to.deep.equal([status, 'application/json; charset=utf-8']);
    }
  });
});

