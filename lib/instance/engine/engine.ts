import type { JsonObject } from '../../protocol/jsonrpc.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { ConversationRow } from '../store/rows.ts';
import { insert, remove } from '../store/store.ts';
import type { EngineContext } from './context.ts';
import { Conversation } from './conversation.ts';
import type { ConversationHost } from './conversation.ts';
import { Launches } from './launch.ts';
import type { Launched, Launcher, LaunchRequest } from './launchRequest.ts';
import { recover } from './recovery.ts';
import type { Sandbox } from './sandbox.ts';
import { Sandboxes } from './sandboxes.ts';
import { effectiveEnvironmentId } from './variables.ts';
import type { WakePlan } from './wake.ts';

/**
 * Everything that goes on beyond answering requests: conversations, their machines and their agents.
 */
export class Engine {
  readonly sandboxes: Sandboxes;
  readonly #context: EngineContext;
  readonly #launches: Launches;
  readonly #host: ConversationHost;
  readonly #conversations = new Map<string, Conversation>();

  constructor(context: EngineContext) {
    this.#context = context;
    this.sandboxes = new Sandboxes(context);
    this.#launches = new Launches({ context, sandboxes: this.sandboxes, conversation: (id) => this.conversation(id) });
    this.#host = {
      context,
      sandboxes: this.sandboxes,
      wakePlan: (row) => this.#wakePlan(row),
      forget: (conversation) => void this.#conversations.delete(conversation.id),
    };
  }

  /** Puts in order what an earlier run left, and begins to look after sandboxes. */
  async start(): Promise<void> {
    for (const row of await recover(this.#context)) await this.#provisionAgain(row);
    this.sandboxes.start();
  }

  /** Ends all turns and processes; conversations go on when the server starts again. */
  async close(): Promise<void> {
    this.sandboxes.stop();
    await Promise.all([...this.#conversations.values()].map((conversation) => conversation.close()));
    await this.#context.log.settled();
  }

  /** Whether any turn runs or any machine is being made. */
  get isBusy(): boolean {
    return [...this.#conversations.values()].some((conversation) => conversation.isBusy);
  }

  /** Opens a conversation. Errors: Refusal. */
  launch(launcher: Launcher, request: LaunchRequest): Promise<Launched> {
    return this.#launches.launch(launcher, request);
  }

  /** Returns a conversation in this process; undefined where there is none. */
  async conversation(id: string): Promise<Conversation | undefined> {
    const known = this.#conversations.get(id);
    if (known !== undefined) return known;
    const row = await this.#context.store.get('conversations', id);
    if (row === undefined) return undefined;
    const sandbox = row.sandbox_id === null ? undefined : await this.sandboxes.load(row.sandbox_id);
    // Another call may have been faster while this one waited.
    const conversation = this.#conversations.get(id) ?? new Conversation(this.#host, row, sandbox ?? null);
    // One that is over has nothing going on that two objects could disagree about.
    if (!conversation.isOver) this.#conversations.set(id, conversation);
    return conversation;
  }

  /** Returns the permission requests of a conversation that wait for an answer. */
  pendingRequests(id: string): readonly JsonObject[] {
    return this.#conversations.get(id)?.pendingRequests ?? [];
  }

  /** Ends a conversation and removes its row, turns and events. */
  async remove(id: string): Promise<void> {
    await (await this.conversation(id))?.terminate();
    this.#conversations.delete(id);
    await this.#context.log.commit([remove('conversations', { id })]);
  }

  /**
   * Takes a persistent machine down; its conversations get a new one with their next prompt.
   *
   * Errors: Refusal.
   *
   * @see Fountain HTTP and SSE contract, section 9.2
   */
  async resetSandbox(id: string, accountId: string): Promise<void> {
    const sandbox = await this.sandboxes.load(id);
    if (sandbox?.row.account_id !== accountId) throw notFound();
    const { mode, status } = sandbox.row;
    if (mode !== 'persistent') throw new Refusal(422, 'sandbox_not_resettable', { fields: { reason: 'ephemeral' } });
    if (status !== 'ready' && status !== 'suspended') throw new Refusal(422, 'sandbox_not_resettable', { fields: { reason: status } });
    if (sandbox.isMidTurn) throw new Refusal(409, 'sandbox_mid_turn', { message: 'a turn is running on this sandbox' });
    const rows = await this.#context.store.find('conversations', { sandbox_id: id, status: ['idle', 'running'] });
    for (const row of rows) await this.conversation(row.id);
    await this.sandboxes.take(sandbox, { event: 'reset', reason: 'requested', by: 'user', message: 'the machine was reset; the next prompt gets a new one' });
  }

  async #provisionAgain(row: ConversationRow): Promise<void> {
    const conversation = await this.conversation(row.id);
    const sandbox = row.sandbox_id === null ? undefined : await this.sandboxes.load(row.sandbox_id);
    if (conversation !== undefined && sandbox !== undefined) await conversation.begin({ kind: 'provision', sandbox, writes: [] }, null);
  }

  /** Contract, section 6.5. */
  async #wakePlan(row: ConversationRow): Promise<WakePlan> {
    const current = row.sandbox_id === null ? undefined : await this.sandboxes.load(row.sandbox_id);
    const plan = current === undefined ? undefined : reattachPlan(current);
    if (plan !== undefined) return plan;
    const agent = row.agent_id === null ? undefined : await this.#context.store.get('agents', row.agent_id);
    if (agent === undefined) throw new Refusal(422, 'no_agent', { message: 'the agent of this conversation was deleted; a new sandbox cannot be made for it' });
    const sandboxPlan = {
      accountId: row.account_id, mode: current?.row.mode ?? 'ephemeral', agentId: agent.id, environmentId: effectiveEnvironmentId(row),
      vaultId: row.vault_id, runtime: row.agent.runtime,
    };
    const home = sandboxPlan.mode === 'persistent' ? await this.sandboxes.home(sandboxPlan) : undefined;
    const homePlan = home === undefined ? undefined : reattachPlan(home);
    if (homePlan !== undefined) return homePlan;
    const sandbox = this.sandboxes.plan(sandboxPlan);
    return { kind: 'provision', sandbox, writes: [insert('sandboxes', sandbox.row)] };
  }
}

function reattachPlan(sandbox: Sandbox): WakePlan | undefined {
  const { status } = sandbox.row;
  if (status === 'ready' || status === 'suspended') return { kind: 'reattach', sandbox, writes: [] };
  if (status === 'terminated' || status === 'failed') return undefined;
  throw new Refusal(503, 'provisioning', { message: 'the sandbox is still starting', retryAfter: 30 });
}
