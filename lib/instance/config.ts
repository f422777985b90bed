import os from 'node:os';
import path from 'node:path';

/** An account to make when it is not there yet. */
export interface AccountOptions {
  /** @defaultValue a new UUID */
  readonly id?: string;
  readonly email: string;
  /** Without one nobody can log in with a password. */
  readonly password?: string;
}

/** Everything that can be set. Times are in seconds, also with a fraction; sizes are in bytes. */
export interface InstanceConfig {
  /** Version of this program. */
  readonly version: string;
  /** Folder of everything that the instance keeps. */
  readonly dataDir: string;
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Between two comment frames on a stream. */
  readonly heartbeatSeconds: number;
  /** After the last event of a stream until the server ends it. */
  readonly streamIdleSeconds: number;
  /** How long a permission request waits for an answer. */
  readonly permissionTimeoutSeconds: number;
  /** Until a sandbox without turns is suspended; 0 is never. */
  readonly sandboxIdleSeconds: number;
  /** Until a sandbox is reclaimed, counted from its start or its last resume; 0 is never. */
  readonly sandboxLifetimeSeconds: number;
  /** Between two looks at the sandboxes. */
  readonly sandboxCheckSeconds: number;
  /** How long provisioning may take. */
  readonly provisionSeconds: number;
  /** How long a cancelled harness may take to end its turn before it is stopped. */
  readonly interruptGraceSeconds: number;
  /** Sandboxes of one account that may be pending, starting or ready; 0 is no limit. */
  readonly sandboxQuota: number;
  /** Output of one conversation that is stored. */
  readonly outputLimitBytes: number;
  /** Longest request body. */
  readonly bodyLimitBytes: number;
  /** Attempts at a password per address and hour. */
  readonly loginAttempts: number;
  /** Origins whose pages may call; none by default. */
  readonly corsOrigins: readonly string[];
  /** Host names under which the server may be addressed, beside loopback and addresses. */
  readonly allowedHosts: readonly string[];
  /** Made at the start beside the local account. */
  readonly accounts: readonly AccountOptions[];
  /** After how long without client, turn and anything pending the instance ends by itself; null is never. */
  readonly idleExitSeconds: number | null;
  /** Whether harnesses run in bubblewrap: where it is there, or never. */
  readonly isolation: 'auto' | 'off';
  /** The server's own environment: PATH, keys of model providers, switches of the contract. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Receives diagnostics, one line each. */
  readonly log: (level: LogLevel, message: string) => void;
}

/** From the loudest to the quietest. */
type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** What a caller sets; the rest has defaults. */
export type InstanceOptions = Partial<InstanceConfig>;

/** Where `fountain serve` listens when nothing is said. */
const defaultPort = 4100;

const minute = 60;
const hour = 3600;

/**
 * Returns the whole configuration: options first, then the contract's environment variables, then defaults.
 *
 * @throws Error in words where a variable of the contract holds no number.
 * @see Fountain HTTP and SSE contract, sections 5.5, 6.4, 7.2 and 10.1
 */
export function instanceConfig(options: InstanceOptions = {}): InstanceConfig {
  const env = options.env ?? process.env;
  return {
    version: '0.0.0',
    dataDir: dataFolder(env),
    host: '127.0.0.1',
    port: defaultPort,
    heartbeatSeconds: 15,
    streamIdleSeconds: 60,
    permissionTimeoutSeconds: 300,
    sandboxIdleSeconds: numberFrom(env, 'SANDBOX_IDLE_TIMEOUT_MINUTES', 60) * minute,
    sandboxLifetimeSeconds: numberFrom(env, 'SANDBOX_MAX_LIFETIME_HOURS', 0) * hour,
    sandboxCheckSeconds: minute,
    provisionSeconds: 30 * minute,
    interruptGraceSeconds: 2,
    sandboxQuota: 50,
    outputLimitBytes: 50 * 1024 * 1024,
    bodyLimitBytes: 32 * 1024 * 1024,
    loginAttempts: 10,
    corsOrigins: [],
    allowedHosts: [],
    accounts: [],
    idleExitSeconds: null,
    isolation: 'auto',
    log: () => undefined,
    ...options,
    env,
  };
}

/** `FOUNTAIN_LOCAL_DATA`, else `.fountain/local` in the home folder. */
function dataFolder(env: InstanceConfig['env']): string {
  const chosen = env['FOUNTAIN_LOCAL_DATA'] ?? '';
  return chosen === '' ? path.join(os.homedir(), '.fountain', 'local') : path.resolve(chosen);
}

function numberFrom(env: InstanceConfig['env'], name: string, fallback: number): number {
  const text = env[name];
  if (text === undefined || text === '') return fallback;
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) throw new Error(`${name} is "${text}"; it takes a number that is not negative`);
  return value;
}
