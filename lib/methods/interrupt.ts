import { catchError, EMPTY, ignoreElements, mergeMap, retry, tap, throwError, timer, type Observable } from 'rxjs';
import type { Context } from '../context.ts';
import { statusOf } from '../protocol/apiError.ts';
import { describe } from '../protocol/errors.ts';

/**
 * Interrupts the turn that runs in a conversation; emits nothing. What the turn really does is told by its own end, so
 * a failure goes to stderr alone.
 *
 * @param onInterrupted - Called when the instance has confirmed it.
 * @see Specification, "The protocol surface": `session/cancel`
 */
export function interrupt(conversationId: string, { instance$, scheduler, log }: Pick<Context, 'instance$' | 'scheduler' | 'log'>, onInterrupted?: () => void): Observable<never> {
  return instance$.pipe(
    mergeMap((instance) => instance.interrupt(conversationId)),
    tap(() => onInterrupted?.()),
    // Interrupting twice is no more than once, so it may be tried again.
    retry({ count: 2, delay: (error: unknown, attempt) => (isPassing(error) ? timer(500 * attempt, scheduler) : throwError(() => error as Error)) }),
    catchError((error: unknown) => {
      const nothingRuns = statusOf(error) === 409;
      if (nothingRuns) log('debug', `no turn of conversation ${conversationId} to interrupt`);
      else log('warn', `could not interrupt the turn of conversation ${conversationId}: ${describe(error)}`);
      return EMPTY;
    }),
    ignoreElements(),
  );
}

function isPassing(error: unknown): boolean {
  const status = statusOf(error);
  return status === undefined || status === 429 || status === 502 || status === 503 || status === 504;
}
