import { catchError, concat, defer, EMPTY, filter, finalize, map, merge, mergeMap, NEVER, of, share, takeUntil, tap, throwError, type Observable } from 'rxjs';
import type { Context } from '../context.ts';
import { bindTurn, type BindTurnOptions } from '../operators/bindTurn.ts';
import { replayHistory, type Replay } from '../operators/replayHistory.ts';
import { statusOf } from '../protocol/apiError.ts';
import { describe, invalidParams, unknownSession } from '../protocol/errors.ts';
import type { Agent, Conversation } from '../protocol/fountain.ts';
import { resultLine, type Lines, type RequestFrame } from '../protocol/frames.ts';
import type { Instance } from '../remote.ts';
import { Session } from '../session.ts';
import { failAs } from './failures.ts';
import { forwardLate, forwardMessages, forwardTurn } from './forwardTurn.ts';
import { modelsOf } from './models.ts';

/**
 * Reopens a conversation: replays what its agent said, then answers, then follows a turn that still runs, whose open
 * permission requests are asked again.
 *
 * The replay is streamed and not collected. A connection that drops within it is resumed.
 *
 * Errors: -32602 without a session id, -32002 for one that names no conversation, others in words.
 *
 * @see Specification, "The protocol surface": `session/load`
 */
export function sessionLoad({ id, params }: RequestFrame, context: Context): Observable<Lines> {
  const { sessionId } = params;
  if (typeof sessionId !== 'string' || sessionId === '') return throwError(() => invalidParams('session/load: no sessionId'));
  return context.instance$.pipe(
    mergeMap((instance) =>
      findConversation(sessionId, instance).pipe(
        mergeMap((conversation) => {
          const session = sessionFor(conversation.id, instance, context);
          const replay: Replay = { openTurn: undefined, openRequests: new Map() };
          return concat(
            replayInto(replay, session, context),
            agentOf(conversation, instance, context).pipe(map((agent) => [resultLine(id, { models: modelsOf(agent) })])),
            // What there is to follow is known when the replay has ended.
            defer(() => follow(replay, conversation, session, context)),
          );
        }),
      ),
    ),
  );
}

function findConversation(sessionId: string, instance: Instance): Observable<Conversation> {
  const { where } = instance;
  return instance.conversation(sessionId).pipe(
    catchError((error: unknown) =>
      throwError(() => (statusOf(error) === 404 ? unknownSession(sessionId, `there is no conversation "${sessionId}" on ${where}`) : (error as Error))),
    ),
    failAs(where, (cause) => `could not open session "${sessionId}" on ${where}: ${cause}`),
    tap(({ acp, runtime }) => {
      if (!acp) throw invalidParams(`session "${sessionId}" ran on the ${runtime} runtime, which does not speak ACP; read it in the conversations app, or with "fountain conv"`);
    }),
  );
}

/** A session that this process holds already keeps its stream and its prompt. */
function sessionFor(id: string, { where }: Instance, context: Context): Session {
  const { connection, options } = context;
  const session = connection.sessions.get(id) ?? new Session({ ...context, id, where, after: 0, streamIdleMs: options.streamIdleMs });
  connection.sessions.set(id, session);
  return session;
}

function replayInto(replay: Replay, session: Session, context: Context): Observable<Lines> {
  return session.history('acp,stage', 0).pipe(
    tap((events) => session.observe(events)),
    replayHistory(replay),
    failAs(session.where, (cause) => `could not replay session "${session.id}": ${cause}`),
    (messages$) => forwardMessages(messages$, NEVER, session, context),
  );
}

/** The model is a nicety here: a conversation outlives its agent. */
function agentOf({ agent_id: agentId, id }: Conversation, instance: Instance, { log }: Context): Observable<Agent | undefined> {
  if (agentId === null) return of(undefined);
  return instance.agent(agentId).pipe(
    catchError((error: unknown) => {
      log('debug', `could not read the agent of conversation ${id}: ${describe(error)}`);
      return of(undefined);
    }),
  );
}

/** Follows the turn that the replay left open; of a conversation that is still being provisioned, the first one to begin. */
function follow({ openTurn, openRequests }: Replay, { status }: Conversation, session: Session, context: Context): Observable<Lines> {
  if (session.prompt !== undefined || (openTurn === undefined && status !== 'pending')) return EMPTY;
  return defer(() => {
    const close = openTurn === undefined ? () => undefined : session.openWindow();
    const window: BindTurnOptions = {
      submission$: of({ correlates: false }),
      clientRequestId: undefined,
      followedTurn: openTurn,
      openRequests: [...openRequests.keys()],
      anyTurn: true,
    };
    // A turn without a name can't be told from the one that a prompt of this client begins.
    const yielded$ = session.begun$.pipe(filter(() => typeof session.openTurn?.id !== 'string'));
    // Nobody is left to show it to; what is asked at that moment is denied first.
    const signal$ = session.event$.pipe(bindTurn(window), takeUntil(merge(context.left$, yielded$)), share());
    return merge(
      forwardTurn(signal$, session, context),
      forwardMessages(of([...openRequests.values()]).pipe(filter(({ length }) => length > 0)), signal$, session, context),
      signal$.pipe(
        filter((signal) => signal.kind === 'ended'),
        tap(close),
        mergeMap(({ late }) => merge(forwardMessages(of(late), signal$, session, context), forwardLate(session, context))),
      ),
    ).pipe(
      catchError((error: unknown) => {
        context.log('debug', `stopped following conversation ${session.id}: ${describe(error)}`);
        return EMPTY;
      }),
      takeUntil(context.stopped$),
      finalize(close),
    );
  });
}
