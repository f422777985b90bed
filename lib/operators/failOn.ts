import { connect, endWith, ignoreElements, merge, takeUntil, type MonoTypeOperatorFunction, type Observable } from 'rxjs';

/**
 * Mirrors the source, and fails with an error of another Observable as long as the source goes on.
 *
 * ```
 * source:   -a-----b|
 * failure:  ----#
 * result:   -a--#
 * ```
 *
 * Errors: passes those of both on.
 */
export function failOn<T>(failure$: Observable<never>): MonoTypeOperatorFunction<T> {
  return connect((source$) => merge(source$, failure$.pipe(takeUntil(source$.pipe(ignoreElements(), endWith(undefined))))));
}
