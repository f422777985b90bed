import type { InstanceConfig } from '../config.ts';
import type { SecretBox } from '../data/secretBox.ts';
import type { Keys } from '../keys.ts';
import type { EventLog } from '../log/eventLog.ts';
import type { AgentConfiguration } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { SandboxFolder } from './sandboxFolder.ts';

/** What the engine stands on. */
export interface EngineContext {
  readonly config: InstanceConfig;
  readonly store: Store;
  readonly log: EventLog;
  readonly box: SecretBox;
  readonly keys: Keys;
  readonly runtimes: Runtimes;
  readonly isolation: Isolation;
  /** Where the server listens, for the processes in sandboxes. */
  readonly baseUrl: () => string;
  /** Receives the error of a write that nobody waits for. */
  readonly onFailure: (error: unknown) => void;
  /** Called when something of an account's conversations changed. */
  readonly onChange: (accountId: string) => void;
}

/** A program that speaks ACP. */
export interface RuntimeCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Files and folders outside of the sandbox that it must be able to change, where they are there. */
  readonly writable?: readonly string[];
}

/** What keeps a sandbox's processes apart from the rest of the machine. */
export interface Isolation {
  readonly kind: 'bubblewrap' | 'none';
  /** Why there is none, in words; null where there is. */
  readonly reason: string | null;
  /** Returns the command that runs a command in a sandbox. */
  wrap(command: RuntimeCommand, folder: SandboxFolder, network: boolean): RuntimeCommand;
}

/** The runtimes of this instance. */
export interface Runtimes {
  /**
   * Returns the command of a runtime.
   *
   * @param home - The sandbox's folder, where a runtime may keep its own program.
   * @throws Error in words that names what to install.
   */
  resolve(agent: Pick<AgentConfiguration, 'runtime' | 'runtime_command'>, home: string): RuntimeCommand;

  /** Puts into a new sandbox what the runtime needs there. */
  install(runtime: string, home: string): Promise<void>;

  /** Whether an account may run a runtime. */
  isAdmitted(runtime: string, accountId: string): boolean;
}

/** Returns an error's words. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
