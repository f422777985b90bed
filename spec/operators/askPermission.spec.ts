import { expect } from 'chai';
import { EMPTY, NEVER, type Observable } from 'rxjs';
import { askPermission, permissionTimeoutMs, type AskPermissionOptions } from '../../lib/operators/askPermission.ts';
import { readFrame, type Frame, type Lines } from '../../lib/protocol/frames.ts';
import type { JsonObject } from '../../lib/protocol/jsonrpc.ts';
import { questionLine, stored } from '../support/serverEvents.ts';
import { marbles, type Marbles } from '../support/testScheduler.ts';

const options: readonly JsonObject[] = [
  { optionId: 'go', name: 'Allow', kind: 'allow_once' },
  { optionId: 'never', name: 'Never', kind: 'reject_always' },
  { optionId: 'no', name: 'Not now', kind: 'reject_once' },
];
const question = stored(questionLine('1.c0ffee', options));
const asked = [questionLine('1.c0ffee', options).replace('"id":"1.c0ffee"', '"id":9')];
const withdrawn = ['{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":9}}'];

function response(body: object, id: unknown = 9): Frame {
  return readFrame(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
}

function selects(optionId: unknown, id?: unknown): Frame {
  return response({ result: { outcome: { outcome: 'selected', optionId } } }, id);
}

interface Asked {
  readonly line$: Observable<Lines>;
  /** What the instance was told, and when. */
  readonly answers: (readonly [string, number])[];
  readonly logged: string[];
}

function ask({ scheduler }: Marbles, given: Partial<AskPermissionOptions> = {}, of = question): Asked {
  const answers: (readonly [string, number])[] = [];
  const logged: string[] = [];
  const answer = (optionId: string): Observable<never> => {
    answers.push([optionId, scheduler.now()]);
    return EMPTY;
  };
  const line$ = askPermission(of, { id: 9, frame$: NEVER, resolved$: NEVER, left$: NEVER, answer, withdraws: true, scheduler, log: (level, message) => logged.push(`${level}: ${message}`), ...given });
  return { line$, answers, logged };
}

describe('askPermission', () => {
  it("should ask under an id of ours, and give the client's choice to the instance", marbles((m) => {
    const frame$ = m.hot('   ----r----', { r: selects('go') });
    const expected = '       a---|    ';
    const { line$, answers } = ask(m, { frame$ });
    m.expectObservable(line$).toBe(expected, { a: asked });
    m.expectSubscriptions(frame$.subscriptions).toBe('^---!');
    m.flush();
    expect(answers).to.deep.equal([['go', 4]]);
  }));

  it('should be complete when the instance has heard the answer, and not before', marbles((m) => {
    const frame$ = m.hot('   --r----', { r: selects('go') });
    const answer$ = m.cold<never>('---|');
    const expected = '       a----|';
    m.expectObservable(ask(m, { frame$, answer: () => answer$ }).line$).toBe(expected, { a: asked });
    m.expectSubscriptions(answer$.subscriptions).toBe('--^--!');
  }));

  it('should listen to the answer to its own question alone, and to the first', marbles((m) => {
    const frames = {
      a: selects('no', 8),
      b: selects('no', '9'),
      c: readFrame('{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{}}'),
      d: readFrame('{"jsonrpc":"2.0","method":"session/cancel","params":{}}'),
      r: selects('go'),
      s: selects('no'),
    };
    const { line$, answers } = ask(m, { frame$: m.hot('-abcdrs-', frames) });
    m.expectObservable(line$).toBe('a----|', { a: asked });
    m.flush();
    expect(answers).to.deep.equal([['go', 5]]);
  }));

  const denials: readonly [string, Frame][] = [
    ['dismisses the question', response({ result: { outcome: { outcome: 'cancelled' } } })],
    ['selects an option that was not offered', selects('GO')],
    ['selects nothing', selects(undefined)],
    ['selects an option that is no string', selects({ optionId: 'go' })],
    ['fails', response({ error: { code: -32603, message: 'no window' } })],
    ['answers with both a choice and an error', response({ result: { outcome: { outcome: 'selected', optionId: 'go' } }, error: { code: 1, message: 'x' } })],
    ['does not know the method', response({ error: { code: -32601, message: 'unknown method' } })],
    ['answers null', response({ result: null })],
    ['answers something unreadable', response({ result: { outcome: 'go' } })],
    ['names an option without saying that it is selected', response({ result: { outcome: { optionId: 'go' } } })],
    ['answers with an outcome of tomorrow', response({ result: { outcome: { outcome: 'postponed', optionId: 'go' } } })],
  ];
  for (const [name, frame] of denials) {
    it(`should deny with the agent's first option that rejects when the client ${name}`, marbles((m) => {
      const { line$, answers } = ask(m, { frame$: m.hot('--r', { r: frame }) });
      m.expectObservable(line$).toBe('a-|', { a: asked });
      m.flush();
      expect(answers).to.deep.equal([['never', 2]]);
    }));
  }

  it('should pass a rejection on as the client chose it', marbles((m) => {
    const { line$, answers } = ask(m, { frame$: m.hot('--r', { r: selects('no') }) });
    m.expectObservable(line$).toBe('a-|', { a: asked });
    m.flush();
    expect(answers).to.deep.equal([['no', 2]]);
  }));

  it('should deny when the client leaves', marbles((m) => {
    const left$ = m.hot('---l-');
    const { line$, answers } = ask(m, { left$ });
    m.expectObservable(line$).toBe('a--|', { a: asked });
    m.flush();
    expect(answers).to.deep.equal([['never', 3]]);
  }));

  it('should deny at once when the client has left before', marbles((m) => {
    const { line$, answers } = ask(m, { left$: m.cold('(l|)') });
    m.expectObservable(line$).toBe('(a|)', { a: asked });
    m.flush();
    expect(answers).to.deep.equal([['never', 0]]);
  }));

  it('should withdraw the question, and answer nothing, when it no longer waits', marbles((m) => {
    const frame$ = m.hot('   -----r-', { r: selects('go') });
    const resolved$ = m.hot('---d---');
    const expected = '       a--(b|)';
    const { line$, answers } = ask(m, { frame$, resolved$ });
    m.expectObservable(line$).toBe(expected, { a: asked, b: withdrawn });
    m.expectSubscriptions(frame$.subscriptions).toBe('^--!');
    m.flush();
    expect(answers).to.deep.equal([]);
  }));

  it("should withdraw the question when the server's time is over", marbles((m) => {
    const { line$, answers } = ask(m);
    m.expectObservable(line$).toBe('a 299999ms (b|)', { a: asked, b: withdrawn });
    m.flush();
    expect(permissionTimeoutMs).to.equal(300_000);
    expect(answers).to.deep.equal([]);
  }));

  it('should say nothing of the withdrawal to a client that does not take it', marbles((m) => {
    const { line$ } = ask(m, { resolved$: m.hot('---d'), withdraws: false });
    m.expectObservable(line$).toBe('a--|', { a: asked });
  }));

  it('should leave the denial to the server when the agent offers no way to reject', marbles((m) => {
    const only = stored(questionLine('1.c0ffee', [{ optionId: 'go', name: 'Allow', kind: 'allow_once' }]));
    const { line$, answers, logged } = ask(m, { frame$: m.hot('--r', { r: selects('other') }) }, only);
    m.expectObservable(line$).toBe('a-|', { a: [only.text.replace('"1.c0ffee"', '9')] });
    m.flush();
    expect(answers).to.deep.equal([]);
    expect(logged.join()).to.match(/^warn: the agent offers no way to reject/);
  }));

  const unreadable: readonly [string, readonly JsonObject[]][] = [
    ['no options', []],
    ['options without an id', [{ name: 'No', kind: 'reject_once' }]],
    ['options without a kind', [{ optionId: 'no', name: 'No' }]],
  ];
  for (const [name, offered] of unreadable) {
    it(`should survive ${name}`, marbles((m) => {
      const { line$, answers } = ask(m, { frame$: m.hot('--r', { r: response({ result: {} }) }) }, stored(questionLine('q', offered)));
      m.expectObservable(line$).toBe('a-|', { a: [questionLine('q', offered).replace('"q"', '9')] });
      m.flush();
      expect(answers).to.deep.equal([]);
    }));
  }

  it('should let the client choose an option whose kind is not known', marbles((m) => {
    const { line$, answers } = ask(m, { frame$: m.hot('--r', { r: selects('later') }) }, stored(questionLine('q', [{ optionId: 'later', name: 'Later' }])));
    m.expectObservable(line$).toBe('a-|', { a: [questionLine('q', [{ optionId: 'later', name: 'Later' }]).replace('"q"', '9')] });
    m.flush();
    expect(answers).to.deep.equal([['later', 2]]);
  }));

  it('should leave all that it listens to when its subscriber leaves', marbles((m) => {
    const frame$ = m.hot<Frame>('-----');
    const resolved$ = m.hot('-----');
    const left$ = m.hot('-----');
    m.expectObservable(ask(m, { frame$, resolved$, left$ }).line$, '^--!').toBe('a--', { a: asked });
    for (const source$ of [frame$, resolved$, left$]) m.expectSubscriptions(source$.subscriptions).toBe('^--!');
  }));
});
