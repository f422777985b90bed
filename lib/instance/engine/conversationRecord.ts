import type { ConversationLog } from '../log/conversationLog.ts';
import { Redactor } from '../log/redactor.ts';
import type { AgentConfiguration, ConversationRow, Usage } from '../store/rows.ts';
import { update } from '../store/store.ts';
import type { Write } from '../store/store.ts';
import { rowTime } from '../time.ts';
import type { EngineContext } from './context.ts';
import { variablesOf } from './variables.ts';
import type { Variables } from './variables.ts';

/** A conversation's row as it is, or is being written, and its log. */
export class ConversationRecord {
  readonly context: EngineContext;
  readonly log: ConversationLog;
  /** Every value that was ever registered: a running process keeps the ones that it started with. */
  readonly #secrets = new Set<string>();
  #row: ConversationRow;

  constructor(context: EngineContext, row: ConversationRow, log: ConversationLog) {
    this.context = context;
    this.log = log;
    this.#row = row;
  }

  get row(): ConversationRow {
    return this.#row;
  }

  /** Returns the write of new values, which hold from now on. */
  change(columns: Partial<ConversationRow>): Write {
    const set = { ...columns, updated_at: rowTime() };
    this.#row = { ...this.#row, ...set };
    this.context.onChange(this.#row.account_id);
    return update('conversations', this.#row.id, set);
  }

  /** Returns the tokens of all turns, with those of one more. */
  usageWith(usage: Usage | null | undefined): Partial<ConversationRow> {
    const { usage_input: input, usage_output: output } = this.#row;
    return usage ? { usage_input: input + usage.input, usage_output: output + usage.output } : {};
  }

  /** Returns the write of the time at which somebody read it, which is no change of the conversation. */
  read(time: string): Write {
    this.#row = { ...this.#row, last_read_at: time };
    return update('conversations', this.#row.id, { last_read_at: time });
  }

  /** Commits writes as one transaction; resolves when the events among them are published. */
  async commit(writes: readonly Write[]): Promise<void> {
    await this.log.commit(writes);
  }

  /** Commits writes that nobody waits for. */
  send(writes: readonly Write[]): void {
    if (writes.length > 0) this.log.commit(writes).catch(this.context.onFailure);
  }

  /** Says something about the conversation in the server's own output, without its secrets. */
  report(level: 'debug' | 'warn', words: string): void {
    this.context.config.log(level, `conversation ${this.#row.id}: ${this.log.redactor.text(words)}`);
  }

  /** Returns the conversation's variables, whose values are kept out of its log from now on. */
  async variables(turnId: string | null): Promise<Variables> {
    const variables = await variablesOf(this.context.store, this.context.box, this.#row);
    this.keepOut(variables.registered, turnId);
    return variables;
  }

  /** Keeps values out of the log from now on. */
  keepOut(values: readonly string[], turnId: string | null): void {
    if (values.every((value) => this.#secrets.has(value))) return;
    for (const value of values) this.#secrets.add(value);
    this.log.redactWith(new Redactor(this.#secrets), { stage: 'turn', turnId });
  }

  /** Takes the agent's configuration as it is now; the runtime stays the conversation's. */
  async refreshAgent(): Promise<void> {
    if (this.#row.agent_id === null) return;
    const { store } = this.context;
    const agent = await store.get('agents', this.#row.agent_id);
    // The rules that a deleted agent had last were written to its conversations.
    const stored = agent === undefined ? await store.get('conversations', this.#row.id) : undefined;
    if (agent !== undefined) this.#row = { ...this.#row, agent: takenOver(agent, this.#row.agent) };
    else if (stored !== undefined) this.#row = { ...this.#row, agent: stored.agent, agent_id: null };
  }

  /**
   * Errors: rejects in words where the account may not run the runtime, as the switches are now.
   *
   * @see Fountain HTTP and SSE contract, section 10.1
   */
  checkAdmission(): void {
    const { runtime } = this.#row.agent;
    if (!this.context.runtimes.isAdmitted(runtime, this.#row.account_id)) throw new Error(`the ${runtime} runtime is not enabled for this account`);
  }

  /** Returns the writes that say that the harness's memory is lost; none where there was none. */
  forgetSession(reason: 'fresh_sandbox' | 'session_gone', turnId: string | null): Write[] {
    if (this.#row.runtime_session_id === null) return [];
    const detail = 'the agent does not remember the earlier turns; the transcript is kept';
    return [this.change({ runtime_session_id: null }), this.log.stage('session', 'done', { event: 'reset', reason, detail }, turnId)];
  }
}

function takenOver(agent: AgentConfiguration, before: AgentConfiguration): AgentConfiguration {
  const { name, system, model, environment_id, skills, mcp_servers, permission_policy } = agent;
  const command = agent.runtime === before.runtime ? agent.runtime_command : before.runtime_command;
  return { name, system, model, runtime: before.runtime, runtime_command: command, environment_id, skills, mcp_servers, permission_policy };
}
