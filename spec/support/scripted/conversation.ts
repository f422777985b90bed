import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../../lib/protocol/jsonrpc.ts';
import type { Condition } from '../condition.ts';
import type { Dialect, LoggedEvent } from './eventFrame.ts';
import type { BreakOff, Follower } from './follower.ts';
import { HeldRequest, ScriptedTurn, says, type Script, type TurnFacts } from './turn.ts';

/** What a conversation is made with. */
export interface ConversationFacts {
  readonly id?: string;
  readonly agentId?: string | null;
  readonly title?: string | null;
  readonly status?: string;
  readonly acp?: boolean;
  readonly runtime?: string;
  readonly channel?: string | null;
}

/** What all conversations of an instance share. */
export interface SharedState {
  readonly dialect: Dialect;
  readonly condition: Condition;
  /** The next event id, from one counter for the whole instance. */
  nextEventId: () => number;
}

/** An answer to a permission request, as the instance got it. */
export interface GivenAnswer {
  readonly requestId: string;
  readonly optionId: unknown;
}

/** One conversation of the scripted instance: its log, its turns, and who follows it. */
export class ScriptedConversation {
  readonly id: string;
  readonly agentId: string | null;
  readonly runtime: string;
  readonly acp: boolean;
  readonly dialect: Dialect;
  readonly condition: Condition;
  readonly events: LoggedEvent[] = [];
  readonly turns: ScriptedTurn[] = [];
  readonly followers = new Set<Follower>();
  readonly answers: GivenAnswer[] = [];
  title: string | null;
  status: string;
  channel: string | null;
  /** For this conversation's next prompts, before those of the instance. */
  readonly scripts: Script[] = [];
  readonly #held: HeldRequest[] = [];
  readonly #nextEventId: () => number;

  constructor(facts: ConversationFacts, shared: SharedState) {
    this.id = facts.id ?? randomUUID();
    this.agentId = facts.agentId ?? null;
    this.title = facts.title ?? null;
    this.status = facts.status ?? 'idle';
    this.acp = facts.acp ?? true;
    this.runtime = facts.runtime ?? 'claude';
    this.channel = facts.channel ?? null;
    this.dialect = shared.dialect;
    this.condition = shared.condition;
    this.#nextEventId = shared.nextEventId;
  }

  get runningTurn(): ScriptedTurn | undefined {
    return this.turns.findLast((turn) => turn.status === 'running');
  }

  get lastEventId(): number {
    return this.events.at(-1)?.id ?? 0;
  }

  /** Stores an event and sends it to everyone who follows; returns its id. */
  log(event: LoggedEvent): number {
    const id = this.#nextEventId();
    const stored = { ...event, id };
    this.events.push(stored);
    this.#take(stored);
    for (const follower of this.followers) follower.send(stored);
    this.condition.changed();
    return id;
  }

  /** Sends an event that is stored nowhere and has no id. */
  announce(event: LoggedEvent): void {
    for (const follower of this.followers) follower.send(event);
  }

  /** Writes bytes to everyone who follows, past the log. */
  raw(bytes: Uint8Array | string, pieceBytes?: number): void {
    for (const follower of this.followers) follower.sendBytes(bytes, pieceBytes);
  }

  stage(stage: string, state: string, metadata: JsonObject = {}): void {
    this.log({ kind: 'stage', stage, state, data: JSON.stringify(metadata) });
  }

  /** A turn that nobody here asked for: another client's, or an autonomous one. */
  foreignTurn(facts: TurnFacts = {}): ScriptedTurn {
    const turn = new ScriptedTurn(this, this.turns.length + 1, facts);
    this.turns.push(turn);
    return turn;
  }

  /** Plays a whole turn at once: what a prepared log is made of. */
  past(script: Script = says('earlier'), facts: TurnFacts = {}): ScriptedTurn {
    const turn = this.foreignTurn(facts);
    void script(turn);
    return turn;
  }

  /** Ends the streams of everyone who follows, after what is on its way. */
  drop(how: BreakOff): void {
    for (const follower of this.followers) follower.breakOff(how);
    this.followers.clear();
  }

  follow(follower: Follower): void {
    this.followers.add(follower);
    this.condition.changed();
  }

  leave(follower: Follower): void {
    this.followers.delete(follower);
    this.condition.changed();
  }

  /** Resolves when somebody follows. */
  async followed(): Promise<void> {
    await this.condition.until(() => this.followers.size > 0, () => `a client that follows conversation ${this.id}`);
  }

  /** Resolves with the n-th permission answer, counted from 1. */
  async answer(nth = 1): Promise<GivenAnswer> {
    return this.condition.until(() => this.answers[nth - 1], () => `permission answer ${nth}`);
  }

  hold(id: string, options: readonly JsonObject[]): HeldRequest {
    const held = new HeldRequest(id, options);
    this.#held.push(held);
    return held;
  }

  heldRequest(id: string): HeldRequest | undefined {
    return this.#held.findLast((held) => held.id === id);
  }

  /** Closes one request, or all that are open, as their turn would. */
  closeRequests(outcome: 'answered' | 'timeout' | 'turn_ended', only?: HeldRequest, optionId: unknown = null): void {
    for (const held of only ? [only] : this.#held) {
      if (!held.open) continue;
      held.close();
      if (this.dialect.announcesRequests) this.stage('request', 'done', { request_id: held.id, outcome, option_id: optionId });
    }
  }

  /** Keeps the status as the log tells it; what ends the conversation's turn from outside ends it here too. */
  #take({ kind, stage, state }: LoggedEvent): void {
    if (kind !== 'stage') return;
    if (stage === 'turn') this.status = state === 'started' ? 'running' : 'idle';
    const failedBefore = (stage === 'provision' || stage === 'reattach') && state === 'failed';
    if (!failedBefore && stage !== 'terminate' && stage !== 'sandbox') return;
    for (const turn of this.turns) if (turn.status === 'running' || turn.status === 'pending') turn.status = 'failed';
    const after: Record<string, string> = { terminate: 'terminated', provision: 'failed' };
    this.status = after[stage] ?? 'idle';
  }
}
