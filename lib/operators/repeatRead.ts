import { retry, throwError, timer, type MonoTypeOperatorFunction, type SchedulerLike } from 'rxjs';
import { isApiError } from '../protocol/apiError.ts';

/** Options of {@link repeatRead}. */
export interface RepeatReadOptions {
  readonly scheduler: SchedulerLike;
}

/** How often a read is made in all. */
const attempts = 3;

const firstDelayMs = 250;

/** Longest wait that a server is granted, in milliseconds: somebody waits in an editor. */
const longestDelayMs = 5_000;

/** Statuses of a gateway before an instance that restarts, and of a rate limit. */
const passingStatuses = new Set([429, 502, 503, 504]);

/** What happens to a connection on its way; a name that is not there and a refusal are told at once. */
const passingCodes = new Set(['ECONNRESET', 'EPIPE', 'EAI_AGAIN', 'ERR_STREAM_PREMATURE_CLOSE']);

/**
 * Makes a call that changes nothing again when it failed for a reason that may pass.
 *
 * ```
 * calls:   -#  -#  -a|
 * result:  -----------a|   (250 ms and 500 ms between them)
 * ```
 *
 * Errors: the last failure's; any that trying again does not help against, at once.
 */
export function repeatRead<T>({ scheduler }: RepeatReadOptions): MonoTypeOperatorFunction<T> {
  return retry({
    count: attempts - 1,
    delay: (error: unknown, attempt) => (isPassing(error) ? timer(delayMs(error, attempt), scheduler) : throwError(() => error as Error)),
  });
}

function isPassing(error: unknown): boolean {
  if (!isApiError(error)) return false;
  const { status, code = '' } = error.fault;
  return status === undefined ? passingCodes.has(code) : passingStatuses.has(status);
}

function delayMs(error: unknown, attempt: number): number {
  const asked = isApiError(error) ? (error.fault.retryAfterMs ?? 0) : 0;
  return Math.min(Math.max(asked, firstDelayMs * 2 ** (attempt - 1)), longestDelayMs);
}
