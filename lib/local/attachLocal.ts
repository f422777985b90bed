import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { localDataFolder, makeDataFolder, reasonOf } from './dataFolder.ts';
import { isAlive } from './processes.ts';
import { findRunningInstance, type LocalInstance } from './runningInstance.ts';
import { takeStartLock, type StartLock } from './startLock.ts';
import { forgetStart, fountainCommand, serverBeingStarted, startServer, type StartingServer } from './startServer.ts';

/** Between two looks at whether the server listens, in milliseconds. */
const pollMs = 40;

/** How to attach; everything has a default. */
export interface LocalOptions {
  /** @defaultValue `FOUNTAIN_LOCAL_DATA`, else `.fountain/local` in the home folder */
  readonly dataFolder?: string;
  /** Until the server must answer, in milliseconds. @defaultValue 15000 */
  readonly deadlineMs?: number;
  /** Program and first arguments that run `fountain`. @defaultValue this package's launcher */
  readonly command?: readonly [string, ...string[]];
  /** Gives the attempt up; a server that was started goes on. */
  readonly signal?: AbortSignal;
}

/**
 * Returns how to reach this user's local instance: the one that runs, else one that is started now and outlives us.
 *
 * However many clients ask at once, one of them starts one server; the others wait for it. Nothing is written to stdout.
 *
 * Errors: rejects in words, with the end of the server's log, where no server answers in time.
 *
 * @see Specification, "Lifecycle, sandboxes, and what survives"
 */
export async function attachLocal(options: LocalOptions = {}): Promise<LocalInstance> {
  const dataFolder = options.dataFolder ?? localDataFolder();
  const deadline = Date.now() + (options.deadlineMs ?? 15_000);
  for (;;) {
    options.signal?.throwIfAborted();
    const running = await findRunningInstance(dataFolder);
    if (running) return running;
    const lock = lockStart(dataFolder);
    if (lock) {
      try {
        return await startLocked(dataFolder, options, deadline);
      } finally {
        lock.release();
      }
    }
    if (Date.now() > deadline) throw new Error(`another client is starting the local instance in ${dataFolder}, but it does not answer; prompt again in a minute`);
    await delay(pollMs, undefined, { signal: options.signal });
  }
}

function lockStart(dataFolder: string): StartLock | null {
  makeDataFolder(dataFolder);
  try {
    return takeStartLock(path.join(dataFolder, 'start.lock'));
  } catch (error) {
    throw new Error(`could not write to the folder of the local instance: ${reasonOf(error)}; FOUNTAIN_LOCAL_DATA names another`, { cause: error });
  }
}

async function startLocked(dataFolder: string, { command, signal }: LocalOptions, deadline: number): Promise<LocalInstance> {
  // The holder before us may have been killed with its server on the way; one server is enough.
  const inherited = serverBeingStarted(dataFolder);
  const arrived = inherited ? await arrival(dataFolder, inherited, deadline, signal) : await findRunningInstance(dataFolder);
  if (arrived) return arrived;
  const server = startServer(dataFolder, command ?? fountainCommand());
  const instance = await arrival(dataFolder, server, deadline, signal);
  if (!instance) throw new Error(startError('ended at once', server));
  return instance;
}

/** The instance once it answers; null where the server ends before. */
async function arrival(dataFolder: string, server: StartingServer, deadline: number, signal?: AbortSignal): Promise<LocalInstance | null> {
  for (;;) {
    const alive = isAlive(server.pid);
    const found = await findRunningInstance(dataFolder);
    if (found || !alive) {
      forgetStart(dataFolder);
      return found;
    }
    if (Date.now() > deadline) {
      // Left alone it might listen later, beside the server that the next client starts.
      server.kill();
      throw new Error(startError('did not answer in time', server));
    }
    await delay(pollMs, undefined, { signal });
  }
}

function startError(what: string, server: StartingServer): string {
  const tail = server.logTail();
  return `the local instance was started and ${what}; ${tail === '' ? 'it said nothing' : `it said: ${tail}`}`;
}
