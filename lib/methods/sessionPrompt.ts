import { catchError, concat, concatMap, defer, EMPTY, filter, finalize, ignoreElements, map, merge, mergeMap, of, race, share, shareReplay, switchMap, take, takeUntil, tap, throwError, timer, type Observable } from 'rxjs';
import type { Context } from '../context.ts';
import { bindTurn, type TurnSignal } from '../operators/bindTurn.ts';
import { keepAlive } from '../operators/keepAlive.ts';
import type { Outcome } from '../operators/turnOutcome.ts';
import { AcpError, internalError } from '../protocol/errors.ts';
import type { PromptSubmission } from '../protocol/fountain.ts';
import { errorLine, notificationLine, resultLine, type Lines, type RequestFrame } from '../protocol/frames.ts';
import { errorCodes } from '../protocol/jsonrpc.ts';
import type { ActivePrompt, Session } from '../session.ts';
import { failAs } from './failures.ts';
import { forwardLate, forwardMessages, forwardTurn } from './forwardTurn.ts';
import { cancelsOf, sessionOf } from './frames.ts';
import { interrupt } from './interrupt.ts';
import { promptContent } from './promptContent.ts';
import { readHead, type Head } from './readHead.ts';
import { NotStartedError, submitPrompt } from './submitPrompt.ts';

/** After that a cancelled prompt is answered as such, though the instance has not confirmed it, in milliseconds. */
const cancelTimeoutMs = 25_000;

/** Silence of a turn after which the client is told that it lives, since some take it for dead, in milliseconds. */
const keepAliveMs = 120_000;

/**
 * Sends the turn and streams what the agent says until the turn ends; emits the prompt's answer itself, behind the
 * turn's last update.
 *
 * One prompt runs at a time. A second one waits for a first that is being cancelled, and is refused in words otherwise.
 *
 * Errors: -32602 where nothing of the prompt is usable, -32002 for an unknown session, others in words.
 *
 * @see Specification, "The protocol surface" and "Lifecycle, sandboxes, and what survives"
 */
export function sessionPrompt(request: RequestFrame, context: Context): Observable<Lines> {
  return defer(() => {
    const session = sessionOf(request.params, context);
    const submission = promptContent(request.params, context.log);
    const cancelled = [resultLine(request.id, { stopReason: 'cancelled' })];
    const cancel$ = cancelsOf(context, session.id, request.id);
    return whenFree(session, cancel$.pipe(map(() => cancelled)), () => runPrompt({ request, session, submission, context }, cancel$), stopOf(session, context)).pipe(
      catchError((error: unknown) => (error instanceof NotStartedError ? of(cancelled) : throwError(() => error as Error))),
    );
  });
}

/** Starts when no prompt runs in the session; a prompt that waits for that can be cancelled. */
function whenFree(session: Session, cancelled$: Observable<Lines>, start: () => Observable<Lines>, stop$: Observable<never>): Observable<Lines> {
  if (session.prompt === undefined) return start();
  if (session.prompt.cancelled) {
    const freed$ = session.free$.pipe(take(1), mergeMap(() => whenFree(session, cancelled$, start, stop$)));
    return race(cancelled$.pipe(take(1)), freed$, stop$);
  }
  const message = `a turn is already running in this session; wait for its end, or cancel it (conversation ${session.id})`;
  return throwError(() => new AcpError(errorCodes.invalidRequest, message, { conversationId: session.id }));
}

interface PromptRun {
  readonly request: RequestFrame;
  readonly session: Session;
  readonly submission: PromptSubmission;
  readonly context: Context;
}

function runPrompt(run: PromptRun, cancelRequest$: Observable<unknown>): Observable<Lines> {
  const { session, context } = run;
  const prompt = session.begin();
  const cancel$ = cancelRequest$.pipe(tap(() => (prompt.cancelled = true)), share());
  const notStarted$ = cancel$.pipe(mergeMap(() => throwError(() => new NotStartedError())));
  // Behind the shared stream nothing is missing; otherwise it is looked for where the conversation is by now.
  const known: Head = { after: session.after ?? 0, openTurn: session.openTurn, begun: [] };
  const head$ = session.isLive() ? of(known) : race(readHead(session, known).pipe(failAs(session.where, couldNotRead)), notStarted$, stopOf(session, context));
  return merge(
    cancel$.pipe(ignoreElements(), takeUntil(merge(context.stopped$, endOf(session, prompt)))),
    head$.pipe(mergeMap((head) => runTurn(run, prompt, head, cancel$))),
  ).pipe(finalize(() => session.end(prompt)));
}

/** Emits when the prompt has been answered. */
function endOf(session: Session, prompt: ActivePrompt): Observable<unknown> {
  return session.free$.pipe(filter(() => session.prompt !== prompt));
}

/** Submits the prompt and opens its window on the conversation's events. */
function runTurn(run: PromptRun, prompt: ActivePrompt, head: Head, cancel$: Observable<unknown>): Observable<Lines> {
  const { session, submission, context } = run;
  session.after = Math.max(session.after ?? 0, head.after);
  const close = session.openWindow();
  const submission$ = submitPrompt({ session, head, submission, prompt, cancel$ }, context).pipe(
    catchError((error: unknown) => throwError(() => (prompt.cancelled ? new NotStartedError() : (error as Error)))),
    failAs(session.where, couldNotSend(session)),
    shareReplay({ bufferSize: 1, refCount: true }),
  );
  const signal$ = merge(session.event$, stopOf(session, context)).pipe(
    bindTurn({ submission$, clientRequestId: submission.client_request_id, foreignTurn: head.openTurn }),
    failAs(session.where, lostStream(session)),
    share(),
  );
  const ended$ = signal$.pipe(filter((signal) => signal.kind === 'ended'), tap(close));
  const overdue$ = cancel$.pipe(take(1), switchMap(() => timer(cancelTimeoutMs, context.scheduler)), takeUntil(ended$));
  const alive = { everyMs: keepAliveMs, value: () => [stillRunning(session, context)], scheduler: context.scheduler };
  return merge(
    forwardTurn(signal$, session, context).pipe(keepAlive<Lines>(alive), takeUntil(overdue$)),
    interrupts(run, prompt, { submission$, signal$, cancel$ }),
    merge(ended$, overdue$).pipe(
      take(1),
      mergeMap((end) => {
        session.end(prompt);
        return typeof end === 'object' ? afterTurn(run, end, signal$) : of([overdueLine(run)]);
      }),
    ),
  ).pipe(finalize(close));
}

/** The answer, then what the stream still brings while it lingers. */
function afterTurn({ request, session, context }: PromptRun, end: Extract<TurnSignal, { kind: 'ended' }>, signal$: Observable<TurnSignal>): Observable<Lines> {
  return concat(
    of([answerLine(request.id, end.outcome, session)]),
    merge(forwardMessages(of(end.late).pipe(filter(({ length }) => length > 0)), signal$, session, context), forwardLate(session, context)),
  );
}

/** Interrupts the turn when the client cancels; where the instance had nothing to interrupt yet, again when the turn starts. */
function interrupts(
  { session, context }: PromptRun,
  prompt: ActivePrompt,
  { submission$, signal$, cancel$ }: { submission$: Observable<unknown>; signal$: Observable<TurnSignal>; cancel$: Observable<unknown> },
): Observable<never> {
  const accepted$ = submission$.pipe(catchError(() => EMPTY), shareReplay({ bufferSize: 1, refCount: true }));
  const started$ = signal$.pipe(catchError(() => EMPTY), filter(({ kind }) => kind === 'started'));
  const ended$ = signal$.pipe(catchError(() => of(undefined)), filter((signal) => signal === undefined || signal.kind === 'ended'));
  return merge(accepted$, started$, accepted$.pipe(mergeMap(() => cancel$))).pipe(
    filter(() => prompt.cancelled && !prompt.interrupted),
    concatMap(() => (prompt.interrupted ? EMPTY : interrupt(session.id, context, () => (prompt.interrupted = true)))),
    takeUntil(ended$),
  );
}

function answerLine(id: string, outcome: Outcome, { id: conversationId }: Session): string {
  if (outcome.kind === 'stop') return resultLine(id, { stopReason: outcome.stopReason });
  return errorLine(id, { code: errorCodes.internalError, message: outcome.message, data: { conversationId } });
}

function overdueLine({ request, session, context }: PromptRun): string {
  context.log('warn', `the instance has not confirmed the interrupt within ${cancelTimeoutMs / 1000} s; the turn may still be running in conversation ${session.id}`);
  return resultLine(request.id, { stopReason: 'cancelled' });
}

function stillRunning({ id }: Session, { scheduler }: Context): string {
  const updatedAt = new Date(scheduler.now()).toISOString();
  return notificationLine('session/update', { sessionId: id, update: { sessionUpdate: 'session_info_update', updatedAt } });
}

/** The turn on the server does not depend on this process, and goes on without it. */
function stopOf({ id }: Session, { stopped$ }: Context): Observable<never> {
  const message = `fountain acp ends before the turn does; the turn goes on, in conversation ${id}`;
  return stopped$.pipe(mergeMap(() => throwError(() => internalError(message, { conversationId: id }))));
}

function couldNotRead(cause: string): string {
  return `could not read the conversation stream: ${cause}`;
}

function couldNotSend({ id }: Session): Parameters<typeof failAs>[1] {
  return (cause, data) => {
    const busy = data['error'] === 'conversation_busy' ? '; a turn of this conversation is running, wait for its end or cancel it' : '';
    return internalError(`could not send the prompt: ${cause}${busy}`, { ...data, conversationId: id });
  };
}

function lostStream({ id }: Session): Parameters<typeof failAs>[1] {
  return (cause, data) =>
    internalError(`lost the conversation stream (${cause}) — the turn may still be running; it is conversation ${id}`, { ...data, conversationId: id });
}
