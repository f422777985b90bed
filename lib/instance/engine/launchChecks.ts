import type { PermissionPolicy } from '../../protocol/fountain.ts';
import { insufficientScope, notFound, Refusal } from '../refusal.ts';
import type { AgentRow, SandboxStatus } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { Launcher, Resolved } from './launchRequest.ts';
import { isPolicy, isStrict, verdicts, widenedKey } from './permissionPolicy.ts';
import type { Sandbox } from './sandbox.ts';
import { effectiveEnvironmentId } from './variables.ts';

/** Runtimes whose agents may share a machine. */
const guestPairs = new Set(['claude+codex', 'codex+claude']);

const activeStatuses: readonly SandboxStatus[] = ['pending', 'starting', 'ready'];

/** Returns the launcher's agent. Errors: Refusal 404. */
export async function findAgent(store: Store, { accountId }: Launcher, id: string): Promise<AgentRow> {
  const agent = await store.get('agents', id);
  if (agent?.account_id !== accountId) throw notFound();
  return agent;
}

/** Errors: Refusal 404 where the vault is not the launcher's, 422 where the agent does not take it. */
export async function checkVault(store: Store, { launcher, request, agent }: Resolved): Promise<void> {
  const { vaultId } = request;
  if (vaultId === null) return;
  const vault = await store.get('vaults', vaultId);
  if (vault?.account_id !== launcher.accountId) throw notFound('vault_not_found');
  if (agent.allowed_vault_ids?.includes(vaultId) === false) {
    throw new Refusal(422, 'vault_not_allowed', { message: "the vault is not in the agent's allowed_vault_ids" });
  }
}

/** Errors: Refusal 404 where the environment is not the launcher's, 422 where the agent does not take it; its own always passes. */
export async function checkEnvironment(store: Store, { launcher, request, agent }: Resolved): Promise<void> {
  const { environmentId } = request;
  if (environmentId === null) return;
  const environment = await store.get('environments', environmentId);
  if (environment?.account_id !== launcher.accountId) throw notFound('environment_not_found');
  if (environmentId !== agent.environment_id && agent.allowed_environment_ids?.includes(environmentId) === false) {
    throw new Refusal(422, 'environment_not_allowed', { message: "the environment is not in the agent's allowed_environment_ids" });
  }
}

/** Errors: Refusal 404 where the parent is not the launcher's. */
export async function checkParent(store: Store, { launcher, request }: Resolved): Promise<void> {
  if (request.parentId === null) return;
  const parent = await store.get('conversations', request.parentId);
  if (parent?.account_id !== launcher.accountId) throw notFound('parent_conversation_not_found');
}

/**
 * Errors: Refusal 429 where the account has as many sandboxes as it may.
 *
 * @param quota - 0 is no limit.
 */
export async function checkQuota(store: Store, accountId: string, quota: number): Promise<void> {
  if (quota === 0) return;
  const active = await store.count('sandboxes', { account_id: accountId, status: activeStatuses });
  if (active < quota) return;
  throw new Refusal(429, 'sandbox_quota_exceeded', {
    message: `${active} of ${quota} sandboxes are in use; end a conversation first`,
    fields: { active_sandboxes: active, limit: quota },
  });
}

/** Throws Refusal 422 where the agent wants a sandbox provider that is not this machine. */
export function checkProvider({ sandbox_provider: provider }: AgentRow): void {
  if (provider === null || provider === 'local') return;
  throw new Refusal(422, 'sandbox_provider_disabled', { message: `this instance has no sandbox provider "${provider}"` });
}

/**
 * Returns the policy of a launch, which only narrows the agent's.
 *
 * @throws Refusal 422 that names the key which would be loosened, or says what a policy is.
 * @see Fountain HTTP and SSE contract, section 7.1
 */
export function launchPolicy({ request, agent }: Resolved): PermissionPolicy {
  const policy = request.permissionPolicy ?? {};
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

/**
 * Returns a sandbox that a launch names, where it may attach to it.
 *
 * @throws Refusal, in the contract's order.
 * @see Fountain HTTP and SSE contract, section 9.3
 */
export function attachable(sandbox: Sandbox | undefined, { launcher, request, agent }: Resolved): Sandbox {
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

/** Returns a persistent machine that has started. Throws Refusal 503 for one that still starts. */
export function startedHome(home: Sandbox): Sandbox {
  if (home.row.status === 'ready' || home.row.status === 'suspended') return home;
  throw new Refusal(503, 'provisioning', { message: "the agent's machine is still starting", retryAfter: 30 });
}
