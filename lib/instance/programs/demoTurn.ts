import { setTimeout as delay } from 'node:timers/promises';
import { isJsonObject, type JsonObject } from '../../protocol/jsonrpc.ts';
import type { StdioPeer } from './stdioPeer.ts';

/** What a prompt brought. */
export interface DemoPrompt {
  readonly text: string;
  readonly images: readonly { readonly mediaType: string; readonly bytes: number }[];
}

/** One turn's way to the client: everything it says passes here, at the demo's pace, until it is cancelled. */
export class DemoTurn {
  /** What the agent said in this turn. */
  said = '';
  readonly #peer: StdioPeer;
  readonly #sessionId: string;
  readonly #paceMs: number;
  readonly #cancelled: AbortSignal;
  readonly #nextRequestId: () => number;

  /** @param paceMs - Pause before each update, in milliseconds. */
  constructor(peer: StdioPeer, sessionId: string, paceMs: number, cancelled: AbortSignal, nextRequestId: () => number) {
    this.#peer = peer;
    this.#sessionId = sessionId;
    this.#paceMs = paceMs;
    this.#cancelled = cancelled;
    this.#nextRequestId = nextRequestId;
  }

  /** Sends one update. Rejects with the signal's reason once the turn is cancelled. */
  async update(update: JsonObject): Promise<void> {
    await this.pause(this.#paceMs);
    await this.#peer.drained();
    this.#peer.notify('session/update', { sessionId: this.#sessionId, update });
  }

  /** Says one piece of the answer. */
  async say(text: string): Promise<void> {
    this.said += text;
    await this.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  }

  /** Says an answer a few words at a time. */
  async tell(answer: string): Promise<void> {
    for (const piece of answer.match(/(?:\S+\s*){1,4}|\s+/g) ?? []) await this.say(piece);
  }

  /** Thinks one piece aloud. */
  async think(text: string): Promise<void> {
    await this.update({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } });
  }

  /** Waits, in milliseconds. Rejects once the turn is cancelled. */
  async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#cancelled });
  }

  /** Asks for permission; the chosen option, or null for everything that is no permission. Rejects once cancelled. */
  async ask(toolCall: JsonObject, options: readonly JsonObject[]): Promise<JsonObject | null> {
    const asked = this.#peer.ask(this.#nextRequestId(), 'session/request_permission', { sessionId: this.#sessionId, toolCall, options });
    const answer = await Promise.race([asked, aborted(this.#cancelled)]);
    const outcome = isJsonObject(answer) ? answer['outcome'] : null;
    const optionId = isJsonObject(outcome) && outcome['outcome'] === 'selected' ? outcome['optionId'] : null;
    this.#cancelled.throwIfAborted();
    return options.find((option) => option['optionId'] === optionId) ?? null;
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
