import os from 'node:os';
import { isJsonObject } from '../../protocol/jsonrpc.ts';
import type { JsonObject } from '../../protocol/jsonrpc.ts';
import { ConversationLog } from '../log/conversationLog.ts';
import { Redactor } from '../log/redactor.ts';
import { Refusal } from '../refusal.ts';
import type { AgentConfiguration, ConversationRow, ConversationStatus } from '../store/rows.ts';
import { remove, update } from '../store/store.ts';
import type { Write } from '../store/store.ts';
import { rowTime } from '../time.ts';
import type { EngineContext } from './context.ts';
import { wordsOf } from './context.ts';
import { HarnessHost } from './harnessHost.ts';
import type { ModelEvent } from './harnessHost.ts';
import { endingOf, failedFor, interrupted, OpenTurn } from './openTurn.ts';
import type { TurnEnding } from './openTurn.ts';
import { verdictFor } from './permissionPolicy.ts';
import { automaticAnswer, optionsOf, PermissionRequests } from './permissionRequests.ts';
import type { PermissionAnswer } from './permissionRequests.ts';
import type { Submission } from './prompt.ts';
import { provision } from './provision.ts';
import type { Sandbox, SandboxEnd, SandboxMember } from './sandbox.ts';
import { hasSandboxFolder } from './sandboxFolder.ts';
import type { Sandboxes } from './sandboxes.ts';
import { harnessTitle } from './title.ts';
import type { Titled } from './title.ts';
import { environmentOf, variablesOf } from './variables.ts';

/**
 * Where a conversation stands in this process:
 * parked (no process; the next prompt wakes it), preparing (its machine is made or resumed, and one prompt may wait for
 * that), ready (the next prompt runs at once), in a turn, or over.
 */
type State =
  | { readonly name: 'parked' }
  | { readonly name: 'preparing'; readonly abort: AbortController; held: OpenTurn | null; claimed: boolean }
  | { readonly name: 'ready' }
  | { readonly name: 'turn'; readonly turn: OpenTurn }
  | { readonly name: 'over' };

/** How a conversation gets its machine: made anew, or taken up again. */
export interface WakePlan {
  readonly kind: 'provision' | 'reattach';
  readonly sandbox: Sandbox;
  /** Writes that make the plan true, such as the row of a new machine. */
  readonly writes: readonly Write[];
}

/** What a conversation asks of its engine. */
export interface ConversationHost {
  readonly context: EngineContext;
  readonly sandboxes: Sandboxes;
  /** Decides how a conversation wakes; rejects with the Refusal of the prompt that would wake it. */
  wakePlan(row: ConversationRow): Promise<WakePlan>;
  /** Removes a conversation that is over from this process. */
  forget(conversation: Conversation): void;
}

const parked: State = { name: 'parked' };
const ready: State = { name: 'ready' };
const over: State = { name: 'over' };

/** Updates that tell about the session and not about work; they open no turn. */
const metadataUpdates = new Set(['session_info_update', 'available_commands_update', 'current_mode_update', 'config_option_update', 'usage_update']);

/** A turn ends from outside: the event that says why, and what becomes of the conversation. */
interface Cause {
  readonly writes: readonly Write[];
  readonly state: State;
  readonly status: ConversationStatus;
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
  readonly #log: ConversationLog;
  readonly #requests: PermissionRequests;
  readonly #harness: HarnessHost;
  #row: ConversationRow;
  #sandbox: Sandbox | null = null;
  #state: State = parked;
  #preparation: Promise<void> = Promise.resolve();
  #refusedModel: ModelEvent | null = null;

  constructor(host: ConversationHost, row: ConversationRow, sandbox: Sandbox | null) {
    const { config, log, onFailure } = host.context;
    this.#host = host;
    this.#row = row;
    const options = { conversationId: row.id, log, outputBytes: row.output_bytes, outputLimit: config.outputLimitBytes, onFailure };
    this.#log = new ConversationLog(options, new Redactor([]));
    this.#requests = new PermissionRequests(this.#log, config.permissionTimeoutSeconds * 1000, onFailure);
    this.#harness = new HarnessHost(host.context, {
      onMessage: (line) => this.#onMessage(line),
      onPermission: ({ harnessId, raw }, signal) => this.#onPermission(harnessId, raw, signal),
      onStdout: (text) => this.#onOutput('stdout', text),
      onStderr: (text) => this.#onOutput('stderr', text),
      onModel: (event) => this.#onModel(event),
      onVariables: (registered) => this.#register(registered),
    });
    if (row.status === 'failed' || row.status === 'terminated') this.#state = over;
    else if (sandbox !== null) this.#join(sandbox);
  }

  get id(): string {
    return this.#row.id;
  }

  get runtime(): string {
    return this.#row.agent.runtime;
  }

  get isMidTurn(): boolean {
    return this.#state.name === 'turn';
  }

  /** Whether anything is going on that its end would cut short. */
  get isBusy(): boolean {
    return this.#state.name === 'turn' || this.#state.name === 'preparing';
  }

  /** Takes a place on a machine that is there. */
  #join(sandbox: Sandbox): void {
    this.#sandbox?.members.delete(this);
    this.#sandbox = sandbox;
    sandbox.members.add(this);
    if (sandbox.row.status === 'ready') this.#state = ready;
  }

  /** Makes or takes up the machine of a conversation that was just stored, with the prompt that came along. */
  begin(plan: WakePlan, submission: Submission | null): Promise<void> {
    const held = submission === null ? null : new OpenTurn(this.#row, submission, 'pending');
    const state: State = { name: 'preparing', abort: new AbortController(), held, claimed: held !== null };
    this.#state = state;
    const committed = held === null ? Promise.resolve() : this.#commit([...held.inserts(), this.#counted(held)]);
    this.#preparation = committed.then(() => this.#prepare(state, plan)).catch(this.#host.context.onFailure);
    return committed;
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
    if (state.name === 'over') throw new Refusal(410, 'conversation_terminated', { message: 'this conversation is over; start a new one' });
    if (state.name === 'turn') throw busy();
    if (state.name === 'parked') return this.#wake(submission);
    if (state.name === 'ready') {
      if (this.#sandbox?.isTakenFor(this) === true) throw atCapacity();
      return this.#startTurn(new OpenTurn(this.#row, submission, 'running'));
    }
    if (state.claimed) throw busy();
    state.claimed = true;
    state.held = new OpenTurn(this.#row, submission, 'pending');
    await this.#commit([...state.held.inserts(), this.#counted(state.held)]);
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
      return;
    }
    if (state.name !== 'turn') {
      throw this.#harness.isRunning ? new Refusal(409, 'no_turn_running') : new Refusal(409, 'not_running', { message: 'nothing is running in this conversation' });
    }
    const { turn } = state;
    if (!turn.isInterrupting) {
      turn.isInterrupting = true;
      const denials = this.#requests.endAll();
      if (denials.length > 0) this.#commit(denials).catch(this.#host.context.onFailure);
      this.#harness.cancel();
      const grace = setTimeout(() => void this.#harness.stop(), this.#host.context.config.interruptGraceSeconds * 1000);
      void turn.finished.then(() => clearTimeout(grace));
    }
    await turn.finished;
  }

  /**
   * Ends the conversation; nothing of its processes is left, and nothing of its machine where that was its own.
   *
   * @see Fountain HTTP and SSE contract, section 4.6
   */
  async terminate(): Promise<void> {
    const sandbox = this.#sandbox;
    const released = sandbox !== null && (sandbox.row.mode === 'persistent' || (await this.#host.sandboxes.isShared(sandbox, this.id)));
    const state = this.#state;
    if (state.name !== 'over') {
      this.#state = over;
      const destroyed = sandbox === null || released || ['terminated', 'failed'].includes(sandbox.row.status) ? [] : [sandbox.change('terminated')];
      const writes = [...destroyed, this.#log.stage('terminate', 'done', released ? { event: 'released' } : {})];
      await this.#endBy(state, interrupted, { writes, state: over, status: 'terminated' });
    }
    await this.#leave();
    if (sandbox !== null && !released) await this.#host.sandboxes.clear(sandbox);
    this.#host.forget(this);
  }

  /** Takes back a conversation whose first prompt was refused, as if it had never been there. */
  async withdraw(): Promise<void> {
    this.#state = over;
    this.#sandbox?.members.delete(this);
    this.#host.forget(this);
    await this.#commit([remove('conversations', { id: this.id })]);
  }

  /** Ends the turn and the processes, since the server stops. The conversation goes on when it starts again. */
  async close(): Promise<void> {
    const state = this.#state;
    if (state.name === 'preparing') state.abort.abort(new Error('the server was stopped'));
    if (state.name === 'turn') await this.#endTurn(state.turn, failedFor('the server was stopped while the turn was running'));
    this.#state = over;
    await this.#harness.stop();
    await this.#preparation;
  }

  async loseSandbox(end: SandboxEnd, change: Write): Promise<void> {
    const state = this.#state;
    if (state.name === 'over') return;
    const { message, ...metadata } = end;
    const writes = [change, this.#log.stage('sandbox', 'done', { ...metadata, message })];
    this.#state = parked;
    await this.#endBy(state, failedFor(message), { writes, state: parked, status: 'idle' });
    await this.#harness.stop();
  }

  /** Answers a held permission request. Errors: as {@link PermissionRequests.answer}. */
  answer(requestId: string, optionId: string): Promise<void> {
    return this.#requests.answer(requestId, optionId);
  }

  /** Writes columns that a person set. */
  async set(columns: Partial<Pick<ConversationRow, 'title' | 'title_source' | 'labels' | 'channel_id'>>): Promise<void> {
    await this.#commit([this.#change(columns)]);
  }

  /** Takes note that somebody has read it; that is no change of the conversation. */
  async markRead(time: string): Promise<void> {
    this.#row = { ...this.#row, last_read_at: time };
    await this.#commit([update('conversations', this.id, { last_read_at: time })]);
  }

  /** Its permission requests that wait for an answer. */
  get pendingRequests(): readonly JsonObject[] {
    return this.#requests.pending;
  }

  /** Returns the values that must not be shown in this conversation. */
  async redactor(): Promise<Redactor> {
    const { store, box } = this.#host.context;
    if (this.#log.redactor.isEmpty) this.#register((await variablesOf(store, box, this.#row)).registered);
    return this.#log.redactor;
  }

  async #wake(submission: Submission): Promise<void> {
    const state: State = { name: 'preparing', abort: new AbortController(), held: null, claimed: true };
    this.#state = state;
    try {
      const plan = await this.#host.wakePlan(this.#row);
      const turn = new OpenTurn(this.#row, submission, 'pending');
      state.held = turn;
      const moved = plan.sandbox === this.#sandbox ? [] : [this.#change({ sandbox_id: plan.sandbox.row.id })];
      await this.#commit([...plan.writes, ...moved, ...turn.inserts(), this.#counted(turn)]);
      this.#preparation = this.#prepare(state, plan).catch(this.#host.context.onFailure);
    } catch (error) {
      if (this.#isAt(state)) this.#state = parked;
      throw error;
    }
  }

  async #prepare(state: State & { name: 'preparing' }, { kind, sandbox }: WakePlan): Promise<void> {
    if (!this.#isAt(state)) return;
    this.#sandbox?.members.delete(this);
    this.#sandbox = sandbox;
    sandbox.members.add(this);
    const isReady = await (kind === 'provision' ? this.#provision(state, sandbox) : this.#reattach(state, sandbox));
    if (!isReady || !this.#isAt(state)) return;
    const { held } = state;
    if (held === null) this.#state = ready;
    else if (sandbox.isTakenFor(this)) await this.#refuseHeld(held);
    else await this.#startTurn(held);
  }

  async #provision(state: State & { name: 'preparing' }, sandbox: Sandbox): Promise<boolean> {
    const { context } = this.#host;
    const deadline = setTimeout(() => state.abort.abort(new Error(`it took longer than ${context.config.provisionSeconds} s`)), context.config.provisionSeconds * 1000);
    try {
      await this.#commit([sandbox.change('starting'), this.#log.stage('provision', 'started')]);
      const environment = await environmentOf(context.store, this.#row);
      const variables = await variablesOf(context.store, context.box, this.#row);
      this.#register(variables.registered);
      await this.#admit();
      await provision({ context, row: this.#row, sandbox, environment, variables, log: this.#log, signal: state.abort.signal, isWanted: () => this.#isAt(state) });
      if (!this.#isAt(state)) return false;
      await this.#commit([sandbox.change('ready'), ...this.#forgetSession('fresh_sandbox'), this.#change({ status: 'idle' }), this.#log.stage('provision', 'done')]);
      return true;
    } catch (error) {
      await this.#provisionFailed(state, sandbox, wordsOf(error));
      return false;
    } finally {
      clearTimeout(deadline);
    }
  }

  async #provisionFailed(state: State & { name: 'preparing' }, sandbox: Sandbox, reason: string): Promise<void> {
    if (!this.#isAt(state)) return;
    this.#state = over;
    const writes = [sandbox.change('failed'), this.#log.stage('provision', 'failed', { reason })];
    await this.#endBy(state, failedFor(`the sandbox never started: ${reason}`), { writes, state: over, status: 'failed' });
    await this.#host.sandboxes.clear(sandbox);
  }

  async #reattach(state: State & { name: 'preparing' }, sandbox: Sandbox): Promise<boolean> {
    const node = os.hostname();
    await this.#commit([this.#log.stage('reattach', 'started', { sprite_name: sandbox.row.sprite_name, node })]);
    const isThere = await hasSandboxFolder(sandbox.folder);
    if (!this.#isAt(state)) return false;
    if (isThere) {
      const resumed = sandbox.row.status === 'ready' ? [] : [sandbox.change('ready')];
      await this.#commit([...resumed, this.#log.stage('reattach', 'done', { outcome: 'no_running_turn' })]);
      return true;
    }
    const writes = [sandbox.change('failed'), this.#log.stage('reattach', 'failed', { reason: 'not_found', retryable: false, node })];
    this.#state = parked;
    await this.#endBy(state, failedFor('the sandbox is gone'), { writes, state: parked, status: 'idle' });
    return false;
  }

  /** The machine is there, but another conversation's turn has it. */
  async #refuseHeld(held: OpenTurn): Promise<void> {
    this.#state = ready;
    const message = 'another conversation is running a turn on this sandbox; send the prompt again';
    const event = this.#log.stage('sandbox', 'done', { event: 'at_capacity', reason: 'sandbox_at_capacity', message });
    await this.#endHeld(held, failedFor(message), [event]);
  }

  async #startTurn(turn: OpenTurn): Promise<void> {
    this.#state = { name: 'turn', turn };
    this.#sandbox?.touch();
    const mode = this.#row.runtime_session_id === null ? 'run' : 'continue';
    const counted = turn.row.status === 'running' ? [this.#counted(turn)] : [];
    await this.#commit([...turn.starts(), ...counted, this.#change({ status: 'running' }), this.#log.stage('turn', 'started', turn.startMetadata(mode), turn.row.id)]);
    void this.#run(turn).catch(this.#host.context.onFailure);
  }

  async #run(turn: OpenTurn): Promise<void> {
    let ending: TurnEnding;
    try {
      const harness = await this.#openHarness(turn);
      const input = { text: turn.row.prompt, images: turn.images };
      ending = turn.isInterrupting || turn.hasEnded ? interrupted : endingOf(await harness.prompt(input));
    } catch (error) {
      ending = failedFor(wordsOf(error));
    }
    await this.#endTurn(turn, turn.isInterrupting ? interrupted : ending);
  }

  async #openHarness(turn: OpenTurn): Promise<Awaited<ReturnType<HarnessHost['ensure']>>> {
    const { store, box, isolation } = this.#host.context;
    const sandbox = this.#sandbox;
    if (sandbox === null) throw new Error('the conversation has no sandbox');
    await this.#refreshAgent();
    await this.#admit();
    turn.agentPolicy = this.#row.agent.permission_policy;
    const variables = await variablesOf(store, box, this.#row);
    const environment = await environmentOf(store, this.#row);
    const network = isolation.kind === 'none' || environment?.networking_type !== 'limited';
    if (turn.isInterrupting || turn.hasEnded) throw new Error('the turn was ended before its agent was started');
    this.#refusedModel = null;
    const harness = await this.#harness.ensure({ row: this.#row, sandbox, variables, network });
    const refused = this.#modelRefusal();
    if (refused !== null) {
      await this.#harness.stop();
      throw new Error(`the agent refused the model ${refused.requested}: ${refused.detail ?? 'it gave no reason'}`);
    }
    if (harness.runtimeSessionId !== this.#row.runtime_session_id) {
      const reset = harness.start === 'session_gone' ? this.#forgetSession('session_gone') : [];
      await this.#commit([...reset, this.#change({ runtime_session_id: harness.runtimeSessionId })]);
    }
    return harness;
  }

  #modelRefusal(): ModelEvent | null {
    return this.#refusedModel;
  }

  /** Takes the agent's configuration as it is now; the runtime stays the conversation's. */
  async #refreshAgent(): Promise<void> {
    if (this.#row.agent_id === null) return;
    const { store } = this.#host.context;
    const agent = await store.get('agents', this.#row.agent_id);
    // The rules that a deleted agent had last were written to its conversations.
    const stored = agent === undefined ? await store.get('conversations', this.id) : undefined;
    if (agent !== undefined) this.#row = { ...this.#row, agent: configurationFor(agent, this.#row.agent) };
    else if (stored !== undefined) this.#row = { ...this.#row, agent: stored.agent, agent_id: null };
  }

  async #admit(): Promise<void> {
    await Promise.resolve();
    const { runtime } = this.#row.agent;
    if (!this.#host.context.runtimes.isAdmitted(runtime, this.#row.account_id)) throw new Error(`the ${runtime} runtime is not enabled for this account`);
  }

  /**
   * Publishes the terminal event of a turn; the only place that does.
   *
   * Before it come what was held back, the end of every open request, and what ended the turn from outside.
   */
  #endTurn(turn: OpenTurn, ending: TurnEnding, cause: Cause = { writes: [], state: ready, status: 'idle' }): Promise<void> {
    if (turn.hasEnded) return turn.finished;
    turn.hasEnded = true;
    const { id } = turn.row;
    const writes = [
      ...this.#log.drain({ stage: 'turn', turnId: id }),
      ...this.#requests.endAll(),
      ...cause.writes,
      turn.ends(ending),
      this.#change({ status: cause.status }),
      this.#log.stage('turn', ending.state, { ...turn.identity, ...ending.metadata }, id),
    ];
    this.#state = cause.state;
    this.#sandbox?.touch();
    return this.#commit(writes).finally(turn.finish);
  }

  /** Publishes the end of an accepted prompt that never ran. A failure before the start has no turn number. */
  async #endHeld(turn: OpenTurn, ending: TurnEnding, before: readonly Write[]): Promise<void> {
    const { id } = turn.row;
    const failed = ending.state === 'failed';
    const started = failed ? [] : [this.#log.stage('turn', 'started', turn.startMetadata('run'), id)];
    const identity = failed ? { turn_id: id } : turn.identity;
    await this.#commit([...started, ...before, turn.ends(ending), this.#log.stage('turn', ending.state, { ...identity, ...ending.metadata }, id)]);
    turn.finish();
  }

  /** Ends whatever goes on, for a cause from outside. */
  async #endBy(state: State, ending: TurnEnding, cause: Cause): Promise<void> {
    if (state.name === 'turn') return this.#endTurn(state.turn, ending, cause);
    const writes = [...this.#log.drain({ stage: 'turn', turnId: null }), this.#change({ status: cause.status }), ...cause.writes];
    if (state.name !== 'preparing') {
      await this.#commit(writes);
      return;
    }
    state.abort.abort(new Error('the conversation is over'));
    if (state.held === null) await this.#commit(writes);
    else await this.#endHeld(state.held, ending, writes);
  }

  async #leave(): Promise<void> {
    await Promise.all([this.#harness.stop(), this.#preparation]);
    this.#sandbox?.members.delete(this);
    await this.#host.context.keys.revokeOf(this.id);
  }

  #onMessage(line: string): void {
    const update = line.includes('"session_info_update"') ? updateOf(line) : null;
    if (update?.['sessionUpdate'] === 'session_info_update') this.#retitle(update['title']);
    const turn = this.#currentTurn();
    if (turn !== null) this.#log.output('acp', line, { stage: 'turn', turnId: turn.row.id });
    else if (this.#state.name === 'ready' && !isMetadata(line)) this.#log.output('stdout', `${line}\n`, { stage: 'turn', turnId: null });
  }

  #onOutput(stream: 'stdout' | 'stderr', text: string): void {
    if (this.#state.name === 'over' || this.#state.name === 'parked') return;
    this.#log.output(stream, text, { stage: 'turn', turnId: this.#currentTurn()?.row.id ?? null });
  }

  #onPermission(harnessId: string, params: JsonObject, withdrawn: AbortSignal): Promise<PermissionAnswer> {
    const turn = this.#currentTurn();
    const call = isJsonObject(params['toolCall']) ? params['toolCall'] : {};
    const verdict = turn === null || turn.isInterrupting ? 'auto_deny' : verdictFor(turn.agentPolicy, this.#row.permission_policy, call);
    if (turn !== null && verdict === 'ask') return this.#requests.hold(turn.row.id, harnessId, params, withdrawn);
    return Promise.resolve(automaticAnswer(optionsOf(params), verdict === 'ask' ? 'auto_deny' : verdict));
  }

  #onModel(event: ModelEvent): void {
    const turn = this.#currentTurn();
    if (event.state === 'failed') this.#refusedModel = event;
    if (turn === null) return;
    const names = { requested_model: event.requested, effective_model: event.effective, turn_id: turn.row.id };
    const metadata =
      event.state === 'done'
        ? { ...names, source: 'agent', status: 'selected' }
        : { ...names, requested: event.requested, detail: event.detail, using: event.effective, status: 'refused', error: event.detail };
    this.#commit([this.#log.stage('model', event.state, metadata, turn.row.id)]).catch(this.#host.context.onFailure);
  }

  #register(registered: readonly string[]): void {
    this.#log.redactWith(new Redactor(registered), { stage: 'turn', turnId: this.#currentTurn()?.row.id ?? null });
  }

  /** A title that cannot be written leaves the turn running. */
  #retitle(title: unknown): void {
    const next: Titled | null = title === undefined ? null : harnessTitle(this.#row, title, this.#log.redactor);
    if (next !== null) this.#commit([this.#change(next)]).catch(this.#host.context.onFailure);
  }

  #forgetSession(reason: 'fresh_sandbox' | 'session_gone'): Write[] {
    if (this.#row.runtime_session_id === null) return [];
    const detail = 'the agent does not remember the earlier turns; the transcript is kept';
    return [this.#change({ runtime_session_id: null }), this.#log.stage('session', 'done', { event: 'reset', reason, detail }, this.#currentTurn()?.row.id ?? null)];
  }

  #counted(turn: OpenTurn): Write {
    return this.#change({ turn_count: turn.row.turn_number, ...(turn.row.turn_number === 1 ? { first_prompt: turn.row.prompt } : {}) });
  }

  #currentTurn(): OpenTurn | null {
    return this.#state.name === 'turn' && !this.#state.turn.hasEnded ? this.#state.turn : null;
  }

  /** Whether nothing happened since; also what a compiler cannot know: the state changes while something is awaited. */
  #isAt(state: State): boolean {
    return this.#state === state;
  }

  #change(columns: Partial<ConversationRow>): Write {
    const set = { ...columns, updated_at: rowTime() };
    this.#row = { ...this.#row, ...set };
    this.#host.context.onChange(this.#row.account_id);
    return update('conversations', this.#row.id, set);
  }

  async #commit(writes: readonly Write[]): Promise<void> {
    await this.#log.commit(writes);
  }
}

/** Returns what a conversation takes over from its agent as it is now. */
function configurationFor(agent: AgentConfiguration, before: AgentConfiguration): AgentConfiguration {
  const { name, system, model, environment_id, skills, mcp_servers, permission_policy } = agent;
  const command = agent.runtime === before.runtime ? agent.runtime_command : before.runtime_command;
  return { name, system, model, runtime: before.runtime, runtime_command: command, environment_id, skills, mcp_servers, permission_policy };
}

function busy(): Refusal {
  return new Refusal(400, 'conversation_busy', { message: 'a turn is running in this conversation; wait for its end or interrupt it' });
}

function atCapacity(): Refusal {
  return new Refusal(409, 'sandbox_at_capacity', { message: 'another conversation is running a turn on this sandbox' });
}

function isMetadata(line: string): boolean {
  const kind = updateOf(line)?.['sessionUpdate'];
  return typeof kind === 'string' && metadataUpdates.has(kind);
}

function updateOf(line: string): JsonObject | null {
  try {
    const message = JSON.parse(line) as unknown;
    const params = isJsonObject(message) ? message['params'] : null;
    const update = isJsonObject(params) ? params['update'] : null;
    return isJsonObject(update) ? update : null;
  } catch {
    return null;
  }
}
