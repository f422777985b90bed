import { expect } from 'chai';
import { bindTurn, lateMessages, type BindTurnOptions, type OpenTurn, type Submission, type TurnSignal } from '../../lib/operators/bindTurn.ts';
import { orphaned, type Outcome } from '../../lib/operators/turnOutcome.ts';
import type { ServerEvent } from '../../lib/protocol/fountain.ts';
import type { JsonObject } from '../../lib/protocol/jsonrpc.ts';
import { output, questionLine, saidLine, stage, stored, updateLine } from '../support/serverEvents.ts';
import { marbles, type Marbles } from '../support/testScheduler.ts';

const endTurn: Outcome = { kind: 'stop', stopReason: 'end_turn' };
const title = updateLine('session_info_update', { title: 'A title' });

/** Stage events of a turn, as they are named in its metadata. */
function started(id: number, turnId: string | null, more: JsonObject = {}): ServerEvent {
  return stage(id, 'turn/started', { ...(turnId !== null && { turn_id: turnId }), ...more });
}

function done(id: number, turnId: string | null): ServerEvent {
  return stage(id, 'turn/done', { ...(turnId !== null && { turn_id: turnId }), stop_reason: 'end_turn' });
}

function said(id: number, text: string, turnId: string | null): ServerEvent {
  return output(id, saidLine(text), turnId);
}

function says(...texts: readonly string[]): TurnSignal {
  return { kind: 'messages', messages: texts.map((text) => stored(saidLine(text))) };
}

function ended(outcome: Outcome = endTurn, ...late: readonly string[]): TurnSignal {
  return { kind: 'ended', outcome, late: late.map(stored) };
}

function failed(message: string): TurnSignal {
  return ended({ kind: 'failure', message });
}

const start: TurnSignal = { kind: 'started' };

/** A case of one chunk after the other; all are there when the prompt has been taken. */
interface Case {
  readonly options?: Partial<BindTurnOptions>;
  /** How the server answered the submission. */
  readonly submission?: Submission;
  readonly chunks: readonly (readonly ServerEvent[])[];
  readonly signals: readonly TurnSignal[];
}

/** Returns what a window says of these chunks, each a millisecond after the other. */
function signalsOf({ cold, flush }: Marbles, { options, submission = { correlates: false }, chunks }: Omit<Case, 'signals'>): TurnSignal[] {
  const found: TurnSignal[] = [];
  const submission$ = cold('a|', { a: submission });
  const names = Array.from('abcdefgh').slice(0, chunks.length);
  const event$ = cold(`-${names.join('')}-`, Object.fromEntries(chunks.map((events, index) => [names[index], events])) as Record<string, readonly ServerEvent[]>);
  event$.pipe(bindTurn({ submission$, clientRequestId: undefined, ...options })).subscribe((signal) => found.push(signal));
  flush();
  return found;
}

function itSays(name: string, { signals, ...rest }: Case): void {
  it(`should ${name}`, marbles((m) => expect(signalsOf(m, rest)).to.deep.equal(signals)));
}

describe('bindTurn', () => {
  it('should pass a turn on as it comes, and be complete with its end', marbles(({ cold, expectObservable, expectSubscriptions }) => {
    const submission$ = cold('a|            ', { a: { correlates: false } });
    const event$ = cold('     -a--b---c---d-', { a: [started(1, 't1')], b: [said(2, 'one', 't1'), said(3, 'two', 't1')], c: [done(4, 't1')] });
    const expected = '        -a--b---(c|)  ';
    expectObservable(event$.pipe(bindTurn({ submission$, clientRequestId: undefined }))).toBe(expected, { a: start, b: says('one', 'two'), c: ended() });
    expectSubscriptions(event$.subscriptions).toBe('^-------!');
  }));

  it('should hold events back until the server has taken the prompt, and then pass them on in order', marbles(({ cold, expectObservable }) => {
    const submission$ = cold('------a|        ', { a: { correlates: false } });
    const event$ = cold('     -a--b-----c-----', { a: [started(1, 't1')], b: [said(2, 'one', 't1')], c: [done(3, 't1')] });
    const expected = '        ------(ab)(c|)  ';
    expectObservable(event$.pipe(bindTurn({ submission$, clientRequestId: undefined }))).toBe(expected, { a: start, b: says('one'), c: ended() });
  }));

  it('should end at once when the turn was over before the server said that it took the prompt', marbles(({ cold, expectObservable, expectSubscriptions }) => {
    const submission$ = cold('------a|        ', { a: { correlates: false } });
    const event$ = cold('     -a--------------', { a: [started(1, 't1'), said(2, 'one', 't1'), done(3, 't1')] });
    const expected = '        ------(abc|)    ';
    expectObservable(event$.pipe(bindTurn({ submission$, clientRequestId: undefined }))).toBe(expected, { a: start, b: says('one'), c: ended() });
    expectSubscriptions(event$.subscriptions).toBe('^-----!');
  }));

  it('should not hold back without bounds', marbles(({ cold, expectObservable }) => {
    const many = Array.from({ length: 10_001 }, (_, index) => said(index + 2, 'x', 't1'));
    const event$ = cold('-ab-', { a: [started(1, 't1')], b: many });
    expectObservable(event$.pipe(bindTurn({ submission$: cold('-------'), clientRequestId: undefined }))).toBe('--(ab)', { a: start, b: says(...many.map(() => 'x')) });
  }));

  it('should fail with the submission', marbles(({ cold, expectObservable, expectSubscriptions }) => {
    const event$ = cold('     -a---', { a: [done(1, 't0')] });
    const submission$ = cold<Submission>('---#', undefined, new Error('refused'));
    expectObservable(event$.pipe(bindTurn({ submission$, clientRequestId: undefined }))).toBe('---#', undefined, new Error('refused'));
    expectSubscriptions(event$.subscriptions).toBe('^--!');
  }));

  it('should fail with the source, and when it ends before the turn does', marbles(({ cold, expectObservable }) => {
    const submission$ = cold('a|', { a: { correlates: false } });
    const options = { submission$, clientRequestId: undefined };
    expectObservable(cold<never>('---#', undefined, new Error('lost')).pipe(bindTurn(options))).toBe('---#', undefined, new Error('lost'));
    expectObservable(cold<never>('---|').pipe(bindTurn(options))).toBe('---#', undefined, new Error('the stream ended'));
    expectObservable(cold('-a-|', { a: [started(1, 't1')] }).pipe(bindTurn(options))).toBe('-a-#', { a: start }, new Error('the stream ended'));
  }));

  it('should say nothing when the source never does, and leave both when its subscriber leaves', marbles(({ cold, expectObservable, expectSubscriptions }) => {
    const submission$ = cold<Submission>('-------');
    const event$ = cold<readonly ServerEvent[]>('-------');
    expectObservable(event$.pipe(bindTurn({ submission$, clientRequestId: undefined })), '^---!').toBe('-');
    expectSubscriptions(event$.subscriptions).toBe('^---!');
    expectSubscriptions(submission$.subscriptions).toBe('^---!');
  }));

  it('should begin anew with each subscriber', marbles(({ cold, expectObservable }) => {
    const submission$ = cold('a|', { a: { correlates: false } });
    const result$ = cold('-ab', { a: [started(1, 't1')], b: [done(2, 't1')] }).pipe(bindTurn({ submission$, clientRequestId: undefined }));
    expectObservable(result$).toBe('-a(b|)', { a: start, b: ended() });
    expectObservable(result$, '---^').toBe('----a(b|)', { a: start, b: ended() });
  }));

  describe('of several turns', () => {
    itSays("not end with somebody else's turn that was open, nor show it", {
      options: { foreignTurn: { id: 't0' } },
      chunks: [[said(1, 'theirs', 't0'), done(2, 't0')], [started(3, 't1'), said(4, 'ours', 't1')], [done(5, 't1')]],
      signals: [start, says('ours'), ended()],
    });
    itSays('take the first turn of a user when nobody names submissions', {
      chunks: [[started(1, 't1'), said(2, 'ours', 't1'), done(3, 't1')]],
      signals: [start, says('ours'), ended()],
    });
    itSays('not take a turn that nobody submitted', {
      chunks: [[started(1, 't0', { origin: 'autonomous' }), said(2, 'theirs', 't0'), done(3, 't0')], [started(4, 't1'), said(5, 'ours', 't1'), done(6, 't1')]],
      signals: [start, says('ours'), ended()],
    });
    itSays('take the turn that carries the name of the submission', {
      options: { clientRequestId: 'mine' },
      chunks: [[started(1, 't0', { client_request_id: 'theirs' }), said(2, 'theirs', 't0'), done(3, 't0')], [started(4, 't1', { client_request_id: 'mine' }), said(5, 'ours', 't1'), done(6, 't1')]],
      signals: [start, says('ours'), ended()],
    });
    itSays("not take a turn that carries somebody's name when we sent none", {
      chunks: [[started(1, 't0', { client_request_id: 'theirs' }), done(2, 't0')], [started(3, 't1'), done(4, 't1')]],
      signals: [start, ended()],
    });
    itSays('not take a nameless turn when we sent a name and the server tells names', {
      options: { clientRequestId: 'mine' },
      submission: { correlates: true },
      chunks: [[started(1, 't0'), done(2, 't0')], [started(3, 't1', { client_request_id: 'mine' }), done(4, 't1')]],
      signals: [start, ended()],
    });
    itSays('take a nameless turn when we sent a name and the server tells none', {
      options: { clientRequestId: 'mine' },
      chunks: [[started(1, 't1'), done(2, 't1')]],
      signals: [start, ended()],
    });
    itSays('not take a nameless turn when an earlier one showed that the server tells names', {
      options: { clientRequestId: 'mine' },
      chunks: [[started(1, 't0', { client_request_id: 'theirs' }), done(2, 't0'), started(3, 't2'), done(4, 't2')], [started(5, 't1', { client_request_id: 'mine' }), done(6, 't1')]],
      signals: [start, ended()],
    });
    itSays('take null for no name, on either side', {
      options: { clientRequestId: null },
      chunks: [[started(1, 't1', { client_request_id: null }), done(2, 't1')]],
      signals: [start, ended()],
    });
    itSays('tell names apart by type too', {
      options: { clientRequestId: 7 },
      chunks: [[started(1, 't0', { client_request_id: '7' }), done(2, 't0'), started(3, 't1', { client_request_id: 7 }), done(4, 't1')]],
      signals: [start, ended()],
    });
    itSays("go on when another turn begins and ends beside ours, and keep what it says out", {
      chunks: [[started(1, 't1'), said(2, 'one', 't1')], [started(3, 't2'), said(4, 'theirs', 't2'), done(5, 't2')], [said(6, 'two', 't1'), done(7, 't1')]],
      signals: [start, says('one'), says('two'), ended()],
    });
    itSays('not take a turn a second time that was open before', {
      options: { foreignTurn: { id: 't0' } },
      chunks: [[started(1, 't0'), done(2, 't0')], [started(3, 't1'), done(4, 't1')]],
      signals: [start, ended()],
    });
    itSays('count a turn once that is announced twice', {
      chunks: [[started(1, 't1'), started(2, 't1'), said(3, 'one', 't1'), done(4, 't1')]],
      signals: [start, says('one'), ended()],
    });
    itSays('take a foreign turn that is announced twice for one', {
      options: { clientRequestId: 'mine' },
      submission: { correlates: true },
      chunks: [[started(1, 't0'), started(2, 't0'), done(3, 't0')], [started(4, 't1', { client_request_id: 'mine' }), done(5, 't1')]],
      signals: [start, ended()],
    });
    itSays('fall back to a terminal event whose start was not seen', {
      chunks: [[done(1, 't1')]],
      signals: [ended()],
    });
    itSays('read the turn from the row when the metadata names none', {
      options: { foreignTurn: { id: 't0' } },
      chunks: [[stage(1, 'turn/done', {}, 't0')], [stage(2, 'turn/started', {}, 't1'), stage(3, 'turn/done', {}, 't0'), stage(4, 'turn/done', {}, 't1')]],
      signals: [start, ended()],
    });
  });

  describe('at a server that names no turns', () => {
    itSays('read one turn by order', {
      chunks: [[started(1, null)], [said(2, 'one', null), done(3, null)]],
      signals: [start, says('one'), ended()],
    });
    itSays("not end with somebody else's turn that was open", {
      options: { foreignTurn: { id: null } },
      chunks: [[said(1, 'theirs', null), done(2, null)], [started(3, null), said(4, 'ours', null), done(5, null)]],
      signals: [start, says('ours'), ended()],
    });
    itSays('not take a turn that nobody submitted', {
      chunks: [[started(1, null, { origin: 'autonomous' }), said(2, 'theirs', null), done(3, null)], [started(4, null), done(5, null)]],
      signals: [start, ended()],
    });
    itSays('count a turn once that is announced twice', {
      chunks: [[started(1, null), started(2, null), done(3, null)]],
      signals: [start, ended()],
    });
  });

  describe('of a turn that is followed', () => {
    const followed: OpenTurn = { id: 't1' };
    itSays('pass on the rest, and end with it', {
      options: { followedTurn: followed, anyTurn: true },
      chunks: [[said(1, 'one', 't1'), started(2, 't2'), done(3, 't2'), done(4, 't1')]],
      signals: [says('one'), ended()],
    });
    itSays('tell that questions that were open no longer wait', {
      options: { followedTurn: followed, openRequests: ['q1', 'q2'] },
      chunks: [[stage(1, 'request/done', { request_id: 'q1' })], [done(2, 't1')]],
      signals: [{ kind: 'resolved', requestId: 'q1' }, { kind: 'resolved', requestId: 'q2' }, ended()],
    });
    itSays('take the first turn to begin, whoever submitted it', {
      options: { anyTurn: true },
      chunks: [[started(1, 't1', { origin: 'autonomous', client_request_id: 'theirs' }), said(2, 'one', 't1'), done(3, 't1')]],
      signals: [start, says('one'), ended()],
    });
  });

  describe('for what is said', () => {
    itSays('keep the order of messages, ends of questions and notes', {
      chunks: [
        [
          started(1, 't1'),
          said(2, 'one', 't1'),
          output(3, questionLine('q1'), 't1'),
          said(4, 'two', 't1'),
          stage(5, 'request/done', { request_id: 'q1', outcome: 'answered' }),
          said(6, 'three', 't1'),
          stage(7, 'model/failed', { requested: 'big', detail: 'no access', using: 'small' }),
          said(8, 'four', 't1'),
          done(9, 't1'),
        ],
      ],
      signals: [
        start,
        { kind: 'messages', messages: [stored(saidLine('one')), stored(questionLine('q1')), stored(saidLine('two'))] },
        { kind: 'resolved', requestId: 'q1' },
        says('three'),
        { kind: 'note', level: 'warn', message: 'the agent refused the model big: no access' },
        says('four'),
        ended(),
      ],
    });
    itSays('read both spellings of a refused model', {
      chunks: [[started(1, 't1'), stage(2, 'model/failed', { requested_model: 'big', error: { code: 1 } }), stage(3, 'model/failed'), done(4, 't1')]],
      signals: [
        start,
        { kind: 'note', level: 'warn', message: 'the agent refused the model big: {"code":1}' },
        { kind: 'note', level: 'warn', message: 'the agent refused the model no reason given: no reason given' },
        ended(),
      ],
    });
    itSays('tell once that a question no longer waits, and of no question that was not asked', {
      chunks: [[started(1, 't1'), output(2, questionLine('q1'), 't1'), stage(3, 'request/done', { request_id: 'q1' })], [stage(4, 'request/done', { request_id: 'q1' }), stage(5, 'request/done', { request_id: 'q9' }), stage(6, 'request/done'), done(7, 't1')]],
      signals: [start, { kind: 'messages', messages: [stored(questionLine('q1'))] }, { kind: 'resolved', requestId: 'q1' }, ended()],
    });
    itSays('tell that open questions no longer wait before it ends', {
      chunks: [[started(1, 't1'), output(2, questionLine('q1'), 't1')], [done(3, 't1')]],
      signals: [start, { kind: 'messages', messages: [stored(questionLine('q1'))] }, { kind: 'resolved', requestId: 'q1' }, ended()],
    });
    itSays('pass metadata on, whoever says it', {
      options: { foreignTurn: { id: 't0' } },
      chunks: [[output(1, title, 't0'), output(2, title)], [done(3, 't0'), started(4, 't1'), done(5, 't1')]],
      signals: [{ kind: 'messages', messages: [stored(title), stored(title)] }, start, ended()],
    });
    itSays('hand over the metadata that the same chunk brought behind the turn, and nothing else', {
      chunks: [[started(1, 't1'), done(2, 't1'), said(3, 'theirs', 't2'), output(4, title), started(5, 't2'), output(6, updateLine('available_commands_update'))]],
      signals: [start, ended(endTurn, title, updateLine('available_commands_update'))],
    });
    itSays('note output of other streams by its length alone, and lines that are no update', {
      chunks: [[started(1, 't1'), output(2, 'secret', 't1', 'stderr'), output(3, '{"jsonrpc":"2.0","id":1,"result":{}}', 't1'), done(4, 't1')]],
      signals: [
        start,
        { kind: 'note', level: 'debug', message: 'stderr of the sandbox: 6 characters' },
        { kind: 'note', level: 'debug', message: 'skipped a stored line that is no update' },
        ended(),
      ],
    });
    itSays('pass on what belongs to no turn by its row, when no other is open', {
      chunks: [[started(1, 't1'), said(2, 'one', null), done(3, 't1')]],
      signals: [start, says('one'), ended()],
    });
  });

  describe('for what ends more than a turn', () => {
    const ends: readonly [string, ServerEvent, string][] = [
      ['the sandbox never started', stage(2, 'provision/failed', { reason: 'no quota' }), 'the sandbox never started: no quota'],
      ['the sandbox is gone', stage(2, 'reattach/failed', { reason: 'not_found' }), 'could not reattach to the sandbox, prompt again to provision a fresh one'],
      ['the conversation is over', stage(2, 'terminate/done'), 'the conversation was terminated'],
      ['the sandbox was reclaimed', stage(2, 'sandbox/done', { event: 'reclaimed', reason: 'max_lifetime' }), 'the sandbox was reclaimed mid-turn: max_lifetime'],
      ['there is no room', stage(2, 'sandbox/done', { event: 'at_capacity', reason: 'full' }), 'the prompt was not started: full; it may be sent again shortly'],
    ];
    for (const [name, event, message] of ends) {
      itSays(`fail before the turn began when ${name}`, { chunks: [[event]], signals: [failed(message)] });
      itSays(`fail within the turn when ${name}, and take the true cause before the turn's own end`, {
        chunks: [[started(1, 't1'), event, stage(3, 'turn/interrupted', { turn_id: 't1' })]],
        signals: [start, failed(message)],
      });
    }

    itSays('fail when a restart lost the turn', {
      chunks: [[started(1, 't1')], [stage(2, 'reattach/interrupted', { outcome: 'turn_orphaned', turn_id: 't1' })]],
      signals: [start, ended(orphaned)],
    });
    itSays("not fail when a restart lost somebody else's turn", {
      options: { foreignTurn: { id: 't0' } },
      chunks: [[stage(1, 'reattach/interrupted', { outcome: 'turn_orphaned', turn_id: 't0' })], [started(2, 't1'), done(3, 't1')]],
      signals: [start, ended()],
    });
    itSays('take a sandbox that is suspended behind the turn for its end', {
      chunks: [[started(1, 't1'), stage(2, 'sandbox/done', { event: 'suspended' })]],
      signals: [start, ended()],
    });
    itSays('report that nothing ran when the sandbox is suspended before the turn began', {
      chunks: [[stage(1, 'sandbox/done', { event: 'suspended', reason: 'idle' })]],
      signals: [failed('the sandbox was suspended before the prompt was started, send it again')],
    });
    for (const waking of ['reattach/started', 'provision/started', 'session/done', 'turn/started']) {
      itSays(`go on when the sandbox that was suspended is woken with ${waking}`, {
        chunks: [[stage(1, 'sandbox/done', { event: 'suspended' }), stage(2, waking, { turn_id: 't1' })], [started(3, 't1'), done(4, 't1')]],
        signals: [start, ended()],
      });
    }
    itSays('not take for an end what is only on the way', {
      chunks: [[stage(1, 'reattach/started'), stage(2, 'reattach/done', { outcome: 'no_running_turn' }), stage(3, 'setup/failed'), stage(4, 'checkpoint_restore/failed'), stage(5, 'connection/done'), stage(6, 'server/failed'), started(7, 't1'), done(8, 't1')]],
      signals: [start, ended()],
    });
  });

  it('should tell the outcome of the turn', marbles((m) => {
    const chunks = [[started(1, 't1'), stage(2, 'turn/failed', { turn_id: 't1', stop_reason: 'refusal' })]];
    expect(signalsOf(m, { chunks })).to.deep.equal([start, ended({ kind: 'stop', stopReason: 'refusal' })]);
  }));
});

describe('lateMessages', () => {
  it('should return metadata of the acp stream alone', () => {
    const events = [said(1, 'one', null), output(2, title), output(3, title, null, 'stdout'), done(4, 't1'), output(5, 'no json')];
    expect(lateMessages(events)).to.deep.equal([stored(title)]);
  });
});
