import { BehaviorSubject, catchError, concat, defer, EMPTY, filter, finalize, ignoreElements, map, merge, mergeMap, NEVER, of, race, ReplaySubject, share, Subject, switchMap, take, takeUntil, tap, throwError, timer, type Observable } from 'rxjs';
import type { Context } from './context.ts';
import { authenticate } from './methods/authenticate.ts';
import { initialize } from './methods/initialize.ts';
import { sessionCancel } from './methods/sessionCancel.ts';
import { sessionLoad } from './methods/sessionLoad.ts';
import { sessionNew } from './methods/sessionNew.ts';
import { sessionPrompt } from './methods/sessionPrompt.ts';
import { setConfigOption } from './methods/setConfigOption.ts';
import { failOn } from './operators/failOn.ts';
import { splitFrames } from './operators/splitFrames.ts';
import { AcpError, internalError, toErrorObject } from './protocol/errors.ts';
import { errorLine, resultLine, type Frame, type Lines, type RequestFrame } from './protocol/frames.ts';
import { errorCodes, type JsonObject } from './protocol/jsonrpc.ts';

/** How a method answers: with the lines for the client, its own answer among them. */
type Method = (request: RequestFrame, context: Context) => Observable<Lines>;

const methods: Readonly<Record<string, Method>> = {
  initialize: answeredWith(initialize),
  authenticate: answeredWith(authenticate),
  'session/new': answeredWith(sessionNew),
  'session/load': sessionLoad,
  'session/prompt': sessionPrompt,
  'session/set_config_option': answeredWith(setConfigOption),
};

/** How long requests in flight may take when the client has closed its end, in milliseconds. */
const graceMs = 2_000;

/** How long open questions may take to be denied when the process is told to end, in milliseconds. */
const denialMs = 1_000;

/** What a pipeline needs of the world; the rest of a {@link Context} is made here. */
export interface PipelineOptions extends Omit<Context, 'frame$' | 'left$' | 'stopped$' | 'countQuestion'> {
  /** Whether everything in flight is answered after the end of input, however long it takes. */
  readonly drain: boolean;
  /** Emits when the process is to end: a signal, or nobody reads any more. */
  readonly stop$: Observable<unknown>;
}

/**
 * The whole way from stdin to stdout: bytes become frames, each frame becomes an Observable of outgoing lines, and all
 * are merged.
 *
 * Requests run side by side. Completes when the input has ended and nothing is in flight.
 *
 * Errors: a fault of ours; everything else is a line for the client.
 *
 * @see Specification, "The protocol surface"
 */
export function pipeline(byte$: Observable<Uint8Array>, options: PipelineOptions): Observable<Lines> {
  return defer(() => {
    const left$ = new ReplaySubject<void>(1);
    const stopped$ = new ReplaySubject<void>(1);
    const done$ = new Subject<void>();
    const questions$ = new BehaviorSubject(0);
    const input$ = byte$.pipe(takeUntil(options.stop$));
    const frame$ = input$.pipe(splitFrames(), mergeMap((frames) => frames), share());
    const context: Context = {
      ...options,
      // Who waits for a frame is told by `left$` that there will be none.
      frame$: concat(frame$, NEVER),
      left$,
      stopped$,
      countQuestion: (question$) =>
        defer(() => {
          questions$.next(questions$.value + 1);
          return question$.pipe(finalize(() => questions$.next(questions$.value - 1)));
        }),
    };
    const inFlight = new Set<string>();
    const ended$ = concat(frame$.pipe(ignoreElements()), of(undefined)).pipe(tap(() => left$.next()));
    const denied$ = race(questions$.pipe(filter((open) => open === 0)), timer(denialMs, options.scheduler));
    const ending$ = merge(
      ended$.pipe(mergeMap(() => (options.drain ? NEVER : timer(graceMs, options.scheduler)))),
      options.stop$.pipe(tap(() => left$.next()), switchMap(() => denied$)),
    );
    return merge(
      frame$.pipe(mergeMap((frame) => answer(frame, inFlight, context)), finalize(() => done$.next())),
      ending$.pipe(tap(() => stopped$.next()), ignoreElements(), takeUntil(done$)),
    );
  });
}

function answer(frame: Frame, inFlight: Set<string>, context: Context): Observable<Lines> {
  switch (frame.kind) {
    case 'request':
      return answerRequest(frame, inFlight, context);
    case 'notification':
      return frame.method === 'session/cancel' ? sessionCancel(frame.params, context) : EMPTY;
    case 'invalid':
      context.log('warn', `refused a message of the client: ${frame.error.message}`);
      return of([errorLine(frame.id, frame.error)]);
    case 'noise':
      context.log('warn', frame.reason);
      return EMPTY;
    case 'response':
      return EMPTY;
  }
}

/** Every request gets one answer: the method's, or the error that it ends with. */
function answerRequest(request: RequestFrame, inFlight: Set<string>, context: Context): Observable<Lines> {
  const { id, method } = request;
  if (inFlight.has(id)) {
    context.log('warn', `ignored a request for ${method}: its id ${id} is in use by one that is not answered yet`);
    return EMPTY;
  }
  inFlight.add(id);
  const answered = `{"jsonrpc":"2.0","id":${id},"`;
  const failure$ = failureOf(request, context).pipe(filter(() => inFlight.has(id)), mergeMap((error) => throwError(() => error)));
  return defer(() => methodOf(request, context)(request, context)).pipe(
    failOn(failure$),
    tap((lines) => {
      if (lines.some((line) => line.startsWith(answered))) inFlight.delete(id);
    }),
    catchError((error: unknown) => {
      if (!inFlight.delete(id)) return EMPTY;
      const { message, ...rest } = toErrorObject(error);
      context.log(error instanceof AcpError ? 'info' : 'error', `${method}: ${message}`);
      return of([errorLine(id, { message, ...rest })]);
    }),
  );
}

function methodOf({ method }: RequestFrame, { connection }: Context): Method {
  const found = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (found === undefined) throw new AcpError(errorCodes.methodNotFound, `there is no method "${method}" here`, { method });
  if (connection.client === undefined && method.startsWith('session/')) throw new AcpError(errorCodes.invalidRequest, 'initialize must come first');
  return found;
}

/** What ends a request from outside. A prompt sees to it itself, since its turn runs on or is interrupted. */
function failureOf({ id, method }: RequestFrame, { frame$, stopped$ }: Context): Observable<AcpError> {
  if (method === 'session/prompt') return EMPTY;
  const cancel$ = frame$.pipe(
    filter((frame) => frame.kind === 'notification' && frame.method === '$/cancel_request' && JSON.stringify(frame.params['requestId']) === id),
  );
  return merge(
    cancel$.pipe(map(() => new AcpError(errorCodes.requestCancelled, `${method} was cancelled`))),
    stopped$.pipe(map(() => internalError(`fountain acp ends before ${method} is answered`))),
  ).pipe(take(1));
}

function answeredWith(call: (request: RequestFrame, context: Context) => Observable<JsonObject>): Method {
  return (request, context) => call(request, context).pipe(map((result) => [resultLine(request.id, result)]));
}
