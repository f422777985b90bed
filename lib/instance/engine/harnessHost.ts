import { randomUUID } from 'node:crypto';
import { startHarness } from '../harness/harness.ts';
import type { Harness, HarnessOptions } from '../harness/harness.ts';
import type { AgentConfiguration, ConversationRow } from '../store/rows.ts';
import { insert, remove } from '../store/store.ts';
import type { EngineContext } from './context.ts';
import { harnessEnvironment } from './harnessEnvironment.ts';
import { mcpServersOf } from './mcpServers.ts';
import { processIdentity } from './processIdentity.ts';
import type { Sandbox } from './sandbox.ts';
import type { Variables } from './variables.ts';

/** What became of the model that the agent asks for. */
export type ModelEvent = Parameters<HarnessOptions['onModel']>[0];

/** Where a harness's output and questions go. No function may throw. */
export type HarnessCallbacks = Pick<HarnessOptions, 'onMessage' | 'onPermission' | 'onStdout' | 'onStderr'> & {
  readonly onModel: (event: ModelEvent) => void;
  /** Told, before the program starts, the key that it gets and nobody may see. */
  readonly onToken: (token: string) => void;
};

/** What a harness is started with. */
export interface HarnessPlan {
  readonly row: ConversationRow;
  readonly sandbox: Sandbox;
  readonly variables: Variables;
  readonly network: boolean;
}

/** The harness of one conversation: started when a turn needs it, kept for the next one, stopped with its machine. */
export class HarnessHost {
  readonly #context: EngineContext;
  readonly #callbacks: HarnessCallbacks;
  #harness: Harness | null = null;
  #configuration = '';
  #starting: AbortController | null = null;
  #stopping: Promise<void> = Promise.resolve();

  constructor(context: EngineContext, callbacks: HarnessCallbacks) {
    this.#context = context;
    this.#callbacks = callbacks;
  }

  /** Whether its program runs. */
  get isRunning(): boolean {
    return this.#harness !== null;
  }

  /**
   * Returns the harness, started anew where it has ended or where its agent's configuration is another one.
   *
   * Errors: rejects in words where it cannot be started, or was cancelled while it started.
   */
  async ensure(plan: HarnessPlan): Promise<Harness> {
    const configuration = configurationOf(plan.row.agent);
    if (this.#harness !== null && configuration !== this.#configuration) await this.stop();
    await this.#stopping;
    if (this.#harness !== null) return this.#harness;
    const starting = new AbortController();
    this.#starting = starting;
    try {
      const harness = await this.#start(plan, starting.signal);
      this.#configuration = configuration;
      return harness;
    } finally {
      this.#starting = null;
    }
  }

  /** Asks the harness to end its turn; a harness that still starts is stopped. */
  cancel(): void {
    if (this.#starting === null) this.#harness?.cancel();
    else this.#starting.abort(new Error('the turn was interrupted'));
  }

  /** Ends the program and everything that it started. */
  stop(): Promise<void> {
    const harness = this.#harness;
    this.#harness = null;
    this.#starting?.abort(new Error('the sandbox was stopped'));
    if (harness !== null) this.#stopping = Promise.all([this.#stopping, harness.stop()]).then(() => undefined);
    return this.#stopping;
  }

  async #start({ row, sandbox, variables, network }: HarnessPlan, signal: AbortSignal): Promise<Harness> {
    const { config, runtimes, isolation } = this.#context;
    const runtime = runtimes.resolve(row.agent, sandbox.folder.home);
    const token = await this.#token(row);
    if (token !== null) this.#callbacks.onToken(token);
    const exports = { baseUrl: this.#context.baseUrl(), token, conversationId: row.id, sandboxId: sandbox.row.id };
    const env = harnessEnvironment(config.env, sandbox.folder, runtime.env, variables, exports);
    const command = isolation.wrap({ ...runtime, env }, sandbox.folder, network);
    const { onMessage, onPermission, onStdout, onStderr, onModel } = this.#callbacks;
    const harness = await startHarness(
      {
        ...command, cwd: sandbox.folder.home, runtimeSessionId: row.runtime_session_id, model: requestedModel(row.agent),
        mcpServers: mcpServersOf(row.agent.mcp_servers),
        onMessage, onPermission, onStdout, onStderr, onModel,
      },
      signal,
    );
    this.#harness = harness;
    await this.#record(harness, sandbox.row.id);
    return harness;
  }

  /** A new key for each start: only its digest is stored, so that an old one cannot be handed out again. */
  async #token(row: ConversationRow): Promise<string | null> {
    await this.#context.keys.revokeOf(row.id);
    if (row.sandbox_api_access === 'none') return null;
    const { key } = await this.#context.keys.mint({ accountId: row.account_id, scope: 'sprite', conversationId: row.id });
    return key;
  }

  /** Writes the process group down until it has ended, so that a start after a crash can end it. */
  async #record(harness: Harness, sandboxId: string): Promise<void> {
    const { store, onFailure } = this.#context;
    const id = randomUUID();
    const started = await processIdentity(harness.pid);
    if (started !== null) await store.commit([insert('processes', { id, sandbox_id: sandboxId, pid: harness.pid, started })]);
    void harness.exited.then(async () => {
      if (this.#harness === harness) this.#harness = null;
      if (started !== null) await store.commit([remove('processes', { id })]);
    }).catch(onFailure);
  }
}

/** A changed model or command needs another process; a changed policy does not. */
function configurationOf({ model, runtime, runtime_command, mcp_servers }: AgentConfiguration): string {
  return JSON.stringify([model, runtime, runtime_command, mcp_servers]);
}

/** `<provider>/default` leaves the choice to the harness. */
function requestedModel({ model }: AgentConfiguration): string | null {
  return model === null || model.endsWith('/default') ? null : model;
}
