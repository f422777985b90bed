import { expect } from 'chai';
import { replayHistory, type Replay } from '../../lib/operators/replayHistory.ts';
import type { ServerEvent } from '../../lib/protocol/fountain.ts';
import { itFollowsItsSource } from '../support/mirrored.ts';
import { output, questionLine, saidLine, stage, stored } from '../support/serverEvents.ts';
import { createTestScheduler, marbles } from '../support/testScheduler.ts';

function blank(): Replay {
  return { openTurn: undefined, openRequests: new Map() };
}

/** What a history of these events leaves open. */
function after(...events: readonly ServerEvent[]): { openTurn: unknown; openRequests: string[] } {
  const replay = blank();
  createTestScheduler().run(({ cold }) => cold('a|', { a: events }).pipe(replayHistory(replay)).subscribe());
  return { openTurn: replay.openTurn, openRequests: [...replay.openRequests.keys()] };
}

const started = stage(1, 'turn/started', { turn_id: 't1' });
const asked = output(2, questionLine('q1'), 't1');
const askedToo = output(3, questionLine('q2'), 't1');

describe('replayHistory', () => {
  it('should emit the updates in order, and neither questions nor stages', marbles(({ cold, expectObservable }) => {
    const [one, two] = [output(2, saidLine('one'), 't1'), output(4, saidLine('two'), 't1')];
    const event$ = cold('-a--b--c-|', { a: [started, one, asked], b: [output(3, 'noise', 't1', 'stdout'), stage(5, 'turn/done')], c: [two] });
    expectObservable(event$.pipe(replayHistory(blank()))).toBe('-a-----c-|', { a: [stored(saidLine('one'))], c: [stored(saidLine('two'))] });
  }));

  itFollowsItsSource(() => replayHistory(blank()), [output(1, saidLine('x'))]);

  const cases: readonly [string, readonly ServerEvent[], object][] = [
    ['nothing when there was no turn', [output(1, saidLine('x'))], { openTurn: undefined, openRequests: [] }],
    ['the turn that has not ended', [started], { openTurn: { id: 't1' }, openRequests: [] }],
    ['a turn without an id', [stage(1, 'turn/started')], { openTurn: { id: null }, openRequests: [] }],
    ['nothing when the turn ended', [started, asked, stage(9, 'turn/done', { turn_id: 't1' })], { openTurn: undefined, openRequests: [] }],
    ['the last turn of several', [started, stage(2, 'turn/failed'), stage(3, 'turn/started', { turn_id: 't2' })], { openTurn: { id: 't2' }, openRequests: [] }],
    ['a question that nobody answered', [started, asked], { openTurn: { id: 't1' }, openRequests: ['q1'] }],
    ['the question of two that nobody answered', [started, asked, askedToo, stage(4, 'request/done', { request_id: 'q1' })], { openTurn: { id: 't1' }, openRequests: ['q2'] }],
    ['nothing when the conversation was terminated', [started, asked, stage(4, 'terminate/done')], { openTurn: undefined, openRequests: [] }],
  ];
  for (const [name, events, left] of cases) it(`should leave ${name} open`, () => expect(after(...events)).to.deep.equal(left));
});
