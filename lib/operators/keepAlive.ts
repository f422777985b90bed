import { connect, endWith, ignoreElements, interval, map, merge, startWith, switchMap, takeUntil, type MonoTypeOperatorFunction, type SchedulerLike } from 'rxjs';

/** Options of {@link keepAlive}. */
export interface KeepAliveOptions<T> {
  /** Silence after which a value is put in, in milliseconds. */
  readonly everyMs: number;
  /** Makes that value. */
  readonly value: () => T;
  readonly scheduler: SchedulerLike;
}

/**
 * Puts a harmless value into each stretch of silence: some clients take a turn that is quiet for minutes for dead.
 *
 * ```
 * source:  a-----------b|
 * result:  a----k----k-b|
 * ```
 *
 * Errors: passes the source's on; adds none.
 */
export function keepAlive<T>({ everyMs, value, scheduler }: KeepAliveOptions<T>): MonoTypeOperatorFunction<T> {
  return connect((source$) =>
    merge(
      source$,
      source$.pipe(
        startWith(undefined),
        switchMap(() => interval(everyMs, scheduler)),
        map(value),
        takeUntil(source$.pipe(ignoreElements(), endWith(undefined))),
      ),
    ),
  );
}
