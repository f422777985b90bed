import { randomUUID } from 'node:crypto';
import type { SandboxMode } from '../../protocol/fountain.ts';
import type { SandboxRow } from '../store/rows.ts';
import type { Write } from '../store/store.ts';
import { rowTime } from '../time.ts';
import type { EngineContext } from './context.ts';
import { Sandbox } from './sandbox.ts';
import type { SandboxEnd } from './sandbox.ts';
import { removeSandboxFolder, sandboxFolder } from './sandboxFolder.ts';

/** What a persistent machine is the home of, or an ephemeral one is made for. */
export interface SandboxPlan {
  readonly accountId: string;
  readonly mode: SandboxMode;
  readonly agentId: string;
  readonly environmentId: string | null;
  readonly vaultId: string | null;
  readonly runtime: string;
}

/**
 * The machines of this instance: found, made, looked after and taken down.
 *
 * @see Fountain HTTP and SSE contract, sections 6.4 and 9
 */
export class Sandboxes {
  readonly #context: Pick<EngineContext, 'config' | 'store' | 'log' | 'onFailure'>;
  readonly #loaded = new Map<string, Sandbox>();
  #timer: NodeJS.Timeout | null = null;

  constructor(context: Pick<EngineContext, 'config' | 'store' | 'log' | 'onFailure'>) {
    this.#context = context;
  }

  /** Begins to look after idle and old machines. */
  start(): void {
    const { sandboxCheckSeconds } = this.#context.config;
    this.#timer = setInterval(() => void this.check().catch(this.#context.onFailure), sandboxCheckSeconds * 1000).unref();
  }

  /** Ends that. */
  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  /** Returns a machine; undefined where there is none. */
  async load(id: string): Promise<Sandbox | undefined> {
    const known = this.#loaded.get(id);
    if (known !== undefined) return known;
    const row = await this.#context.store.get('sandboxes', id);
    return row === undefined ? undefined : this.#keep(row);
  }

  /** Returns a new machine, whose row the caller writes. */
  plan({ accountId, mode, agentId, environmentId, vaultId, runtime }: SandboxPlan): Sandbox {
    const id = randomUUID();
    const now = rowTime();
    return this.#keep({
      id, account_id: accountId, sprite_name: `fountain-${id.slice(0, 8)}`, status: 'pending', mode, agent_id: agentId,
      environment_id: environmentId, vault_id: vaultId, runtime, last_resumed_at: null, inserted_at: now, updated_at: now,
    });
  }

  /** Returns the persistent machine of an agent, an environment and a vault that has not been given up; undefined for none. */
  async home({ accountId, agentId, environmentId, vaultId }: SandboxPlan): Promise<Sandbox | undefined> {
    const where = { account_id: accountId, mode: 'persistent', agent_id: agentId, environment_id: environmentId, vault_id: vaultId } as const;
    const [row] = await this.#context.store.find('sandboxes', { ...where, status: ['pending', 'starting', 'ready', 'suspended'] }, { order: 'newest', limit: 1 });
    return row === undefined ? undefined : this.load(row.id);
  }

  /** Whether other conversations go on on a machine when this one leaves it. */
  async isShared(sandbox: Sandbox, conversationId: string): Promise<boolean> {
    const open = await this.#context.store.find('conversations', { sandbox_id: sandbox.row.id, status: ['pending', 'running', 'idle'] });
    return open.some((row) => row.id !== conversationId);
  }

  /** Removes what is left of a machine that is over. */
  async clear(sandbox: Sandbox): Promise<void> {
    this.#loaded.delete(sandbox.row.id);
    await removeSandboxFolder(sandbox.folder);
  }

  /** Suspends what has been idle for long and reclaims what is too old. */
  async check(): Promise<void> {
    const { sandboxIdleSeconds, sandboxLifetimeSeconds } = this.#context.config;
    const ready = [...this.#loaded.values()].filter((sandbox) => sandbox.row.status === 'ready');
    for (const sandbox of ready) {
      if (sandboxLifetimeSeconds > 0 && sandbox.ageMs >= sandboxLifetimeSeconds * 1000) await this.#retire(sandbox);
      else if (sandboxIdleSeconds > 0 && !sandbox.isMidTurn && sandbox.idleMs >= sandboxIdleSeconds * 1000) await this.suspend(sandbox);
    }
  }

  /** Parks a machine: its processes end, its folder stays. */
  suspend(sandbox: Sandbox): Promise<void> {
    return this.take(sandbox, { event: 'suspended', reason: 'idle', message: 'the sandbox was idle and is parked; the next prompt resumes it' });
  }

  /** Takes a machine from all of its conversations; unless it is only suspended, nothing of it is left. */
  async take(sandbox: Sandbox, end: SandboxEnd): Promise<void> {
    const change = sandbox.change(end.event === 'suspended' ? 'suspended' : 'terminated');
    await Promise.all([this.#commit(change), ...[...sandbox.members].map((member) => member.loseSandbox(end, change))]);
    if (end.event !== 'suspended') await this.clear(sandbox);
  }

  async #retire(sandbox: Sandbox): Promise<void> {
    const message = `the sandbox reached its maximum lifetime of ${this.#context.config.sandboxLifetimeSeconds} s`;
    const event = sandbox.row.mode === 'persistent' ? 'suspended' : 'reclaimed';
    await this.take(sandbox, { event, reason: 'max_lifetime', message });
  }

  async #commit(write: Write): Promise<void> {
    await this.#context.log.commit([write]);
  }

  #keep(row: SandboxRow): Sandbox {
    const sandbox = this.#loaded.get(row.id) ?? new Sandbox(row, sandboxFolder(this.#context.config.dataDir, row.id));
    this.#loaded.set(row.id, sandbox);
    return sandbox;
  }
}
