import type { OperatorFunction } from 'rxjs';
import { marbles } from './testScheduler.ts';

/**
 * Specifies what each operator that keeps its source's course owes: that it is complete, silent, failed and left with
 * its source, and subscribes once.
 *
 * @param operator - Made anew for each case.
 * @param value - A value that is passed on.
 */
export function itFollowsItsSource<In, Out>(operator: () => OperatorFunction<In, Out>, value: In): void {
  it('should be complete when the source is empty', marbles(({ cold, expectObservable }) => {
    expectObservable(cold<In>('--|').pipe(operator())).toBe('--|');
  }));

  it('should emit nothing when the source never does', marbles(({ cold, expectObservable }) => {
    expectObservable(cold<In>('-').pipe(operator())).toBe('-');
  }));

  it('should pass the error of the source on', marbles(({ cold, expectObservable }) => {
    expectObservable(cold<In>('--#', undefined, new Error('source')).pipe(operator())).toBe('--#', undefined, new Error('source'));
  }));

  it('should subscribe once, and leave the source when its subscriber does', marbles(({ cold, expectObservable, expectSubscriptions }) => {
    const source$ = cold<In>('-------a', { a: value });
    expectObservable(source$.pipe(operator()), '^---!').toBe('-');
    expectSubscriptions(source$.subscriptions).toBe('^---!');
  }));
}
