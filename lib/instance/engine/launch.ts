import { randomUUID } from 'node:crypto';
import { Redactor } from '../log/redactor.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { ConversationRow } from '../store/rows.ts';
import { insert, update } from '../store/store.ts';
import type { Write } from '../store/store.ts';
import { rowTime } from '../time.ts';
import type { Conversation } from './conversation.ts';
import type { EngineContext } from './context.ts';
import { attachable, checkEnvironment, checkParent, checkProvider, checkQuota, checkVault, findAgent, launchPolicy, startedHome } from './launchChecks.ts';
import { configurationOf } from './launchRequest.ts';
import type { Launched, Launcher, LaunchRequest, Resolved } from './launchRequest.ts';
import type { Submission } from './prompt.ts';
import type { Sandboxes } from './sandboxes.ts';
import { explicitTitle } from './title.ts';
import type { Titled } from './title.ts';
import { effectiveEnvironmentId } from './variables.ts';
import type { WakePlan } from './wake.ts';

/** What a launch asks of its engine. */
export interface LaunchHost {
  readonly context: EngineContext;
  readonly sandboxes: Sandboxes;
  conversation(id: string): Promise<Conversation | undefined>;
}

/** What a new conversation's row has from its launch, once everything is checked. */
type Terms = Pick<ConversationRow, 'permission_policy'> & Titled;

/**
 * Opens conversations.
 *
 * @see Fountain HTTP and SSE contract, section 3
 */
export class Launches {
  readonly #host: LaunchHost;
  /** The end of the last launch of each channel and each account. */
  readonly #queues = new Map<string, Promise<unknown>>();

  constructor(host: LaunchHost) {
    this.#host = host;
  }

  /**
   * Opens a conversation, or resumes the one that its channel is bound to.
   *
   * Errors: Refusal, in the contract's order; nothing is left of the launch then.
   */
  async launch(launcher: Launcher, request: LaunchRequest): Promise<Launched> {
    const { store, runtimes } = this.#host.context;
    const agent = await findAgent(store, launcher, request.agentId);
    if (!runtimes.isAdmitted(agent.runtime, launcher.accountId)) throw new Refusal(400, `the ${agent.runtime} runtime is not enabled for this account`);
    const resolved = { launcher, request, agent };
    await checkVault(store, resolved);
    await checkEnvironment(store, resolved);
    if (request.channelId === null) return this.#create(resolved, []);
    const channel = JSON.stringify(['channel', launcher.accountId, agent.id, request.vaultId, request.environmentId, request.channelId]);
    return this.#serialised(channel, () => this.#onChannel(resolved));
  }

  async #onChannel(resolved: Resolved): Promise<Launched> {
    const bound = await this.#boundTo(resolved);
    const [latest] = bound;
    return latest !== undefined && !resolved.request.fresh ? { id: latest.id, resumed: true } : this.#create(resolved, bound);
  }

  /** Returns the live conversations of a channel, latest first. */
  async #boundTo({ launcher, request, agent }: Resolved): Promise<readonly ConversationRow[]> {
    const key = { account_id: launcher.accountId, agent_id: agent.id, vault_id: request.vaultId, environment_id: request.environmentId, channel_id: request.channelId };
    const rows = await this.#host.context.store.find('conversations', { ...key, status: ['pending', 'running', 'idle'] }, { order: 'newest' });
    const live: ConversationRow[] = [];
    for (const row of rows) {
      const sandbox = row.sandbox_id === null ? undefined : await this.#host.sandboxes.load(row.sandbox_id);
      if (sandbox !== undefined && !['terminated', 'failed'].includes(sandbox.row.status)) live.push(row);
    }
    return live;
  }

  async #create(resolved: Resolved, unbound: readonly ConversationRow[]): Promise<Launched> {
    const terms = { permission_policy: launchPolicy(resolved), ...titleOf(resolved.request) };
    await checkParent(this.#host.context.store, resolved);
    // Launches that race for a persistent machine, or for the last place of the quota, see each other's.
    return this.#serialised(JSON.stringify(['account', resolved.launcher.accountId]), () => this.#open(resolved, terms, unbound));
  }

  async #open(resolved: Resolved, terms: Terms, unbound: readonly ConversationRow[]): Promise<Launched> {
    const { submission } = resolved.request;
    const plan = await this.#plan(resolved);
    const row = conversationRow(resolved, terms, plan);
    // A binding is taken from the old conversation only together with its successor.
    const unbinding = unbound.map((other) => update('conversations', other.id, { channel_id: null }));
    await this.#host.context.log.commit([...unbinding, ...plan.writes, insert('conversations', row)]);
    for (const other of unbound) await (await this.#host.conversation(other.id))?.set({ channel_id: null });
    this.#host.context.onChange(row.account_id);
    const conversation = await this.#host.conversation(row.id);
    if (conversation === undefined) throw notFound();
    if (plan.kind === 'provision') await conversation.begin(plan, submission);
    else if (submission !== null) await promptOrWithdraw(conversation, submission);
    return { id: row.id, resumed: false };
  }

  async #plan(resolved: Resolved): Promise<WakePlan> {
    const { request, launcher, agent } = resolved;
    const { context, sandboxes } = this.#host;
    if (request.sandboxId !== null) return { kind: 'reattach', sandbox: attachable(await sandboxes.load(request.sandboxId), resolved), writes: [] };
    const mode = request.sandboxMode ?? agent.sandbox_mode;
    const environmentId = effectiveEnvironmentId({ environment_id: request.environmentId, agent });
    const sandboxPlan = { accountId: launcher.accountId, mode, agentId: agent.id, vaultId: request.vaultId, runtime: agent.runtime, environmentId };
    const home = mode === 'persistent' ? await sandboxes.home(sandboxPlan) : undefined;
    if (home !== undefined) return { kind: 'reattach', sandbox: startedHome(home), writes: [] };
    checkProvider(agent);
    await checkQuota(context.store, launcher.accountId, context.config.sandboxQuota);
    const sandbox = sandboxes.plan(sandboxPlan);
    const writes: Write[] = [insert('sandboxes', sandbox.row)];
    return { kind: 'provision', sandbox, writes };
  }

  /** Runs launches of one key one after the other. */
  #serialised<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#queues.get(key) ?? Promise.resolve()).then(work, work);
    const settled = result.then(() => undefined, () => undefined);
    this.#queues.set(key, settled);
    void settled.then(() => {
      if (this.#queues.get(key) === settled) this.#queues.delete(key);
    });
    return result;
  }
}

/** A conversation whose prompt is refused on a machine that was there is taken back. */
async function promptOrWithdraw(conversation: Conversation, submission: Submission): Promise<void> {
  try {
    await conversation.prompt(submission);
  } catch (error) {
    await conversation.withdraw();
    throw error;
  }
}

function titleOf({ title }: LaunchRequest): Titled {
  return title === undefined || title === null ? { title: null, title_source: null } : explicitTitle(title, new Redactor([]));
}

function conversationRow({ launcher, request, agent }: Resolved, terms: Terms, plan: WakePlan): ConversationRow {
  const now = rowTime();
  return {
    id: randomUUID(), account_id: launcher.accountId, agent_id: agent.id, agent: configurationOf(agent), vault_id: request.vaultId,
    environment_id: request.environmentId, ...terms, status: plan.kind === 'provision' ? 'pending' : 'idle', sandbox_id: plan.sandbox.row.id,
    runtime_session_id: null, first_prompt: null, turn_count: 0, source: request.parentId === null ? 'api' : 'agent',
    parent_conversation_id: request.parentId, channel_id: request.channelId, labels: request.labels, sandbox_api_access: request.sandboxApiAccess,
    usage_input: 0, usage_output: 0, output_bytes: 0, last_output_at: null, last_read_at: null, inserted_at: now, updated_at: now,
  };
}
