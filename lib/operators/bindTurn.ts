import { concat, defer, map, merge, mergeMap, takeWhile, throwError, type Observable, type OperatorFunction } from 'rxjs';
import type { ServerEvent } from '../protocol/fountain.ts';
import { readStage, startsTurn, type Stage } from '../protocol/stage.ts';
import { isMetadata, readStored, type StoredMessage } from '../protocol/stored.ts';
import { orphaned, outcomeOfConversation, outcomeOfTurn, type Outcome } from './turnOutcome.ts';

/** What happens in the window that a prompt has on its conversation's events. */
export type TurnSignal =
  /** What the agent said, in order. */
  | { readonly kind: 'messages'; readonly messages: readonly StoredMessage[] }
  /** The prompt's own turn has begun. */
  | { readonly kind: 'started' }
  /** A permission request no longer waits for an answer. */
  | { readonly kind: 'resolved'; readonly requestId: string }
  /** Something that goes on stderr. */
  | { readonly kind: 'note'; readonly level: 'debug' | 'warn'; readonly message: string }
  /** The last signal, with what the same chunk brought after the turn: metadata that a client still wants. */
  | { readonly kind: 'ended'; readonly outcome: Outcome; readonly late: readonly StoredMessage[] };

/** The server's answer to a submitted prompt. */
export interface Submission {
  /** Whether the server says which submission a turn came from. Older ones don't. */
  readonly correlates: boolean;
}

/** Options of {@link bindTurn}. */
export interface BindTurnOptions {
  /** Emits once, when the server has taken the prompt; errors when it has not. Nothing is passed on before. */
  readonly submission$: Observable<Submission>;
  /** What the client named its submission, where it did. */
  readonly clientRequestId: unknown;
  /** Turn that was open before the prompt was submitted: somebody else's. */
  readonly foreignTurn?: OpenTurn | undefined;
  /** Turn to follow instead of waiting for one to begin, as after `session/load`. */
  readonly followedTurn?: OpenTurn | undefined;
  /** Permission requests of the followed turn that are open already. */
  readonly openRequests?: readonly string[];
  /** Whether the first turn that begins is taken, whoever submitted it. */
  readonly anyTurn?: boolean;
}

/** As many events as are held back, at most, until the server says whether it took the prompt. */
const maxHeld = 10_000;

/** A turn that has begun and not ended. */
export interface OpenTurn {
  /** Null where the server names none. */
  readonly id: string | null;
}

/**
 * Binds a prompt to its own turn: passes on what belongs to it and ends with its terminal event.
 *
 * Somebody else's turn in the same conversation neither ends the prompt nor leaks into it. The own turn is the first
 * one begun by a user that carries the submission's name, or none where none was sent; from then on only its terminal
 * event counts, and what ends the whole conversation. A server that names no turns is read by order.
 *
 * ```
 * submission:  --a|
 * source:      -(S)-(m)-(E)---
 * result:      --S--m---(E|)
 * ```
 *
 * Errors: the submission's; the source's; one where the source ends first.
 *
 * @see Fountain HTTP and SSE contract, "Design edges", 1 to 5
 */
export function bindTurn(options: BindTurnOptions): OperatorFunction<readonly ServerEvent[], TurnSignal> {
  return (event$) =>
    defer(() => {
      const turn = new TurnWindow(options);
      return merge(
        options.submission$.pipe(map((submission) => turn.accept(submission))),
        concat(event$, throwError(() => new Error('the stream ended'))).pipe(map((events) => turn.feed(events))),
      ).pipe(
        mergeMap((signals) => signals),
        takeWhile(({ kind }) => kind !== 'ended', true),
      );
    });
}

/** Stages that show that a sandbox is being woken for a prompt. */
const wakingStages = new Set(['reattach', 'provision', 'turn', 'session', 'checkpoint_restore']);

class TurnWindow {
  readonly #clientRequestId: unknown;
  readonly #anyTurn: boolean;
  /** Whether this server says whose a turn is: then one without a name is never ours, if we sent one. */
  #correlates = false;
  #submission: Submission | undefined;
  #held: ServerEvent[] = [];
  /** Undefined until the own turn has begun. */
  #own: OpenTurn | undefined;
  #foreign: OpenTurn | undefined;
  readonly #foreignIds = new Set<string>();
  readonly #openRequests: Set<string>;
  #signals: TurnSignal[] = [];
  #messages: StoredMessage[] = [];
  #outcome: Outcome | undefined;

  constructor({ clientRequestId, foreignTurn, followedTurn, openRequests, anyTurn }: BindTurnOptions) {
    this.#clientRequestId = clientRequestId ?? undefined;
    this.#anyTurn = anyTurn === true;
    this.#own = followedTurn;
    this.#openRequests = new Set(openRequests);
    this.#openForeign(foreignTurn);
  }

  accept(submission: Submission): readonly TurnSignal[] {
    this.#submission = submission;
    this.#correlates ||= submission.correlates;
    const held = this.#held;
    this.#held = [];
    return this.feed(held);
  }

  feed(events: readonly ServerEvent[]): readonly TurnSignal[] {
    if (this.#submission === undefined) {
      this.#held.push(...events);
      return this.#held.length > maxHeld ? this.accept({ correlates: false }) : [];
    }
    for (const [index, event] of events.entries()) {
      const stage = readStage(event);
      if (stage) this.#onStage(stage, events, index);
      else this.#onOutput(event);
      if (this.#outcome !== undefined) {
        this.#end(this.#outcome, lateMessages(events.slice(index + 1)));
        break;
      }
    }
    this.#flush();
    const signals = this.#signals;
    this.#signals = [];
    return signals;
  }

  #onStage(stage: Stage, events: readonly ServerEvent[], index: number): void {
    if (startsTurn(stage)) this.#onStart(stage);
    else if (stage.stage === 'request' && stage.state === 'done') this.#onResolved(stage.metadata['request_id']);
    else if (stage.stage === 'model' && stage.state === 'failed') this.#onModelFailed(stage);
    else this.#outcome = this.#outcomeOf(stage, () => events.slice(index + 1));
  }

  #onStart(stage: Stage): void {
    const name = stage.metadata['client_request_id'] ?? undefined;
    this.#correlates ||= name !== undefined;
    if (this.#own === undefined && this.#isOwn(stage, name)) {
      this.#own = { id: stage.turnId };
      this.#foreign = undefined;
      this.#signal({ kind: 'started' });
    } else if (this.#own === undefined || differ(this.#own.id, stage.turnId)) {
      this.#openForeign({ id: stage.turnId });
    }
  }

  #isOwn({ metadata, turnId }: Stage, name: unknown): boolean {
    if (this.#anyTurn) return true;
    if (metadata['origin'] === 'autonomous' || (turnId !== null && this.#foreignIds.has(turnId))) return false;
    return name === this.#clientRequestId || (name === undefined && !this.#correlates);
  }

  #outcomeOf(stage: Stage, rest: () => readonly ServerEvent[]): Outcome | undefined {
    const ofTurn = stage.stage === 'reattach' && stage.state === 'interrupted' ? orphaned : outcomeOfTurn(stage);
    if (ofTurn !== undefined) {
      if (!this.#isForeignEnd(stage)) return ofTurn;
      this.#foreign = undefined;
      return undefined;
    }
    const ofConversation = outcomeOfConversation(stage, this.#own !== undefined);
    // A sandbox that was parked while the prompt was on its way is woken for it.
    const woken = ofConversation !== undefined && stage.stage === 'sandbox' && this.#own === undefined && rest().some(isWaking);
    return woken ? undefined : ofConversation;
  }

  #isForeignEnd({ turnId }: Stage): boolean {
    if (turnId !== null && this.#foreignIds.has(turnId)) return true;
    if (this.#own === undefined) return this.#foreign !== undefined && (turnId === null || this.#foreign.id === null);
    return differ(this.#own.id, turnId);
  }

  #onOutput(event: ServerEvent): void {
    if (event.stream !== 'acp') {
      this.#signal({ kind: 'note', level: 'debug', message: `${event.stream} of the sandbox: ${event.data.length} characters` });
      return;
    }
    const message = readStored(event);
    if (message === undefined) {
      this.#signal({ kind: 'note', level: 'debug', message: 'skipped a stored line that is no update' });
      return;
    }
    if (this.#isForeignOutput(event) && !isMetadata(message)) return;
    if (message.requestId !== undefined) this.#openRequests.add(message.requestId);
    this.#messages.push(message);
  }

  #isForeignOutput({ turn_id: turnId }: ServerEvent): boolean {
    if (turnId === null) return this.#foreign !== undefined;
    return this.#foreignIds.has(turnId) || (this.#own !== undefined && differ(this.#own.id, turnId));
  }

  #onResolved(requestId: unknown): void {
    if (typeof requestId !== 'string' || !this.#openRequests.delete(requestId)) return;
    this.#signal({ kind: 'resolved', requestId });
  }

  #onModelFailed({ metadata }: Stage): void {
    const requested = metadata['requested_model'] ?? metadata['requested'];
    const reason = metadata['detail'] ?? metadata['error'];
    this.#signal({ kind: 'note', level: 'warn', message: `the agent refused the model ${words(requested)}: ${words(reason)}` });
  }

  #openForeign(turn: OpenTurn | undefined): void {
    this.#foreign = turn;
    if (turn !== undefined && turn.id !== null) this.#foreignIds.add(turn.id);
  }

  #end(outcome: Outcome, late: readonly StoredMessage[]): void {
    for (const requestId of this.#openRequests) this.#signal({ kind: 'resolved', requestId });
    this.#signal({ kind: 'ended', outcome, late });
  }

  #signal(signal: TurnSignal): void {
    this.#flush();
    this.#signals.push(signal);
  }

  /** Messages gather until something else has to keep its place among them. */
  #flush(): void {
    if (this.#messages.length === 0) return;
    this.#signals.push({ kind: 'messages', messages: this.#messages });
    this.#messages = [];
  }
}

/** Returns what a client still wants of events that came when its turn was over. */
export function lateMessages(events: readonly ServerEvent[]): readonly StoredMessage[] {
  return events.flatMap((event) => {
    const message = event.stream === 'acp' ? readStored(event) : undefined;
    return message !== undefined && isMetadata(message) ? [message] : [];
  });
}

function isWaking({ kind, stage }: ServerEvent): boolean {
  return kind === 'stage' && wakingStages.has(stage);
}

/** Whether both turns are named, and not alike. */
function differ(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && one !== other;
}

function words(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? 'no reason given' : JSON.stringify(value);
}
