import { catchError, EMPTY, filter, from, ignoreElements, map, merge, mergeMap, of, retry, takeUntil, tap, throwError, timer, type Observable } from 'rxjs';
import type { Context } from '../context.ts';
import { addressToClient } from '../operators/addressToClient.ts';
import { askPermission } from '../operators/askPermission.ts';
import { lateMessages, type TurnSignal } from '../operators/bindTurn.ts';
import { statusOf } from '../protocol/apiError.ts';
import { describe } from '../protocol/errors.ts';
import type { Lines } from '../protocol/frames.ts';
import type { JsonObject } from '../protocol/jsonrpc.ts';
import type { StoredMessage } from '../protocol/stored.ts';
import type { Session } from '../session.ts';

/** Clients that show their user an error, or hang, on a notification they don't know; by `clientInfo.name`. */
const withoutCancelRequest = /agentic|codecompanion/i;

/**
 * Forwards what a turn's window shows to the client: updates as lines, permission requests as questions whose answers
 * go back to the instance, notes to stderr. The end of the turn is the caller's.
 *
 * Errors: those of `signal$`.
 *
 * @param signal$ - The window; hot, so that a question can listen for its withdrawal.
 */
export function forwardTurn(signal$: Observable<TurnSignal>, session: Session, context: Context): Observable<Lines> {
  return signal$.pipe(
    mergeMap((signal): Observable<Lines> => {
      if (signal.kind === 'note') context.log(signal.level, `${signal.message} (conversation ${session.id})`);
      if (signal.kind !== 'messages') return EMPTY;
      return forwardMessages(of(signal.messages), signal$, session, context);
    }),
  );
}

/** Forwards messages; a question among them keeps its place. */
export function forwardMessages(
  messages$: Observable<readonly StoredMessage[]>,
  signal$: Observable<TurnSignal>,
  session: Session,
  context: Context,
): Observable<Lines> {
  return messages$.pipe(
    addressToClient(session.id, () => capabilitiesOf(context)),
    mergeMap((messages) => from(inRuns(messages))),
    mergeMap((run): Observable<Lines> => {
      if (Array.isArray(run)) return of(run);
      return ask(run, signal$, session, context);
    }),
  );
}

/** Forwards what comes when the session's turn is over: titles and the like, until the stream ends or another window begins. */
export function forwardLate(session: Session, context: Context): Observable<Lines> {
  return session.event$.pipe(
    map(lateMessages),
    catchError(() => EMPTY),
    addressToClient(session.id, () => capabilitiesOf(context)),
    filter((messages) => messages.length > 0),
    map((messages) => messages.map(({ text }) => text)),
    takeUntil(merge(session.begun$, context.left$, context.stopped$)),
  );
}

/** What the client can do, as `initialize` brought it. */
export function capabilitiesOf({ connection }: Context): JsonObject {
  return connection.client?.capabilities ?? {};
}

/** Puts neighbouring updates together as lines; a question stands alone. */
function inRuns(messages: readonly StoredMessage[]): readonly (string[] | StoredMessage)[] {
  const runs: (string[] | StoredMessage)[] = [];
  for (const message of messages) {
    const last = runs.at(-1);
    if (message.requestId !== undefined) runs.push(message);
    else if (Array.isArray(last)) last.push(message.text);
    else runs.push([message.text]);
  }
  return runs;
}

function ask(question: StoredMessage, signal$: Observable<TurnSignal>, session: Session, context: Context): Observable<Lines> {
  const { requestId = '' } = question;
  const { frame$, left$, scheduler, log } = context;
  return askPermission(question, {
    id: context.nextId(),
    frame$,
    resolved$: signal$.pipe(filter((signal) => signal.kind === 'resolved' && signal.requestId === requestId)),
    left$,
    answer: (optionId) => answer(session, requestId, optionId, context),
    withdraws: !withoutCancelRequest.test(context.connection.client?.name ?? ''),
    scheduler,
    log,
  }).pipe(context.countQuestion);
}

/** Answers until the instance has heard it: the first answer wins, so a repeated one does no harm. */
function answer({ id }: Session, requestId: string, optionId: string, { instance$, scheduler, log }: Context): Observable<never> {
  return instance$.pipe(
    mergeMap((instance) => instance.answer(id, requestId, optionId)),
    retry({ count: 3, delay: (error: unknown, attempt) => (isFinal(error) ? throwError(() => error as Error) : timer(250 * 2 ** attempt, scheduler)) }),
    catchError((error: unknown) => {
      if (statusOf(error) === 409) log('debug', `a permission request of conversation ${id} had been answered elsewhere`);
      else log('warn', `could not deliver the answer to a permission request of conversation ${id}: ${describe(error)}`);
      return EMPTY;
    }),
    ignoreElements(),
    tap({ complete: () => log('debug', `answered a permission request of conversation ${id}`) }),
  );
}

function isFinal(error: unknown): boolean {
  const status = statusOf(error);
  return status !== undefined && status < 500 && status !== 429;
}
