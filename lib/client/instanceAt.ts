import { catchError, defer, from, throwError, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import { isApiError } from '../protocol/apiError.ts';
import type { Instance } from '../remote.ts';
import { fromCall } from '../sources/fromCall.ts';
import { fromEventStream } from '../sources/fromEventStream.ts';
import type { Api } from './api.ts';

/** An instance and a key for it. */
export interface Target {
  readonly baseUrl: string;
  readonly key: string;
  /** The instance, for messages. */
  readonly where: string;
}

/** Options of {@link instanceAt}. */
export interface InstanceOptions {
  /** Says where the instance is at this moment; asked anew for each use. Rejects in words. */
  readonly target: () => Promise<Target>;
  /** Told when nobody listens where the target was. */
  readonly onGone: () => void;
  readonly env: NodeJS.ProcessEnv;
  readonly userAgent: string;
  /** Whether the client keeps up; event streams are read no faster. */
  readonly gate$: Observable<boolean>;
}

/**
 * Emits the instance that the target of this moment names. What speaks HTTP is loaded with its first use.
 *
 * Errors: what `target` rejects with; an `ApiError` for a target that can't be one.
 */
export function instanceAt({ target, onGone, env, userAgent, gate$ }: InstanceOptions): Observable<Instance> {
  let known: { target: Target; instance: Instance } | undefined;
  const connect = async (): Promise<Instance> => {
    const { baseUrl, key, where } = await target();
    if (known?.target.baseUrl === baseUrl && known.target.key === key) return known.instance;
    const { createApi } = await import('./api.ts');
    const instance = toInstance(createApi({ baseUrl, key, env, userAgent }), where, gate$, onGone);
    known = { target: { baseUrl, key, where }, instance };
    return instance;
  };
  return defer(() => from(connect()));
}

function toInstance(api: Api, where: string, gate$: Observable<boolean>, onGone: () => void): Instance {
  const once = <T>(call: (signal: AbortSignal) => Promise<T>): Observable<T> => fromCall(call).pipe(noticeGone(onGone));
  return {
    where,
    me: () => once((signal) => api.me(signal)),
    agent: (nameOrId) => once((signal) => api.agent(nameOrId, signal)),
    vaultId: (nameOrId) => once((signal) => api.vaultId(nameOrId, signal)),
    environmentId: (nameOrId) => once((signal) => api.environmentId(nameOrId, signal)),
    createConversation: (body) => once((signal) => api.createConversation(body, signal)),
    conversation: (id) => once((signal) => api.conversation(id, signal)),
    prompt: (id, submission) => once((signal) => api.prompt(id, submission, signal)),
    interrupt: (id) => once((signal) => api.interrupt(id, signal)),
    answer: (id, requestId, optionId) => once((signal) => api.answer(id, requestId, optionId, signal)),
    events: (id, query) => fromEventStream((signal) => api.openStream(id, query, signal), gate$).pipe(noticeGone(onGone)),
  };
}

function noticeGone<T>(onGone: () => void): MonoTypeOperatorFunction<T> {
  return catchError((error: unknown) => {
    if (isApiError(error) && error.fault.code === 'ECONNREFUSED') onGone();
    return throwError(() => error as Error);
  });
}
