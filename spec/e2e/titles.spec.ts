import { expect } from 'chai';
import { Signal } from '../support/condition.ts';
import { scene } from '../support/scene.ts';
import { routes } from '../support/scripted/departures.ts';
import type { JsonObject } from '../../lib/protocol/jsonrpc.ts';

const family = '👨‍👩‍👧‍👦';
const info = (members: JsonObject): JsonObject => ({ sessionUpdate: 'session_info_update', ...members });

/** A title reaches the client in its normal form: no NULs, single blanks, 120 characters, none of them split. */
describe('fountain acp: titles', () => {
  const titles: readonly [string, unknown, unknown][] = [
    ['plain', 'Fix login redirect', 'Fix login redirect'],
    ['white space of any kind', ' \u00a0Fix \t\r\n login\u2003\u2028redirect\u3000', 'Fix login redirect'],
    ['NULs', 'a\u0000b\u0000', 'ab'],
    ['NULs between blanks', 'a \u0000 b', 'a b'],
    ['blank', ' \n\u3000\t', null],
    ['NULs alone', '\u0000\u0000', null],
    ['empty', '', null],
    ['null', null, null],
    ['120 characters', 't'.repeat(120), 't'.repeat(120)],
    ['121 characters', 't'.repeat(121), 't'.repeat(120)],
    ['a surrogate pair on the cut', `${'t'.repeat(119)}🦊🦊`, `${'t'.repeat(119)}🦊`],
    ['a combining mark on the cut', `${'t'.repeat(119)}e\u0301x`, `${'t'.repeat(119)}e\u0301`],
    ['a flag on the cut', `${'t'.repeat(119)}🇵🇱🇨🇿`, `${'t'.repeat(119)}🇵🇱`],
    ['a blank on the cut', `${'t'.repeat(119)} tail`, 't'.repeat(119)],
    ['emoji of seven code points', family.repeat(60), family.repeat(36)],
    ['a zero width space, which is no white space', 'a\u200b b', 'a\u200b b'],
    ['a byte order mark, which is no white space', '\ufeffa', '\ufeffa'],
  ];
  it('should normalise every title of a turn, and leave out none', scene(async ({ instance, client }) => {
    instance.scripts.push((turn) => {
      turn.start();
      for (const [, title] of titles) turn.update(info({ title, updatedAt: '2026-09-03T00:00:00Z' }));
      turn.done();
    });
    const sessionId = await client.open();
    await client.prompt(sessionId).result();
    const seen = client.updatesOf(sessionId);
    for (const [at, [name, , title]] of titles.entries()) expect(seen[at], name).to.deep.equal(info({ title, updatedAt: '2026-09-03T00:00:00Z' }));
    expect(client.messages.every(({ line }) => line.isWellFormed() && !/\\ud[89ab]../i.test(line))).to.equal(true);
  }));

  it('should leave an update without a title, and one with other members, as it is', scene(async ({ instance, client }) => {
    const all = [info({ updatedAt: '2026-09-03T00:00:00Z' }), info({}), info({ title: 'kept', _meta: { a: 1 }, other: [1.5] })];
    instance.scripts.push((turn) => {
      turn.start();
      for (const update of all) turn.update(update);
      turn.done();
    });
    const sessionId = await client.open();
    await client.prompt(sessionId).result();
    expect(client.updatesOf(sessionId)).to.deep.equal(all);
  }));

  it('should normalise titles of a replay in the same way', scene(async ({ instance, client }) => {
    const old = instance.conversation();
    old.past((turn) => {
      turn.start();
      for (const [, title] of titles) turn.update(info({ title }));
      turn.done();
    });
    await client.initialize();
    await client.load(old.id).result();
    expect(client.updatesOf(old.id)).to.deep.equal(titles.map(([, , title]) => info({ title })));
  }));

  it('should survive titles that are no titles', scene(async ({ instance, client }) => {
    instance.scripts.push((turn) => {
      turn.start();
      for (const title of [5, true, [], { a: 1 }]) turn.update(info({ title }));
      turn.say('on');
      turn.done();
    });
    const sessionId = await client.open();
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('on');
  }));
});

/** One process serves many sessions: each in its own order, none waiting for another. */
describe('fountain acp: several sessions', () => {
  it('should keep two interleaved turns apart, each in order', scene(async ({ instance, client }) => {
    const first = await client.open();
    const second = await client.newSession();
    const words = (letter: string): string[] => Array.from({ length: 200 }, (_, at) => `${letter}${at} `);
    for (const id of [first, second]) instance.of(id).scripts.push((turn) => turn.start());
    const calls = [client.prompt(first), client.prompt(second)];
    const turns = [await instance.turn(1), await instance.turn(2)];
    const [ours, theirs] = [words('A'), words('B')];
    await instance.condition.until(() => turns.every(({ status }) => status === 'running'), () => 'both turns');
    for (let at = 0; at < 200; at += 1) {
      instance.of(first).runningTurn?.say(ours[at] ?? '');
      instance.of(second).runningTurn?.say(theirs[at] ?? '');
      if (at % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    instance.of(first).runningTurn?.done('refusal');
    instance.of(second).runningTurn?.done('max_tokens');
    expect([await calls[0]?.stopReason(), await calls[1]?.stopReason()]).to.deep.equal(['refusal', 'max_tokens']);
    expect(client.text(first)).to.equal(ours.join(''));
    expect(client.text(second)).to.equal(theirs.join(''));
  }));

  it('should serve everything else while a turn is running', scene(async ({ instance, client }) => {
    const old = instance.conversation();
    old.past();
    const busy = await client.open();
    instance.of(busy).scripts.push((turn) => turn.start());
    const slow = client.prompt(busy);
    const turn = await instance.turn();
    const other = await client.newSession();
    expect(await client.prompt(other).stopReason(3000)).to.equal('end_turn');
    await client.load(old.id).result(3000);
    await client.caughtUp();
    expect(slow.answer).to.equal(undefined);
    turn.done();
    expect(await slow.stopReason()).to.equal('end_turn');
  }));

  it('should open ten sessions at once, whatever order the answers come in', scene(async ({ instance, client }) => {
    const holds = Array.from({ length: 10 }, () => new Signal());
    for (const [at, { given }] of holds.entries()) instance.depart(routes.create, { carriedOut: true, hold: given }, { nth: [at + 1] });
    await client.initialize();
    const calls = Array.from({ length: 10 }, () => client.call('session/new', { cwd: '/', mcpServers: [] }));
    await instance.request(routes.create, 10);
    for (const hold of holds.toReversed()) {
      hold.give();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const ids = new Set<unknown>();
    for (const call of calls) ids.add((await call.result())['sessionId']);
    expect(ids.size).to.equal(10);
    const prompts = [...ids].map((id) => client.prompt(String(id)));
    for (const prompt of prompts) expect(await prompt.stopReason()).to.equal('end_turn');
    for (const id of ids) expect(client.text(String(id))).to.equal('hello');
    expect(instance.seen(routes.prompts)).to.have.lengthOf(10);
  }));

  it('should take twenty prompts of twenty sessions at once', scene(async ({ instance, client }) => {
    await client.initialize();
    const conversations = Array.from({ length: 20 }, (_, at) => instance.conversation({ channel: `c${at}` }));
    for (const [at] of conversations.entries()) await client.newSession({ channelId: `c${at}` });
    for (const [at, { scripts }] of conversations.entries()) scripts.push((turn) => {
      turn.start();
      for (let nth = 0; nth < 50; nth += 1) turn.say(`${at}.${nth} `);
      turn.done();
    });
    const calls = conversations.map(({ id }) => client.prompt(id));
    for (const call of calls) expect(await call.stopReason(15_000)).to.equal('end_turn');
    for (const [at, { id }] of conversations.entries()) {
      expect(client.text(id)).to.equal(Array.from({ length: 50 }, (_, nth) => `${at}.${nth} `).join(''));
    }
  })).timeout(20_000);
});
