import { asyncScheduler, catchError, defer, from, throwError, type MonoTypeOperatorFunction, type Observable, type SchedulerLike } from 'rxjs';
import { repeatRead } from '../operators/repeatRead.ts';
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
  /** For the waits between repeated reads. */
  readonly scheduler?: SchedulerLike;
}

/**
 * Emits the instance that the target of this moment names. What speaks HTTP is loaded with its first use.
 *
 * Errors: what `target` rejects with; an `ApiError` for a target that can't be one.
 */
export function instanceAt({ target, onGone, env, userAgent, gate$, scheduler = asyncScheduler }: InstanceOptions): Observable<Instance> {
  let known: { target: Target; instance: Instance } | undefined;
  const connect = async (): Promise<Instance> => {
    const { baseUrl, key, where } = await target();
    if (known?.target.baseUrl === baseUrl && known.target.key === key) return known.instance;
    const { createApi } = await import('./api.ts');
    const instance = toInstance(createApi({ baseUrl, key, env, userAgent }), { where, gate$, onGone, scheduler });
    known = { target: { baseUrl, key, where }, instance };
    return instance;
  };
  return defer(() => from(connect()));
}

/** What the calls of one instance stand on. */
interface InstanceWorld extends Required<Pick<InstanceOptions, 'gate$' | 'onGone' | 'scheduler'>> {
  readonly where: string;
}

/** Reads are repeated where that may help; what changes something is the caller's to judge. */
function toInstance(api: Api, options: InstanceWorld): Instance {
  const { where, onGone, scheduler, gate$ } = options;
  const once = <T>(call: (signal: AbortSignal) => Promise<T>): Observable<T> => fromCall(call).pipe(noticeGone(onGone));
  const read = <T>(call: (signal: AbortSignal) => Promise<T>): Observable<T> => once(call).pipe(repeatRead({ scheduler }));
  return {
    where,
    me: () => read((signal) => api.me(signal)),
    agent: (nameOrId) => read((signal) => api.agent(nameOrId, signal)),
    vaultId: (nameOrId) => read((signal) => api.vaultId(nameOrId, signal)),
    environmentId: (nameOrId) => read((signal) => api.environmentId(nameOrId, signal)),
    createConversation: (body) => once((signal) => api.createConversation(body, signal)),
    conversation: (id) => read((signal) => api.conversation(id, signal)),
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
