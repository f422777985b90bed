import { fstatSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { asyncScheduler, fromEvent, merge, switchMap, take, takeUntil, timer, type Observable } from 'rxjs';
import { faultOf, resolveCredentials } from './client/credentials.ts';
import { instanceAt, type Target } from './client/instanceAt.ts';
import type { AcpOptions } from './context.ts';
import { localDataFolder } from './local/dataFolder.ts';
import { rememberAgent, rememberedAgent } from './local/rememberAgent.ts';
import { pipeline } from './pipeline.ts';
import { describe, internalError, noCredentials } from './protocol/errors.ts';
import { createStderrLog, type Log, type LogLevel } from './sinks/toStderr.ts';
import { createStdoutSink } from './sinks/toStdout.ts';
import { fromReadable } from './sources/fromReadable.ts';

/** What the command line says, and the process it runs in. */
export interface RunOptions extends Omit<AcpOptions, 'streamIdleMs'> {
  readonly profile: string | undefined;
  /** Whether the instance is this user's own, started where it does not run. */
  readonly local: boolean;
  /** Whether everything in flight is answered after the end of input. */
  readonly drain: boolean;
  readonly logLevel: LogLevel;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: NodeJS.ProcessEnv;
}

/** Default of `FOUNTAIN_STREAM_IDLE_TIMEOUT`, in seconds. */
const defaultStreamIdleSeconds = 1800;

/** How long what was under way may take when the process is told to end, in milliseconds. */
const lastChanceMs = 3_000;

/**
 * Runs the adapter on the process's stdio until the client has gone: the one place that subscribes.
 *
 * @returns The exit code, when the last line has left the process.
 * @see Specification, "Lifecycle, sandboxes, and what survives"
 */
export function run(options: RunOptions): Promise<number> {
  const { stdin, stdout, stderr, env } = options;
  const log = createStderrLog(stderr, options.logLevel);
  const sink = createStdoutSink(stdout);
  const signal$ = merge(fromEvent(process, 'SIGTERM'), fromEvent(process, 'SIGINT'), fromEvent(process, 'SIGHUP'));
  const stop$ = merge(signal$, sink.broken$).pipe(take(1));
  const world = options.local ? localWorld(log) : remoteWorld(options, log);
  let lastId = 0;
  const lines$ = pipeline(fromReadable(stdin), {
    options: { ...options, streamIdleMs: streamIdleMs(env, log) },
    connection: { client: undefined, sessions: new Map() },
    instance$: instanceAt({ ...world, env, userAgent: `fountain/${options.version}`, gate$: sink.gate$ }),
    hasCredentials: world.hasCredentials,
    agentOpened: world.agentOpened,
    defaultAgent: world.defaultAgent,
    scheduler: asyncScheduler,
    random: Math.random,
    log,
    nextId: () => (lastId += 1),
    drain: options.drain || isFile(0) || isFile(1),
    stop$,
  });
  return new Promise((resolve) => {
    lines$.pipe(sink.write, takeUntil(deadlineAfter(stop$))).subscribe({
      error: (error: unknown) => {
        log('error', `a fault of fountain ${options.version}: ${describe(error)}; please report it`);
        resolve(1);
      },
      complete: () => resolve(0),
    });
  });
}

/** What differs between this user's own instance and any other. */
interface World {
  readonly target: () => Promise<Target>;
  readonly onGone: () => void;
  readonly hasCredentials: () => boolean;
  readonly agentOpened: (nameOrId: string) => void;
  readonly defaultAgent: () => string | undefined;
}

function remoteWorld({ profile, env }: RunOptions, log: Log): World {
  let warned = false;
  // Read each time: after a login the next session works without a restart.
  const resolve = () => {
    const credentials = resolveCredentials(env, profile);
    if (credentials.warning !== undefined && !warned) log('warn', credentials.warning);
    warned ||= credentials.warning !== undefined;
    return credentials;
  };
  return {
    target: () => {
      const credentials = resolve();
      const { key, where, baseUrl } = credentials;
      if (key === undefined) return Promise.reject(noCredentials(where));
      const fault = faultOf(credentials);
      return fault === undefined ? Promise.resolve({ key, where, baseUrl }) : Promise.reject(internalError(fault));
    },
    onGone: () => undefined,
    hasCredentials: () => resolve().key !== undefined,
    agentOpened: () => undefined,
    defaultAgent: () => undefined,
  };
}

function localWorld(log: Log): World {
  let attached: Promise<Target> | undefined;
  const attach = async (): Promise<Target> => {
    const { attachLocal } = await import('./local/attachLocal.ts');
    const { baseUrl, key } = await attachLocal();
    log('debug', `attached to the local instance at ${baseUrl}`);
    return { baseUrl, key, where: `${baseUrl} (local)` };
  };
  const forget = () => (attached = undefined);
  return {
    target: () => {
      attached ??= attach().catch((error: unknown) => {
        forget();
        throw internalError(`no local instance: ${describe(error)}`);
      });
      return attached;
    },
    onGone: forget,
    hasCredentials: () => true,
    agentOpened: (nameOrId) => rememberAgent(localDataFolder(), nameOrId),
    defaultAgent: () => rememberedAgent(localDataFolder()),
  };
}

function streamIdleMs({ FOUNTAIN_STREAM_IDLE_TIMEOUT: value }: NodeJS.ProcessEnv, log: Log): number {
  if (value === undefined || value === '') return defaultStreamIdleSeconds * 1000;
  if (/^[1-9]\d{0,6}$/.test(value)) return Number(value) * 1000;
  log('warn', `FOUNTAIN_STREAM_IDLE_TIMEOUT is no positive number of seconds; ${defaultStreamIdleSeconds} is used`);
  return defaultStreamIdleSeconds * 1000;
}

function deadlineAfter(stop$: Observable<unknown>): Observable<unknown> {
  return stop$.pipe(switchMap(() => timer(lastChanceMs)));
}

/** In a pipeline over files nobody waits at the other end, so everything is answered. */
function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile();
  } catch {
    return false;
  }
}
