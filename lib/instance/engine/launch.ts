import { randomUUID } from 'node:crypto';
import type { PermissionPolicy, SandboxMode } from '../../protocol/fountain.ts';
import { Redactor } from '../log/redactor.ts';
import { insufficientScope, notFound, Refusal } from '../refusal.ts';
import type { AgentConfiguration, AgentRow, ConversationRow, SandboxStatus, Scope } from '../store/rows.ts';
import { insert, update } from '../store/store.ts';
import type { Write } from '../store/store.ts';
import { rowTime } from '../time.ts';
import type { Conversation } from './conversation.ts';
import type { EngineContext } from './context.ts';
import { isPolicy, isStrict, verdicts, widenedKey } from './permissionPolicy.ts';
import type { Submission } from './prompt.ts';
import type { Sandbox } from './sandbox.ts';
import type { Sandboxes, SandboxPlan } from './sandboxes.ts';
import { explicitTitle } from './title.ts';
import { effectiveEnvironmentId } from './variables.ts';
import type { WakePlan } from './wake.ts';

/** Body of `POST /api/conversations`, checked in its types. */
export interface LaunchRequest {
  readonly agentId: string;
  readonly vaultId: string | null;
  readonly environmentId: string | null;
  readonly channelId: string | null;
  readonly fresh: boolean;
  readonly sandboxMode: SandboxMode | null;
  readonly sandboxId: string | null;
  readonly permissionPolicy: unknown;
  readonly submission: Submission | null;
  readonly sandboxApiAccess: 'owner' | 'none';
  readonly title: unknown;
  readonly labels: Readonly<Record<string, string>>;
  readonly parentId: string | null;
}

/** Who launches. */
export interface Launcher {
  readonly accountId: string;
  readonly scope: Scope;
}

/** What a launch comes to. */
export interface Launched {
  readonly id: string;
  readonly resumed: boolean;
}

/** What a launch asks of its engine. */
export interface LaunchHost {
  readonly context: EngineContext;
  readonly sandboxes: Sandboxes;
  conversation(id: string): Promise<Conversation | undefined>;
}

/** Runtimes whose agents may share a machine. */
const guestPairs = new Set(['claude+codex', 'codex+claude']);

const activeStatuses: readonly SandboxStatus[] = ['pending', 'starting', 'ready'];

/** A launch whose parts have been found and may be put together. */
interface Resolved {
  readonly launcher: Launcher;
  readonly request: LaunchRequest;
  readonly agent: AgentRow;
}

/**
 * Opens conversations.
 *
 * @see Fountain HTTP and SSE contract, section 3
 */
export class Launches {
  readonly #host: LaunchHost;
  /** The end of the last launch of each channel and each persistent machine. */
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
    const agent = await this.#agent(launcher, request.agentId);
    if (!this.#host.context.runtimes.isAdmitted(agent.runtime, launcher.accountId)) {
      throw new Refusal(400, `the ${agent.runtime} runtime is not enabled for this account`);
    }
    await this.#vault(launcher, agent, request.vaultId);
    await this.#environment(launcher, agent, request.environmentId);
    const resolved = { launcher, request, agent };
    if (request.channelId === null) return this.#create(resolved, []);
    const key = JSON.stringify([launcher.accountId, agent.id, request.vaultId, request.environmentId, request.channelId]);
    return this.#serialised(key, () => this.#onChannel(resolved));
  }

  async #onChannel(resolved: Resolved): Promise<Launched> {
    const { request } = resolved;
    const bound = await this.#boundTo(resolved);
    const [latest] = bound;
    if (latest !== undefined && !request.fresh) return { id: latest.id, resumed: true };
    return this.#create(resolved, bound);
  }

  /** Returns the live conversations of a channel, latest first. */
  async #boundTo({ launcher, request, agent }: Resolved): Promise<readonly ConversationRow[]> {
    const rows = await this.#host.context.store.find(
      'conversations',
      {
        account_id: launcher.accountId, agent_id: agent.id, vault_id: request.vaultId, environment_id: request.environmentId,
        channel_id: request.channelId, status: ['pending', 'running', 'idle'],
      },
      { order: 'newest' },
    );
    const live: ConversationRow[] = [];
    for (const row of rows) {
      const sandbox = row.sandbox_id === null ? undefined : await this.#host.sandboxes.load(row.sandbox_id);
      if (sandbox !== undefined && !['terminated', 'failed'].includes(sandbox.row.status)) live.push(row);
    }
    return live;
  }

  async #create(resolved: Resolved, unbound: readonly ConversationRow[]): Promise<Launched> {
    const { request, agent } = resolved;
    const policy = launchPolicy(request.permissionPolicy, agent);
    await this.#parent(resolved);
    const mode = request.sandboxMode ?? agent.sandbox_mode;
    if (request.sandboxId === null && mode === 'persistent') {
      const key = JSON.stringify([resolved.launcher.accountId, agent.id, request.vaultId, effectiveEnvironmentId({ environment_id: request.environmentId, agent })]);
      return this.#serialised(key, () => this.#open(resolved, policy, mode, unbound));
    }
    return this.#open(resolved, policy, mode, unbound);
  }

  async #open(resolved: Resolved, policy: PermissionPolicy, mode: SandboxMode, unbound: readonly ConversationRow[]): Promise<Launched> {
    const { request } = resolved;
    const plan = await this.#plan(resolved, mode);
    const row = conversationRow(resolved, policy, plan);
    // A binding is taken from the old conversation only together with its successor.
    const unbinding = unbound.map((other) => update('conversations', other.id, { channel_id: null }));
    const sandboxRow: Write[] = plan.kind === 'provision' ? [insert('sandboxes', plan.sandbox.row)] : [];
    await this.#host.context.log.commit([...unbinding, ...sandboxRow, insert('conversations', row)]);
    this.#host.context.onChange(row.account_id);
    for (const other of unbound) await (await this.#host.conversation(other.id))?.set({ channel_id: null });
    const conversation = await this.#host.conversation(row.id);
    if (conversation === undefined) throw notFound();
    if (plan.kind === 'provision') await conversation.begin(plan, request.submission);
    else if (request.submission !== null) await this.#firstPrompt(conversation, request.submission);
    return { id: row.id, resumed: false };
  }

  /** A conversation whose prompt is refused on a machine that was there is taken back. */
  async #firstPrompt(conversation: Conversation, submission: Submission): Promise<void> {
    try {
      await conversation.prompt(submission);
    } catch (error) {
      await conversation.withdraw();
      throw error;
    }
  }

  async #plan(resolved: Resolved, mode: SandboxMode): Promise<WakePlan> {
    const { request, launcher, agent } = resolved;
    if (request.sandboxId !== null) return { kind: 'reattach', sandbox: await this.#attachable(resolved, request.sandboxId), writes: [] };
    const sandboxPlan: SandboxPlan = {
      accountId: launcher.accountId, mode, agentId: agent.id, vaultId: request.vaultId, runtime: agent.runtime,
      environmentId: effectiveEnvironmentId({ environment_id: request.environmentId, agent }),
    };
    if (agent.sandbox_provider !== null && agent.sandbox_provider !== 'local') {
      throw new Refusal(422, 'sandbox_provider_disabled', { message: `this instance has no sandbox provider "${agent.sandbox_provider}"` });
    }
    const home = mode === 'persistent' ? await this.#host.sandboxes.home(sandboxPlan) : undefined;
    if (home !== undefined) return { kind: 'reattach', sandbox: started(home), writes: [] };
    await this.#checkQuota(launcher.accountId);
    return { kind: 'provision', sandbox: this.#host.sandboxes.plan(sandboxPlan), writes: [] };
  }

  /** Contract, section 9.3, in its order. */
  async #attachable({ launcher, request, agent }: Resolved, sandboxId: string): Promise<Sandbox> {
    const sandbox = await this.#host.sandboxes.load(sandboxId);
    if (sandbox?.row.account_id !== launcher.accountId) throw notFound('sandbox_not_found');
    const { row } = sandbox;
    if (row.status !== 'ready' && row.status !== 'suspended') {
      throw new Refusal(409, 'sandbox_not_attachable', { message: `that sandbox is ${row.status}`, fields: { status: row.status } });
    }
    const mismatch = new Refusal(422, 'sandbox_identity_mismatch', { message: 'that sandbox belongs to another agent, environment or vault' });
    if (row.vault_id !== request.vaultId) throw mismatch;
    if (row.environment_id !== effectiveEnvironmentId({ environment_id: request.environmentId, agent })) throw mismatch;
    if (row.agent_id === agent.id) {
      if (row.runtime === agent.runtime) return sandbox;
      throw new Refusal(422, 'sandbox_runtime_mismatch', { message: `that sandbox was made for the ${row.runtime} runtime; the agent now runs ${agent.runtime}` });
    }
    if (!guestPairs.has(`${row.runtime}+${agent.runtime}`)) throw mismatch;
    if (launcher.scope !== 'full') throw insufficientScope();
    return sandbox;
  }

  async #checkQuota(accountId: string): Promise<void> {
    const { config, store } = this.#host.context;
    if (config.sandboxQuota === 0) return;
    const active = await store.count('sandboxes', { account_id: accountId, status: activeStatuses });
    if (active < config.sandboxQuota) return;
    throw new Refusal(429, 'sandbox_quota_exceeded', {
      message: `${active} of ${config.sandboxQuota} sandboxes are in use; end a conversation first`,
      fields: { active_sandboxes: active, limit: config.sandboxQuota },
    });
  }

  async #agent({ accountId }: Launcher, id: string): Promise<AgentRow> {
    const agent = await this.#host.context.store.get('agents', id);
    if (agent?.account_id !== accountId) throw notFound();
    return agent;
  }

  async #vault({ accountId }: Launcher, agent: AgentRow, id: string | null): Promise<void> {
    if (id === null) return;
    const vault = await this.#host.context.store.get('vaults', id);
    if (vault?.account_id !== accountId) throw notFound('vault_not_found');
    if (agent.allowed_vault_ids?.includes(id) === false) {
      throw new Refusal(422, 'vault_not_allowed', { message: "the vault is not in the agent's allowed_vault_ids" });
    }
  }

  async #environment({ accountId }: Launcher, agent: AgentRow, id: string | null): Promise<void> {
    if (id === null) return;
    const environment = await this.#host.context.store.get('environments', id);
    if (environment?.account_id !== accountId) throw notFound('environment_not_found');
    if (id !== agent.environment_id && agent.allowed_environment_ids?.includes(id) === false) {
      throw new Refusal(422, 'environment_not_allowed', { message: "the environment is not in the agent's allowed_environment_ids" });
    }
  }

  async #parent({ launcher, request }: Resolved): Promise<void> {
    if (request.parentId === null) return;
    const parent = await this.#host.context.store.get('conversations', request.parentId);
    if (parent?.account_id !== launcher.accountId) throw notFound('parent_conversation_not_found');
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

/** Returns a persistent machine that has started. */
function started(home: Sandbox): Sandbox {
  if (home.row.status === 'ready' || home.row.status === 'suspended') return home;
  throw new Refusal(503, 'provisioning', { message: "the agent's machine is still starting", retryAfter: 30 });
}

function launchPolicy(policy: unknown, agent: AgentRow): PermissionPolicy {
  if (policy === null || policy === undefined) return {};
  if (!isPolicy(policy)) {
    throw new Refusal(422, 'permission_policy_invalid', { message: `a permission policy gives each key one of ${verdicts.join(', ')}` });
  }
  const widened = widenedKey(agent.permission_policy, policy);
  if (widened !== null) {
    throw new Refusal(422, 'permission_policy_widens', { message: `this launch would be less strict than the agent about ${widened}` });
  }
  if (agent.runtime === 'opencode' && isStrict(policy)) {
    throw new Refusal(422, 'permission_policy_unenforceable', { message: 'the opencode runtime never asks for permission; a policy could not be kept' });
  }
  return policy;
}

function conversationRow({ launcher, request, agent }: Resolved, policy: PermissionPolicy, plan: WakePlan): ConversationRow {
  const now = rowTime();
  const titled = request.title === undefined || request.title === null ? { title: null, title_source: null } : explicitTitle(request.title, new Redactor([]));
  return {
    id: randomUUID(), account_id: launcher.accountId, agent_id: agent.id, agent: configurationOf(agent), vault_id: request.vaultId,
    environment_id: request.environmentId, permission_policy: policy, status: plan.kind === 'provision' ? 'pending' : 'idle',
    sandbox_id: plan.sandbox.row.id, runtime_session_id: null, ...titled, first_prompt: null, turn_count: 0,
    source: request.parentId === null ? 'api' : 'agent', parent_conversation_id: request.parentId, channel_id: request.channelId,
    labels: request.labels, sandbox_api_access: request.sandboxApiAccess, usage_input: 0, usage_output: 0, output_bytes: 0,
    last_output_at: null, last_read_at: null, inserted_at: now, updated_at: now,
  };
}

/** Returns what a conversation takes over from its agent. */
export function configurationOf(agent: AgentRow): AgentConfiguration {
  const { name, system, model, runtime, runtime_command, environment_id, skills, mcp_servers, permission_policy } = agent;
  return { name, system, model, runtime, runtime_command, environment_id, skills, mcp_servers, permission_policy };
}
