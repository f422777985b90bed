import { randomBytes } from 'node:crypto';
import { isJsonObject } from '../../protocol/jsonrpc.ts';
import type { JsonObject } from '../../protocol/jsonrpc.ts';
import type { ConversationLog } from '../log/conversationLog.ts';
import { Refusal } from '../refusal.ts';
import type { Write } from '../store/store.ts';
import { automaticOption } from './permissionPolicy.ts';

/** What the harness is told: one of its own options, or that nobody chose. */
export interface PermissionAnswer {
  readonly outcome: { readonly outcome: 'selected'; readonly optionId: string } | { readonly outcome: 'cancelled' };
}

/** How a held request ended. */
export type RequestOutcome = 'answered' | 'timeout' | 'turn_ended';

interface Held {
  readonly requestId: string;
  readonly turnId: string;
  readonly options: readonly JsonObject[];
  readonly settle: (answer: PermissionAnswer) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * The permission requests of one conversation that wait for an answer.
 *
 * Each is stored under an id of its own, answered once by whoever is first, and denied when time or the turn runs out.
 *
 * @see Fountain HTTP and SSE contract, sections 4.7, 5.6 and 7.2
 */
export class PermissionRequests {
  readonly #log: ConversationLog;
  readonly #timeoutMs: number;
  readonly #onFailure: (error: unknown) => void;
  readonly #held = new Map<string, Held>();

  /** @param timeoutMs - How long a request waits, in milliseconds. */
  constructor(log: ConversationLog, timeoutMs: number, onFailure: (error: unknown) => void) {
    this.#log = log;
    this.#timeoutMs = timeoutMs;
    this.#onFailure = onFailure;
  }

  /** Those that wait, as the conversation shows them. */
  get pending(): readonly JsonObject[] {
    return [...this.#held.values()].map(({ requestId, turnId, options }) => ({ request_id: requestId, turn_id: turnId, options }));
  }

  /**
   * Stores the harness's question and resolves with the answer it gets. Never rejects.
   *
   * @param harnessId - The harness's own request id; ids repeat from turn to turn, so the stored one has a suffix.
   * @param params - The question as the harness asked it.
   * @param withdrawn - Aborts when the harness no longer waits.
   */
  hold(turnId: string, harnessId: string, params: JsonObject, withdrawn: AbortSignal): Promise<PermissionAnswer> {
    const requestId = `${harnessId}.${randomBytes(8).toString('hex')}`;
    const options = optionsOf(params);
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#end(requestId, 'timeout'), this.#timeoutMs);
      this.#held.set(requestId, { requestId, turnId, options, settle: resolve, timer });
      const line = JSON.stringify({ jsonrpc: '2.0', id: requestId, method: 'session/request_permission', params });
      this.#commit([...this.#log.questionWrites(line, { stage: 'turn', turnId }), this.#started(requestId, turnId, params, options)]);
      withdrawn.addEventListener('abort', () => this.#end(requestId, 'turn_ended'), { once: true });
    });
  }

  /**
   * Answers a request with one of its options.
   *
   * Errors: Refusal 409 where it no longer waits; 422 where the option was not offered, and then it goes on waiting.
   */
  async answer(requestId: string, optionId: string): Promise<void> {
    const held = this.#held.get(requestId);
    if (held === undefined) throw new Refusal(409, 'permission_request_resolved', { message: 'this request no longer waits for an answer' });
    const offered = held.options.map((option) => option['optionId']);
    if (!offered.includes(optionId)) {
      throw new Refusal(422, 'unknown_option', { message: `the agent offers ${offered.map(String).join(', ')}` });
    }
    const write = this.#settle(held, 'answered', optionId);
    await this.#log.commit([write]);
  }

  /** Denies all that wait, since their turn ends, and returns the writes that say so. */
  endAll(): Write[] {
    return [...this.#held.values()].map((held) => this.#settle(held, 'turn_ended', null));
  }

  #end(requestId: string, outcome: 'timeout' | 'turn_ended'): void {
    const held = this.#held.get(requestId);
    if (held !== undefined) this.#commit([this.#settle(held, outcome, null)]);
  }

  #settle(held: Held, outcome: RequestOutcome, optionId: string | null): Write {
    this.#held.delete(held.requestId);
    clearTimeout(held.timer);
    held.settle(optionId === null ? automaticAnswer(held.options, 'auto_deny') : selected(optionId));
    return this.#log.stage('request', 'done', { request_id: held.requestId, outcome, option_id: optionId }, held.turnId);
  }

  #started(requestId: string, turnId: string, params: JsonObject, options: readonly JsonObject[]): Write {
    const call = params['toolCall'];
    const title = isJsonObject(call) ? (call['title'] ?? call['kind']) : null;
    const tool = typeof title === 'string' ? title : null;
    return this.#log.stage('request', 'started', { request_id: requestId, tool, options, timeout_ms: this.#timeoutMs }, turnId);
  }

  #commit(writes: readonly Write[]): void {
    this.#log.commit(writes).catch(this.#onFailure);
  }
}

/** Returns the answer that a policy gives by itself. */
export function automaticAnswer(options: readonly JsonObject[], verdict: 'auto_allow' | 'auto_deny'): PermissionAnswer {
  const optionId = automaticOption(options, verdict);
  return optionId === null ? { outcome: { outcome: 'cancelled' } } : selected(optionId);
}

/** Returns the options that a harness offers. */
export function optionsOf(params: JsonObject): readonly JsonObject[] {
  const options = params['options'];
  return Array.isArray(options) ? options.filter(isJsonObject) : [];
}

function selected(optionId: string): PermissionAnswer {
  return { outcome: { outcome: 'selected', optionId } };
}
