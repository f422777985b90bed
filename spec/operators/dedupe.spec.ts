import { dedupe } from '../../lib/operators/dedupe.ts';
import { output } from '../support/serverEvents.ts';
import { marbles } from '../support/testScheduler.ts';

const e1 = output(1, 'one');
const e2 = output(2, 'two');
const e3 = output(3, 'three');
const e9 = output(9, 'nine');
const synthetic = output(undefined, 'of no log');

describe('dedupe', () => {
  it('should drop what was delivered before', marbles(({ cold, expectObservable, expectSubscriptions }) => {
    const event$ = cold('       -a--b--c-|', { a: [e1, e2], b: [e2, e3], c: [e9] });
    const expected = '          -a--b--c-|';
    expectObservable(event$.pipe(dedupe(0))).toBe(expected, { a: [e1, e2], b: [e3], c: [e9] });
    expectSubscriptions(event$.subscriptions).toBe('^--------!');
  }));

  it('should drop what is at or before where it starts', marbles(({ cold, expectObservable }) => {
    const event$ = cold('       -a--b-|', { a: [e1, e2], b: [e3] });
    expectObservable(event$.pipe(dedupe(2))).toBe('----b-|', { b: [e3] });
  }));

  it('should emit nothing for a chunk of old events alone', marbles(({ cold, expectObservable }) => {
    const event$ = cold('       -a--a--b-|', { a: [e2], b: [e1, e2] });
    expectObservable(event$.pipe(dedupe(0))).toBe('-a-------|', { a: [e2] });
  }));

  it('should pass events without an id, which move nothing', marbles(({ cold, expectObservable }) => {
    const event$ = cold('       -a--b-|', { a: [e3, synthetic], b: [synthetic, e2, e9] });
    expectObservable(event$.pipe(dedupe(0))).toBe('-a--b-|', { a: [e3, synthetic], b: [synthetic, e9] });
  }));

  it('should begin anew with each subscriber', marbles(({ cold, expectObservable }) => {
    const result$ = cold('-a|', { a: [e1] }).pipe(dedupe(0));
    expectObservable(result$).toBe('-a|', { a: [e1] });
    expectObservable(result$, '---^--').toBe('----a|', { a: [e1] });
  }));

  it('should pass on that the source is empty, never ends, or fails', marbles(({ cold, expectObservable }) => {
    expectObservable(cold<never>('|').pipe(dedupe(0))).toBe('|');
    expectObservable(cold<never>('-').pipe(dedupe(0))).toBe('-');
    expectObservable(cold('-a-#', { a: [e1] }).pipe(dedupe(0))).toBe('-a-#', { a: [e1] });
  }));

  it('should leave the source when its subscriber does', marbles(({ cold, expectObservable, expectSubscriptions }) => {
    const event$ = cold('       -a-----b-', { a: [e1], b: [e2] });
    expectObservable(event$.pipe(dedupe(0)), '^---!').toBe('-a---', { a: [e1] });
    expectSubscriptions(event$.subscriptions).toBe('^---!');
  }));
});
