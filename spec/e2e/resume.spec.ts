import { expect } from 'chai';
import { eachAtOnce, scene } from '../support/scene.ts';
import { routes, type Departure } from '../support/scripted/departures.ts';
import { dialects } from '../support/scripted/eventFrame.ts';
import type { BreakOff } from '../support/scripted/follower.ts';
import { byHand, says, type ScriptedTurn } from '../support/scripted/turn.ts';
import type { AcpClient, Call } from '../support/acpClient.ts';
import type { ScriptedInstance } from '../support/scriptedInstance.ts';

interface Running {
  readonly sessionId: string;
  readonly call: Call;
  readonly turn: ScriptedTurn;
}

/** A turn of which the client has heard the first word. */
async function run(instance: ScriptedInstance, client: AcpClient): Promise<Running> {
  instance.scripts.push(byHand);
  const sessionId = await client.open();
  const call = client.prompt(sessionId);
  const turn = await instance.turn();
  turn.start();
  turn.say('a');
  await client.said(sessionId, 'a');
  return { sessionId, call, turn };
}

/** A broken stream is not a lost turn: it is taken up behind the last event seen, nothing lost, doubled or reordered. */
describe('fountain acp: resuming a stream', () => {
  for (const dialect of dialects) {
    const ways: readonly [BreakOff][] = [['end'], ['close'], ['reset']];
    it(`should go on behind the last event however the stream breaks off, at ${dialect.name}`, eachAtOnce(ways, (how) => scene({ dialect }, async ({ instance, client }) => {
      const { sessionId, call, turn } = await run(instance, client);
      const seen = turn.conversation.lastEventId;
      turn.conversation.drop(how);
      turn.say('b');
      await turn.conversation.followed();
      expect(instance.seen(routes.follow).at(-1)?.headers['last-event-id']).to.equal(String(seen));
      turn.say('c');
      turn.done('max_tokens');
      expect(await call.stopReason()).to.equal('max_tokens');
      expect(client.text(sessionId)).to.equal('abc');
      expect(instance.seen(routes.prompts)).to.have.lengthOf(1);
    })));
  }

  it('should find the end of a turn that ended while it was away', scene(async ({ instance, client }) => {
    const { sessionId, call, turn } = await run(instance, client);
    turn.conversation.drop('reset');
    turn.say('b');
    turn.done();
    expect(await call.stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('ab');
  }));

  it('should go on however often the stream breaks off', scene(async ({ instance, client }) => {
    const { sessionId, call, turn } = await run(instance, client);
    const words = ['b', 'c', 'd', 'e', 'f', 'g', 'h'];
    for (const [at, word] of words.entries()) {
      turn.conversation.drop(at % 2 === 0 ? 'end' : 'reset');
      turn.say(word);
      await client.said(sessionId, word);
      await turn.conversation.followed();
    }
    turn.done();
    expect(await call.stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal(['a', ...words].join(''));
  })).timeout(20_000);

  it('should go on when an event was cut in the middle', scene(async ({ instance, client }) => {
    const { sessionId, call, turn } = await run(instance, client);
    instance.depart(routes.follow, { cutAfter: 2 }, { nth: [1, 2] });
    turn.conversation.drop('reset');
    for (const word of 'bcdefg') turn.say(word);
    turn.done();
    expect(await call.stopReason(12_000)).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('abcdefg');
  }));

  it('should drop what it has seen when an instance replays from the start', scene(async ({ instance, client }) => {
    const { sessionId, call, turn } = await run(instance, client);
    instance.depart(routes.follow, { forgetsLastEventId: true });
    turn.say('b');
    await client.said(sessionId, 'b');
    turn.conversation.drop('end');
    turn.say('c');
    turn.done();
    expect(await call.stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('abc');
  }));

  const refusals: readonly [string, Departure][] = [
    ['503', { status: 503, text: 'upstream unavailable' }],
    ['500', { status: 500, json: { errors: { detail: 'Internal Server Error' } } }],
    ['502 with HTML', { status: 502, headers: { 'content-type': 'text/html' }, text: '<html><body>Bad gateway</body></html>' }],
    ['200 with HTML', { status: 200, headers: { 'content-type': 'text/html' }, text: '<html><body>Sign in</body></html>' }],
    ['200 with JSON', { json: { data: [] } }],
    ['408', { status: 408, text: '' }],
    ['a reset', { breaks: 'reset' }],
    ['a connection that closes', { breaks: 'close' }],
    ['an empty stream', { stream: '' }],
  ];
  it('should try again whatever passing fault a reconnect meets', eachAtOnce(refusals, (_, departure) => scene(async ({ instance, client }) => {
    const { sessionId, call, turn } = await run(instance, client);
    instance.depart(routes.follow, departure, { nth: [1] });
    turn.conversation.drop('reset');
    turn.say('b');
    await turn.conversation.followed();
    turn.done();
    expect(await call.stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('ab');
    expect(instance.seen(routes.prompts)).to.have.lengthOf(1);
  }))).timeout(20_000);

  it('should wait as long as it is asked to when a reconnect is limited', scene(async ({ instance, client }) => {
    const { call, turn } = await run(instance, client);
    const follows = instance.seen(routes.follow).length;
    instance.depart(routes.follow, { status: 429, json: { error: 'rate_limited', retry_after_seconds: 1 }, headers: { 'retry-after': '1' } }, { nth: [1] });
    turn.conversation.drop('end');
    await instance.request(routes.follow, follows + 2);
    const [limited, next] = instance.seen(routes.follow).slice(-2);
    expect((next?.at ?? 0) - (limited?.at ?? 0)).to.be.at.least(950);
    turn.done();
    expect(await call.stopReason()).to.equal('end_turn');
  }));

  const ends: readonly [number, object, RegExp][] = [
    [401, { error: 'x', reason: 'api_key_revoked' }, /fountain auth login|reject|revoked/],
    [403, { error: 'forbidden', message: 'not yours any more' }, /not yours any more/],
    [404, { error: 'not_found' }, /404|not.found|no longer/i],
    [410, { error: 'conversation_terminated' }, /410|terminated|gone/i],
  ];
  it('should give up at once, in words, when a reconnect is refused for good', eachAtOnce(ends, (status, json, words) => scene(async ({ instance, client }) => {
    const { sessionId, call, turn } = await run(instance, client);
    instance.depart(routes.follow, { status, json });
    const follows = instance.seen(routes.follow).length;
    turn.conversation.drop('end');
    const error = await call.error(3000);
    expect(error.message).to.match(words);
    if (status !== 401) expect(`${error.message}${JSON.stringify(error.data)}`).to.contain(sessionId);
    expect(instance.seen(routes.follow).length - follows).to.equal(1);
    expect(instance.seen(routes.interrupt)).to.deep.equal([]);
  })));

  it('should not hammer an instance that closes every stream at once', scene(async ({ instance, client }) => {
    const { call, turn } = await run(instance, client);
    const before = instance.seen(routes.follow).length;
    instance.depart(routes.follow, { stream: '' }, { nth: [1, 2, 3] });
    turn.conversation.drop('end');
    await turn.conversation.followed();
    const tries = instance.seen(routes.follow).slice(before);
    for (const [at, { at: time }] of tries.entries()) {
      const inOneSecond = tries.slice(at).filter((other) => other.at - time < 1000).length;
      expect(inOneSecond).to.be.at.most(5);
    }
    turn.done();
    expect(await call.stopReason()).to.equal('end_turn');
  })).timeout(30_000);

  it('should open a stream that was refused before anything was heard of the turn', scene(async ({ instance, client }) => {
    instance.depart(routes.follow, { status: 503, text: 'deploying' }, { nth: [1] });
    instance.scripts.push(says('all of it'));
    const sessionId = await client.open();
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('all of it');
  })).timeout(20_000);

  it('should say that the turn may still be running when a stream stays silent', scene({ env: () => ({ FOUNTAIN_STREAM_IDLE_TIMEOUT: '1' }) }, async ({ instance, client }) => {
    instance.depart(routes.follow, { stream: '', open: true });
    instance.scripts.push((turn) => turn.start());
    const sessionId = await client.open();
    const error = await client.prompt(sessionId).error(20_000);
    expect(error.code).to.equal(-32603);
    expect(error.message).to.contain(sessionId).and.to.match(/still be running/);
    expect(instance.seen(routes.interrupt)).to.deep.equal([]);
    await client.caughtUp();
  })).timeout(25_000);

  it('should take heartbeats for signs of life', scene({ env: () => ({ FOUNTAIN_STREAM_IDLE_TIMEOUT: '1' }) }, async ({ instance, client }) => {
    const { call, turn } = await run(instance, client);
    const beat = setInterval(() => turn.conversation.raw(': heartbeat\n\n'), 250);
    const quiet = new Promise((resolve) => setTimeout(resolve, 1600));
    await quiet;
    clearInterval(beat);
    expect(call.answer).to.equal(undefined);
    turn.done();
    expect(await call.stopReason()).to.equal('end_turn');
  }));

  it('should let a title through that comes after the answer, while the stream lingers', scene(async ({ instance, client }) => {
    const { sessionId, call, turn } = await run(instance, client);
    turn.done();
    await call.result();
    if (turn.conversation.followers.size === 0) return;
    turn.update({ sessionUpdate: 'session_info_update', title: 'Named late' });
    await client.updateCount(2);
    expect(client.updatesOf(sessionId).at(-1)).to.deep.equal({ sessionUpdate: 'session_info_update', title: 'Named late' });
    turn.conversation.drop('end');
    const follows = instance.seen(routes.follow).length;
    await client.caughtUp();
    expect(instance.seen(routes.follow)).to.have.lengthOf(follows);
  }));
});
