import { keepAlive } from '../../lib/operators/keepAlive.ts';
import { marbles } from '../support/testScheduler.ts';

describe('keepAlive', () => {
  it('should put a value into each stretch of silence', marbles(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
    const source$ = cold('a-----------b|');
    const expected = '    a----k----k-b|';
    expectObservable(source$.pipe(keepAlive({ everyMs: 5, value: () => 'k', scheduler }))).toBe(expected);
    expectSubscriptions(source$.subscriptions).toBe('^------------!');
  }));

  it('should count silence from the beginning', marbles(({ cold, expectObservable, scheduler }) => {
    const source$ = cold('119s a 60s |');
    const expected = '    119s a 60s |';
    expectObservable(source$.pipe(keepAlive({ everyMs: 120_000, value: () => 'k', scheduler }))).toBe(expected);
    expectObservable(cold('300s |').pipe(keepAlive({ everyMs: 120_000, value: () => 'k', scheduler }))).toBe('120s k 119999ms k 59999ms |');
  }));

  it('should put nothing in while the source is busy', marbles(({ cold, expectObservable, scheduler }) => {
    expectObservable(cold('a--b--c--|').pipe(keepAlive({ everyMs: 5, value: () => 'k', scheduler }))).toBe('a--b--c--|');
  }));

  it('should make each value anew', marbles(({ cold, expectObservable, scheduler }) => {
    let count = 0;
    expectObservable(cold('-------|').pipe(keepAlive({ everyMs: 3, value: () => `k${(count += 1)}`, scheduler }))).toBe('---a--b|', { a: 'k1', b: 'k2' });
  }));

  it('should stop with the error of the source, or of what makes the value', marbles(({ cold, expectObservable, scheduler }) => {
    expectObservable(cold('-#').pipe(keepAlive({ everyMs: 5, value: () => 'k', scheduler }))).toBe('-#');
    const fails = (): string => {
      throw new Error('no value');
    };
    const source$ = cold('-------a');
    expectObservable(source$.pipe(keepAlive({ everyMs: 5, value: fails, scheduler }))).toBe('-----#', undefined, new Error('no value'));
  }));

  it('should be complete when the source is empty', marbles(({ cold, expectObservable, scheduler }) => {
    expectObservable(cold('|').pipe(keepAlive({ everyMs: 5, value: () => 'k', scheduler }))).toBe('|');
  }));

  it('should leave the source and the clock when its subscriber does', marbles(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
    const source$ = cold('a-----------b|');
    expectObservable(source$.pipe(keepAlive({ everyMs: 5, value: () => 'k', scheduler })), '^------!').toBe('a----k--');
    expectSubscriptions(source$.subscriptions).toBe('^------!');
  }));
});
