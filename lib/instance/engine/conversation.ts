import type { JsonObject } from '../../protocol/jsonrpc.ts';
import { ConversationLog } from '../log/conversationLog.ts';
import { Redactor } from '../log/redactor.ts';
import type { ConversationRow } from '../store/rows.ts';
import { remove } from '../store/store.ts';
import type { Write } from '../store/store.ts';
import type { EngineContext } from './context.ts';
import { ConversationRecord } from './conversationRecord.ts';
import { atCapacity, nothingToStop, over, parked, preparing, promptRefusal, ready } from './conversationState.ts';
import type { Cause, Preparing, State } from './conversationState.ts';
import { HarnessHost } from './harnessHost.ts';
import type { ModelEvent } from './harnessHost.ts';
import { harnessOutput } from './harnessOutput.ts';
import { failedFor, interrupted, OpenTurn } from './openTurn.ts';
import type { TurnEnding } from './openTurn.ts';
import { PermissionRequests } from './permissionRequests.ts';
import type { Submission } from './prompt.ts';
import type { Sandbox, SandboxEnd, SandboxMember } from './sandbox.ts';
import type { Sandboxes } from './sandboxes.ts';
import { runTurn } from './turnRun.ts';
import { acceptedWrites, endWrites, heldEndWrites, startWrites } from './turnWrites.ts';
import { wake } from './wake.ts';
import type { WakePlan } from './wake.ts';

/** What a conversation asks of its engine. */
export interface ConversationHost {
  readonly context: EngineContext;
  readonly sandboxes: Sandboxes;
  /** Decides how a conversation wakes; rejects with the Refusal of the prompt that would wake it. */
  wakePlan(row: ConversationRow): Promise<WakePlan>;
  /** Removes a conversation that is over from this process. */
  forget(conversation: Conversation): void;
}

/**
 * One conversation in this process: one turn at a time, its events, its harness, its place on a machine.
 *
 * Whatever changes its state does so before it waits for anything; callers that race see the state of the first.
 *
 * @see Fountain HTTP and SSE contract, section 6
 */
export class Conversation implements SandboxMember {
  readonly #host: ConversationHost;
  readonly #record: ConversationRecord;
  readonly #requests: PermissionRequests;
  readonly #harness: HarnessHost;
  #sandbox: Sandbox | null = null;
  #state: State = parked;
  #preparation: Promise<void> = Promise.resolve();
  #refusedModel: ModelEvent | null = null;

  constructor(host: ConversationHost, row: ConversationRow, sandbox: Sandbox | null) {
    const { config, log, onFailure } = host.context;
    const options = { conversationId: row.id, log, outputBytes: row.output_bytes, outputLimit: config.outputLimitBytes, onFailure };
    this.#host = host;
    this.#record = new ConversationRecord(host.context, row, new ConversationLog(options, new Redactor([])));
    this.#requests = new PermissionRequests(this.#record.log, config.permissionTimeoutSeconds * 1000, onFailure);
    const listening = {
      turn: () => (this.#currentTurn()?.hasEnded === false ? this.#currentTurn() : null),
      isOpen: () => this.#state.name === 'turn' || this.#state.name === 'ready',
      onModel: (event: ModelEvent) => (this.#refusedModel = event.state === 'failed' ? event : null),
    };
    this.#harness = new HarnessHost(host.context, harnessOutput(this.#record, this.#requests, listening));
    if (row.status === 'failed' || row.status === 'terminated') this.#state = over;
    else if (sandbox !== null) this.#join(sandbox);
    if (this.#state === parked && sandbox?.row.status === 'ready') this.#state = ready;
  }

  get id(): string {
    return this.#record.row.id;
  }

  get runtime(): string {
    return this.#record.row.agent.runtime;
  }

  get isMidTurn(): boolean {
    return this.#state.name === 'turn';
  }

  /** Whether it has ended for good. */
  get isOver(): boolean {
    return this.#state.name === 'over';
  }

  /** Whether anything is going on that an end of the server would cut short. */
  get isBusy(): boolean {
    return this.#state.name === 'turn' || this.#state.name === 'preparing';
  }

  /** Its permission requests that wait for an answer. */
  get pendingRequests(): readonly JsonObject[] {
    return this.#requests.pending;
  }

  /** Makes the machine of a conversation that was just stored, with the prompt that came along. */
  async begin(plan: WakePlan, submission: Submission | null): Promise<void> {
    const held = submission === null ? null : new OpenTurn(this.#record.row, submission, 'pending');
    const state = preparing(held);
    this.#state = state;
    if (held !== null) await this.#record.commit(acceptedWrites(this.#record, held));
    this.#preparation = this.#prepare(state, plan).catch(this.#host.context.onFailure);
  }

  /**
   * Starts a turn, or accepts the one prompt that waits for the machine.
   *
   * Errors: Refusal, and then nothing was accepted.
   *
   * @see Fountain HTTP and SSE contract, section 4.5
   */
  async prompt(submission: Submission): Promise<void> {
    const state = this.#state;
    const refusal = promptRefusal(state);
    if (refusal !== null) throw refusal;
    if (state.name === 'parked') await this.#wake(submission);
    else if (state.name === 'preparing') await this.#hold(state, submission);
    else if (this.#sandbox?.isTakenFor(this) === true) throw atCapacity();
    else await this.#startTurn(new OpenTurn(this.#record.row, submission, 'running'));
  }

  /**
   * Ends the running turn as interrupted; resolves once that is published.
   *
   * Errors: Refusal 409 where there is nothing to stop.
   *
   * @see Fountain HTTP and SSE contract, section 4.6
   */
  async interrupt(): Promise<void> {
    const state = this.#state;
    if (state.name === 'preparing' && state.held !== null) {
      const { held } = state;
      state.held = null;
      state.claimed = false;
      await this.#endHeld(held, interrupted, []);
    } else if (state.name === 'turn') await this.#interruptTurn(state.turn);
    else throw nothingToStop(this.#harness.isRunning);
  }

  /**
   * Ends the conversation; nothing of its processes is left, and nothing of its machine where that was its own.
   *
   * @see Fountain HTTP and SSE contract, section 4.6
   */
  async terminate(): Promise<void> {
    const sandbox = this.#sandbox;
    const isReleased = sandbox !== null && (sandbox.row.mode === 'persistent' || (await this.#host.sandboxes.isShared(sandbox, this.id)));
    if (this.#state.name !== 'over') {
      const isDestroyed = sandbox !== null && !isReleased && !['terminated', 'failed'].includes(sandbox.row.status);
      const event = this.#record.log.stage('terminate', 'done', isReleased ? { event: 'released' } : {});
      await this.#endBy(interrupted, { writes: [...(isDestroyed ? [sandbox.change('terminated')] : []), event], state: over, status: 'terminated' });
    }
    await Promise.all([this.#harness.stop(), this.#preparation]);
    this.#sandbox?.members.delete(this);
    await this.#host.context.keys.revokeOf(this.id);
    if (sandbox !== null && !isReleased) await this.#host.sandboxes.clear(sandbox);
    this.#host.forget(this);
  }

  /** Takes back a conversation whose first prompt was refused, as if it had never been there. */
  async withdraw(): Promise<void> {
    this.#state = over;
    this.#sandbox?.members.delete(this);
    this.#host.forget(this);
    await this.#record.commit([remove('conversations', { id: this.id })]);
  }

  /** Ends the turn and the processes, since the server stops. The conversation goes on when it starts again. */
  async close(): Promise<void> {
    const state = this.#state;
    if (state.name === 'preparing') state.abort.abort(new Error('the server was stopped'));
    if (state.name === 'turn') await this.#endTurn(state.turn, failedFor('the server was stopped while the turn was running'));
    this.#state = over;
    await Promise.all([this.#harness.stop(), this.#preparation]);
  }

  async loseSandbox(end: SandboxEnd, change: Write): Promise<void> {
    if (this.#state.name === 'over') return;
    const event = this.#record.log.stage('sandbox', 'done', { ...end });
    await this.#endBy(failedFor(end.message), { writes: [change, event], state: parked, status: 'idle' });
    await this.#harness.stop();
  }

  /** Answers a held permission request. Errors: as {@link PermissionRequests.answer}. */
  answer(requestId: string, optionId: string): Promise<void> {
    return this.#requests.answer(requestId, optionId);
  }

  /** Writes columns that a person set. */
  async set(columns: Partial<Pick<ConversationRow, 'title' | 'title_source' | 'labels' | 'channel_id'>>): Promise<void> {
    await this.#record.commit([this.#record.change(columns)]);
  }

  /** Takes note that somebody has read it. */
  async markRead(time: string): Promise<void> {
    await this.#record.commit([this.#record.read(time)]);
  }

  /** Returns the redaction of the values that must not be shown in this conversation. */
  async redactor(): Promise<Redactor> {
    await this.#record.variables(null);
    return this.#record.log.redactor;
  }

  #join(sandbox: Sandbox): void {
    this.#sandbox?.members.delete(this);
    this.#sandbox = sandbox;
    sandbox.members.add(this);
  }

  async #wake(submission: Submission): Promise<void> {
    const state = preparing(null, true);
    this.#state = state;
    try {
      const plan = await this.#host.wakePlan(this.#record.row);
      state.held = new OpenTurn(this.#record.row, submission, 'pending');
      const moved = plan.sandbox === this.#sandbox ? [] : [this.#record.change({ sandbox_id: plan.sandbox.row.id })];
      await this.#record.commit([...plan.writes, ...moved, ...acceptedWrites(this.#record, state.held)]);
      this.#preparation = this.#prepare(state, plan).catch(this.#host.context.onFailure);
    } catch (error) {
      if (this.#isAt(state)) this.#state = parked;
      throw error;
    }
  }

  async #hold(state: Preparing, submission: Submission): Promise<void> {
    state.claimed = true;
    state.held = new OpenTurn(this.#record.row, submission, 'pending');
    await this.#record.commit(acceptedWrites(this.#record, state.held));
  }

  async #prepare(state: Preparing, plan: WakePlan): Promise<void> {
    if (!this.#isAt(state)) return;
    this.#join(plan.sandbox);
    const outcome = await wake(plan, { record: this.#record, abort: state.abort, isWanted: () => this.#isAt(state) });
    if (outcome.kind === 'unwanted' || !this.#isAt(state)) return;
    if (outcome.kind === 'ready') await this.#prepared(state, plan.sandbox);
    else if (plan.kind === 'reattach') await this.#endBy(failedFor(outcome.reason), { writes: outcome.writes, state: parked, status: 'idle' });
    else {
      await this.#endBy(failedFor(`the sandbox never started: ${outcome.reason}`), { writes: outcome.writes, state: over, status: 'failed' });
      await this.#host.sandboxes.clear(plan.sandbox);
      this.#record.report('warn', `the sandbox never started: ${outcome.reason}`);
      this.#host.forget(this);
    }
  }

  async #prepared({ held }: Preparing, sandbox: Sandbox): Promise<void> {
    if (held === null) this.#state = ready;
    else if (!sandbox.isTakenFor(this)) await this.#startTurn(held);
    else {
      this.#state = ready;
      const message = 'another conversation is running a turn on this sandbox; send the prompt again';
      await this.#endHeld(held, failedFor(message), [this.#record.log.stage('sandbox', 'done', { event: 'at_capacity', reason: 'sandbox_at_capacity', message })]);
    }
  }

  async #startTurn(turn: OpenTurn): Promise<void> {
    this.#state = { name: 'turn', turn };
    this.#sandbox?.touch();
    try {
      await this.#record.commit(startWrites(this.#record, turn));
    } catch (error) {
      // Nothing of the turn was stored; the conversation must not be busy with it for ever.
      turn.hasEnded = true;
      turn.finish();
      if (this.#currentTurn() === turn) this.#state = ready;
      throw error;
    }
    void this.#run(turn).catch(this.#host.context.onFailure);
  }

  async #run(turn: OpenTurn): Promise<void> {
    const sandbox = this.#sandbox;
    if (turn.hasEnded || sandbox === null) return;
    const refusedModel = (): ModelEvent | null => {
      const refused = this.#refusedModel;
      this.#refusedModel = null;
      return refused;
    };
    await this.#endTurn(turn, await runTurn(turn, { record: this.#record, harness: this.#harness, sandbox, refusedModel }));
  }

  async #interruptTurn(turn: OpenTurn): Promise<void> {
    if (!turn.isInterrupting) {
      turn.isInterrupting = true;
      this.#record.send(this.#requests.endAll());
      this.#harness.cancel();
      const grace = setTimeout(() => void this.#harness.stop(), this.#host.context.config.interruptGraceSeconds * 1000);
      void turn.finished.then(() => clearTimeout(grace));
    }
    await turn.finished;
  }

  /** Publishes the terminal event of a turn; the only place that does for one that was started. */
  #endTurn(turn: OpenTurn, ending: TurnEnding, cause: Cause = { writes: [], state: ready, status: 'idle' }): Promise<void> {
    if (turn.hasEnded) return turn.finished;
    turn.hasEnded = true;
    const writes = endWrites(this.#record, this.#requests, turn, ending, cause.writes, cause.status);
    this.#state = cause.state;
    this.#sandbox?.touch();
    if (typeof ending.metadata['reason'] === 'string') this.#record.report('debug', `a turn failed: ${ending.metadata['reason']}`);
    return this.#record.commit(writes).finally(turn.finish);
  }

  /** Publishes the end of an accepted prompt that never ran. */
  async #endHeld(turn: OpenTurn, ending: TurnEnding, causes: readonly Write[]): Promise<void> {
    await this.#record.commit(heldEndWrites(this.#record, turn, ending, causes));
    turn.finish();
  }

  /** Ends whatever goes on, for a cause from outside. */
  async #endBy(ending: TurnEnding, cause: Cause): Promise<void> {
    const state = this.#state;
    if (state.name === 'turn') return this.#endTurn(state.turn, ending, cause);
    this.#state = cause.state;
    const writes = [...this.#record.log.drain({ stage: 'turn', turnId: null }), this.#record.change({ status: cause.status }), ...cause.writes];
    if (state.name === 'preparing') state.abort.abort(new Error('nobody waits for the sandbox any more'));
    if (state.name === 'preparing' && state.held !== null) await this.#endHeld(state.held, ending, writes);
    else await this.#record.commit(writes);
  }

  #currentTurn(): OpenTurn | null {
    return this.#state.name === 'turn' ? this.#state.turn : null;
  }

  /** Whether nothing happened since; the state changes while something is awaited. */
  #isAt(state: State): boolean {
    return this.#state === state;
  }
}
