import { catchError, defer, map, mergeMap, of, race, take, throwError, timer, type Observable } from 'rxjs';
import type { Context } from '../context.ts';
import type { Submission } from '../operators/bindTurn.ts';
import { isApiError, type ApiError } from '../protocol/apiError.ts';
import { describe } from '../protocol/errors.ts';
import type { PromptSubmission } from '../protocol/fountain.ts';
import type { Stage } from '../protocol/stage.ts';
import type { ActivePrompt, Session } from '../session.ts';
import { readHead, type Head } from './readHead.ts';

/** Waits before each look for the turn of a prompt whose fate is in doubt, in milliseconds. */
const lookUpDelaysMs = [300, 1_000, 3_000];

/** How often a prompt is sent in all, where the server says that it did not take it yet. */
const maxSubmissions = 10;

/** The prompt was cancelled while the instance had not taken it, so nothing runs. */
export class NotStartedError extends Error {
  override readonly name = 'NotStartedError';
}

/** Options of {@link submitPrompt}. */
export interface SubmitPromptOptions {
  readonly session: Session;
  /** Where the conversation was before the prompt. */
  readonly head: Head;
  readonly submission: PromptSubmission;
  readonly prompt: ActivePrompt;
  /** Emits when the client cancels the prompt. */
  readonly cancel$: Observable<unknown>;
}

/**
 * Submits a prompt so that it runs once: emits when the server has taken it.
 *
 * A prompt is never blindly repeated. Where an answer leaves its fate in doubt, the turn is looked for among those that
 * began since; only a server that asks to come back, and began none, is sent the prompt again.
 *
 * Errors: an `ApiError`: the refusal, or that it is in doubt whether the prompt was taken; a {@link NotStartedError}.
 *
 * @see Fountain HTTP and SSE contract, "POST /prompts" and "Design edges", 10
 */
export function submitPrompt({ session, head, submission, prompt, cancel$ }: SubmitPromptOptions, context: Pick<Context, 'instance$' | 'scheduler' | 'log'>): Observable<Submission> {
  const wait = (ms: number) => race(timer(ms, context.scheduler), cancel$).pipe(take(1));
  const find = () => findTurn(session, head, submission.client_request_id);
  const submit = (attempt: number): Observable<Submission> =>
    context.instance$.pipe(
      mergeMap((instance) => instance.prompt(session.id, submission)),
      catchError((error: unknown) => (isApiError(error) ? recover(error, attempt) : throwError(() => error as Error))),
    );
  const again = (error: ApiError, attempt: number): Observable<Submission> => {
    if (prompt.cancelled) return throwError(() => new NotStartedError());
    return attempt < maxSubmissions ? submit(attempt + 1) : throwError(() => error);
  };
  const recover = (error: ApiError, attempt: number): Observable<Submission> => {
    const { status, retryAfterMs, maybeDone } = error.fault;
    // A rate limit is counted before anything is carried out.
    if (status === 429) return wait(retryAfterMs ?? 1_000).pipe(mergeMap(() => again(error, attempt)));
    if (!maybeDone) return throwError(() => error);
    if (status !== 503 || retryAfterMs === undefined) return lookUp(error, lookUpDelaysMs);
    context.log('info', `the instance asks to wait ${retryAfterMs / 1000} s before conversation ${session.id} goes on (${describe(error)})`);
    return wait(retryAfterMs).pipe(mergeMap(find), mergeMap((found) => (found ? of(found) : again(error, attempt))));
  };
  const lookUp = (error: ApiError, [delayMs, ...later]: readonly number[]): Observable<Submission> => {
    if (delayMs === undefined) return throwError(() => error);
    return timer(delayMs, context.scheduler).pipe(
      mergeMap(() => find().pipe(catchError(() => of(undefined)))),
      mergeMap((found) => (found ? of(found) : lookUp(error, later))),
    );
  };
  return defer(() => (prompt.cancelled ? throwError(() => new NotStartedError()) : submit(1)));
}

/** Looks for the turn of a submission among those that began behind the head. */
function findTurn(session: Session, head: Head, name: unknown): Observable<Submission | undefined> {
  return readHead(session, head).pipe(
    map(({ begun }) => {
      const named = begun.some(({ metadata }) => name !== undefined && metadata['client_request_id'] === name);
      return named || begun.some(isNameless) ? { correlates: named } : undefined;
    }),
  );
}

function isNameless({ metadata }: Stage): boolean {
  return (metadata['client_request_id'] ?? undefined) === undefined && metadata['origin'] !== 'autonomous';
}
