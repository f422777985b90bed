import { concat, defer, EMPTY, filter, map, merge, mergeMap, of, race, take, timer, type Observable, type SchedulerLike } from 'rxjs';
import { notificationLine, type Frame, type Lines } from '../protocol/frames.ts';
import { isJsonObject, type JsonObject } from '../protocol/jsonrpc.ts';
import { setMember } from '../protocol/jsonText.ts';
import type { StoredMessage } from '../protocol/stored.ts';

/** After that the server has denied the request, in milliseconds. */
export const permissionTimeoutMs = 300_000;

/** Options of {@link askPermission}. */
export interface AskPermissionOptions {
  /** Our request's id towards the client. */
  readonly id: number;
  /** The client's frames. */
  readonly frame$: Observable<Frame>;
  /** Emits when the request no longer waits: answered elsewhere, timed out, its turn over. */
  readonly resolved$: Observable<unknown>;
  /** Emits when the client is gone, so that nobody can answer any more. */
  readonly left$: Observable<unknown>;
  /** Gives the answer to the instance; emits nothing. */
  readonly answer: (optionId: string) => Observable<never>;
  /** Whether the client takes `$/cancel_request`. */
  readonly withdraws: boolean;
  readonly scheduler: SchedulerLike;
  readonly log: (level: 'debug' | 'warn', message: string) => void;
}

/** What came of a question: the client's answer, nobody to answer, or no need for one. */
type Reply = { readonly kind: 'response'; readonly frame: Frame } | { readonly kind: 'left' } | { readonly kind: 'withdrawn' };

/**
 * Asks the client for a permission, and gives its answer to the instance; emits the lines for the client.
 *
 * The client gets the agent's own options, and only those. Every outcome but the choice of one of them is a denial:
 * the first option that rejects is answered. Where the agent offers none, nothing honest can be sent, and the server's
 * timeout denies. A question that was settled elsewhere is withdrawn, and a late answer to it ignored.
 *
 * ```
 * frame$:     ----r----
 * result:     q------|      (and the answer goes to the instance)
 * ```
 *
 * Errors: none; `answer` must not error.
 *
 * @param question - The stored request, addressed to the client's session.
 * @see Specification, "Permission prompts"
 */
export function askPermission(question: StoredMessage, options: AskPermissionOptions): Observable<Lines> {
  const { id, frame$, resolved$, left$, answer, withdraws, scheduler, log } = options;
  return defer(() => {
    const reply$ = race(
      frame$.pipe(filter((frame) => frame.kind === 'response' && frame.id === String(id)), map((frame): Reply => ({ kind: 'response', frame }))),
      left$.pipe(map((): Reply => ({ kind: 'left' }))),
      merge(resolved$, timer(permissionTimeoutMs, scheduler)).pipe(map((): Reply => ({ kind: 'withdrawn' }))),
    ).pipe(take(1));
    const settled$ = reply$.pipe(
      mergeMap((reply): Observable<Lines> => {
        if (reply.kind === 'withdrawn') {
          log('debug', `permission request ${id} no longer waits`);
          return withdraws ? of([notificationLine('$/cancel_request', { requestId: id })]) : EMPTY;
        }
        const option = chosenOption(reply, question.params) ?? rejection(question.params);
        if (option !== undefined) return answer(option);
        log('warn', 'the agent offers no way to reject this tool call; the denial is left to the server, which waits for its timeout');
        return EMPTY;
      }),
    );
    return concat(of([setMember(question.text, [], 'id', String(id))]), settled$);
  });
}

/** Returns the option that the client selected, if the agent offered it. */
function chosenOption(reply: Reply, params: JsonObject): string | undefined {
  if (reply.kind !== 'response' || reply.frame.kind !== 'response' || reply.frame.error !== undefined) return undefined;
  const outcome = isJsonObject(reply.frame.result) ? reply.frame.result['outcome'] : undefined;
  if (!isJsonObject(outcome) || outcome['outcome'] !== 'selected') return undefined;
  return options(params).find(({ optionId }) => optionId === outcome['optionId'])?.optionId;
}

/** Returns the agent's first option that rejects. */
function rejection(params: JsonObject): string | undefined {
  return options(params).find(({ kind }) => kind.startsWith('reject_'))?.optionId;
}

function options({ options: offered }: JsonObject): readonly { optionId: string; kind: string }[] {
  if (!Array.isArray(offered)) return [];
  return offered.flatMap((option: unknown) => {
    if (!isJsonObject(option) || typeof option['optionId'] !== 'string') return [];
    return [{ optionId: option['optionId'], kind: typeof option['kind'] === 'string' ? option['kind'] : '' }];
  });
}
