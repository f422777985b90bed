import { failOn } from '../../lib/operators/failOn.ts';
import { marbles } from '../support/testScheduler.ts';

describe('failOn', () => {
  it('should fail with the other when that fails first', marbles(({ cold, expectObservable, expectSubscriptions }) => {
    const source$ = cold('        -a---b|');
    const failure$ = cold<never>('----#  ');
    const subscriptions = '       ^---!  ';
    expectObservable(source$.pipe(failOn(failure$))).toBe('-a--#');
    expectSubscriptions(source$.subscriptions).toBe(subscriptions);
    expectSubscriptions(failure$.subscriptions).toBe(subscriptions);
  }));

  it('should mirror the source, and leave the other with its end', marbles(({ cold, expectObservable, expectSubscriptions }) => {
    const source$ = cold('        -a-b| ');
    const failure$ = cold<never>('------#');
    expectObservable(source$.pipe(failOn(failure$))).toBe('-a-b|');
    expectSubscriptions(failure$.subscriptions).toBe('^---!');
  }));

  it('should go on when the other is complete', marbles(({ cold, expectObservable }) => {
    expectObservable(cold('-a-b|').pipe(failOn(cold<never>('-|')))).toBe('-a-b|');
  }));

  it('should pass the error of the source on', marbles(({ cold, expectObservable, expectSubscriptions }) => {
    const failure$ = cold<never>('-----');
    expectObservable(cold('-a-#', undefined, new Error('source')).pipe(failOn(failure$))).toBe('-a-#', undefined, new Error('source'));
    expectSubscriptions(failure$.subscriptions).toBe('^--!');
  }));

  it('should be complete when the source is empty, and not end when it never does', marbles(({ cold, expectObservable }) => {
    expectObservable(cold<never>('|').pipe(failOn(cold<never>('-')))).toBe('|');
    expectObservable(cold<never>('-').pipe(failOn(cold<never>('-')))).toBe('-');
  }));

  it('should subscribe to the source once, and leave both when its subscriber does', marbles(({ cold, expectObservable, expectSubscriptions }) => {
    const source$ = cold('        -a----');
    const failure$ = cold<never>('------');
    expectObservable(source$.pipe(failOn(failure$)), '^--!').toBe('-a--');
    expectSubscriptions(source$.subscriptions).toBe('^--!');
    expectSubscriptions(failure$.subscriptions).toBe('^--!');
  }));
});
