import path from 'node:path';
import { Command, Option, UsageError } from 'clipanion';
import type { InstanceOptions } from '../instance/config.ts';
import type { Instance } from '../instance/instance.ts';
import { version } from '../version.ts';

const logLevels = ['debug', 'info', 'warn', 'error'] as const;

/** `fountain serve`: a whole Fountain instance on this machine. */
export class ServeCommand extends Command {
  static override readonly paths = [['serve']];
  static override readonly usage = Command.Usage({
    description: 'run a Fountain instance on this machine',
    details: `
      The instance keeps every conversation: it goes on while no client is attached, and after a restart. It listens on
      this machine alone and makes a key that only this user can read. Ready agents are "demo", which needs no model, and
      the coding agents that it finds on PATH.

      All times are in seconds and may have a fraction.

      Exit codes: 2 for arguments that can't be understood, 3 for an address that can't be had, 4 for a data folder that
      can't be written, 5 for data of a newer version, 6 for damaged data, 7 when a server has the data folder already.
    `,
    examples: [
      ['Serve on the usual port', 'fountain serve'],
      ['Serve on any free port, with its own data', 'fountain serve --port 0 --data ./instance'],
      ['End after half an hour without use', 'fountain serve --idle-exit 1800'],
      ['Park idle sandboxes after ten minutes', 'fountain serve --sandbox-idle 600'],
      ['Make an account that can log in with a password', 'FOUNTAIN_ACCOUNT_PASSWORD=... fountain serve --account me@example.test'],
    ],
  });

  readonly port = Option.String('--port', { description: 'Port; 0 takes any free one (4100)' });
  readonly host = Option.String('--host', { description: 'Address to listen on (127.0.0.1)' });
  readonly data = Option.String('--data', { description: 'Folder of all data (~/.fountain/local)' });
  readonly idleExit = Option.String('--idle-exit', { description: 'End after this time without client, turn and anything pending' });
  readonly logLevel = Option.String('--log-level', 'info', { description: 'How much goes to stderr: debug, info, warn or error' });
  readonly heartbeat = Option.String('--heartbeat', { description: 'Time between two signs of life on a stream (15)' });
  readonly streamIdle = Option.String('--stream-idle', { description: 'Time without an event after which a stream ends (60)' });
  readonly permissionTimeout = Option.String('--permission-timeout', { description: 'How long a permission request waits (300)' });
  readonly sandboxIdle = Option.String('--sandbox-idle', { description: 'Idle time after which a sandbox is parked; 0 is never (3600)' });
  readonly sandboxLifetime = Option.String('--sandbox-lifetime', { description: 'Age at which a sandbox is reclaimed; 0 is never (0)' });
  readonly sandboxCheck = Option.String('--sandbox-check', { description: 'Time between two looks at the sandboxes (60)' });
  readonly sandboxQuota = Option.String('--sandbox-quota', { description: 'Sandboxes of one account at a time; 0 is no limit (50)' });
  readonly interruptGrace = Option.String('--interrupt-grace', { description: 'How long an interrupted agent may take before it is stopped (2)' });
  readonly account = Option.Array('--account', { description: 'An account to make, by e-mail address; its password is FOUNTAIN_ACCOUNT_PASSWORD' });
  readonly allowHost = Option.Array('--allow-host', { description: 'A further name under which the server may be addressed' });
  readonly allowOrigin = Option.Array('--allow-origin', { description: 'An origin whose pages may call the server' });
  readonly isolation = Option.Boolean('--isolation', true, { description: 'Run agents in bubblewrap where it is there' });

  override async execute(): Promise<number> {
    const options = this.#options();
    // Loaded here, since no other command needs a server.
    const { startInstance } = await import('../instance/instance.ts');
    let instance: Instance;
    try {
      instance = await startInstance(options);
    } catch (error) {
      return this.#refuse(error);
    }
    this.#say(`a Fountain instance listens on ${instance.baseUrl}`);
    this.#say(`its data is in ${instance.dataDir}; sandboxes are isolated by ${instance.isolation}`);
    this.#say(`point a client at it: FOUNTAIN_BASE_URL=${instance.baseUrl} FOUNTAIN_API_KEY=$(cat ${path.join(instance.dataDir, 'key')}) fountain acp --agent demo`);
    if (!/^http:\/\/(127\.|\[::1\]|localhost)/.test(instance.baseUrl) || ['0.0.0.0', '::'].includes(this.host ?? '')) {
      this.#say('it can be reached from other machines, without encryption: whoever has its key can run programs here');
    }
    endOnSignals(instance);
    await instance.closed;
    return 0;
  }

  async #refuse(error: unknown): Promise<number> {
    const { exitCodes, InstanceError } = await import('../instance/instanceError.ts');
    const words = error instanceof Error ? error.message : String(error);
    this.context.stderr.write(`fountain: ${words.split('\n')[0] ?? ''}\n`);
    const reason = error instanceof InstanceError ? error.reason : reasonOf(error);
    return reason !== null && reason in exitCodes ? exitCodes[reason as keyof typeof exitCodes] : 1;
  }

  #say(line: string): void {
    this.context.stderr.write(`fountain: ${line}\n`);
  }

  #options(): InstanceOptions {
    const level = logLevels.indexOf(oneOf('--log-level', this.logLevel === 'warning' ? 'warn' : this.logLevel));
    const password = process.env['FOUNTAIN_ACCOUNT_PASSWORD'];
    const options: { [K in keyof InstanceOptions]: InstanceOptions[K] | undefined } = {
      version,
      port: whole('--port', this.port, 65_535),
      host: this.host,
      dataDir: this.data === undefined ? undefined : path.resolve(this.data),
      idleExitSeconds: seconds('--idle-exit', this.idleExit),
      heartbeatSeconds: seconds('--heartbeat', this.heartbeat),
      streamIdleSeconds: seconds('--stream-idle', this.streamIdle),
      permissionTimeoutSeconds: seconds('--permission-timeout', this.permissionTimeout),
      sandboxIdleSeconds: seconds('--sandbox-idle', this.sandboxIdle),
      sandboxLifetimeSeconds: seconds('--sandbox-lifetime', this.sandboxLifetime),
      sandboxCheckSeconds: seconds('--sandbox-check', this.sandboxCheck),
      sandboxQuota: whole('--sandbox-quota', this.sandboxQuota, 1_000_000),
      interruptGraceSeconds: seconds('--interrupt-grace', this.interruptGrace),
      accounts: this.account?.map((email) => ({ email, ...(password ? { password } : {}) })),
      allowedHosts: this.allowHost,
      corsOrigins: this.allowOrigin,
      isolation: this.isolation ? 'auto' : 'off',
      log: (entryLevel, message) => {
        if (logLevels.indexOf(entryLevel) >= level) this.#say(message);
      },
    };
    return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  }
}

/** The reason that an error carries, where the lazily loaded bundles hold two classes of one name. */
function reasonOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('reason' in error)) return null;
  return typeof error.reason === 'string' ? error.reason : null;
}

/** The first signal ends the server in good order, a second one at once. */
function endOnSignals(instance: Instance): void {
  let asked = false;
  const end = (): void => {
    if (asked) process.exit(1);
    asked = true;
    void instance.close();
  };
  process.on('SIGTERM', end).on('SIGINT', end);
  void instance.closed.finally(() => process.off('SIGTERM', end).off('SIGINT', end));
}

function oneOf(flag: string, value: string): (typeof logLevels)[number] {
  const level = logLevels.find((known) => known === value);
  if (level === undefined) throw new UsageError(`${flag}: "${value}" is none of ${logLevels.join(', ')}`);
  return level;
}

function seconds(flag: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number) || number < 0) throw new UsageError(`${flag}: "${value}" is no number of seconds`);
  return number;
}

function whole(flag: string, value: string | undefined, max: number): number | undefined {
  if (value === undefined) return undefined;
  if (!/^\d+$/.test(value) || Number(value) > max) throw new UsageError(`${flag}: "${value}" is no number from 0 to ${max}`);
  return Number(value);
}
