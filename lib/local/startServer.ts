import { spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isAlive } from './processes.ts';
import { readJson } from './runningInstance.ts';

/** Seconds without a client, a turn and anything to do after which the server ends by itself. */
const idleExitSeconds = 1800;

/** Size in bytes at which a log is put aside. */
const maxLogBytes = 1024 * 1024;

/** Characters of a log that an error quotes. */
const maxTail = 1500;

/** Longest that a server counts as starting, in milliseconds. */
const maxStartMs = 60_000;

/** What a server must not inherit: credentials and marks that belong to the process that happens to start it. */
const withheld = ['FOUNTAIN_API_KEY', 'FOUNTAIN_TOKEN', 'FOUNTAIN_BASE_URL', 'FOUNTAIN_CONVERSATION_ID', 'FOUNTAIN_SANDBOX_ID', 'FOUNTAIN_HARNESS_MARK'];

/** A server that has been started and may not listen yet. */
export interface StartingServer {
  readonly pid: number;
  /** What it wrote to its log since it was started. */
  logTail(): string;
  /** Ends it and its group. */
  kill(): void;
}

/** Program and first arguments that run `fountain`: this Node and the package's launcher. */
export function fountainCommand(): readonly [string, ...string[]] {
  const root = import.meta.url.endsWith('.ts') ? '../../' : '../';
  return [process.execPath, fileURLToPath(new URL(`${root}bin/fountain.js`, import.meta.url))];
}

/**
 * Starts `fountain serve` in a session of its own, so that it outlives the client and whoever kills the client's group.
 *
 * Its output goes to `serve.log` in the data folder, readable by its user alone. To be called under the start lock.
 */
export function startServer(dataFolder: string, [command, ...args]: readonly [string, ...string[]]): StartingServer {
  const logFile = path.join(dataFolder, 'serve.log');
  if ((statSync(logFile, { throwIfNoEntry: false })?.size ?? 0) > maxLogBytes) renameSync(logFile, `${logFile}.old`);
  const log = openSync(logFile, 'a', 0o600);
  const from = fstatSync(log).size;
  try {
    const child = spawn(command, [...args, 'serve', '--port', '0', '--data', dataFolder, '--idle-exit', String(idleExitSeconds)], {
      cwd: dataFolder,
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !withheld.includes(name))),
      detached: true,
      stdio: ['ignore', log, log],
      windowsHide: true,
    });
    // A program that cannot be started has no process id: 0 says so.
    child.on('error', () => undefined);
    child.unref();
    const pid = child.pid ?? 0;
    writeFileSync(startingFile(dataFolder), JSON.stringify({ pid }), { mode: 0o600 });
    return server(pid, logFile, from);
  } finally {
    closeSync(log);
  }
}

/** The server that a client started which then was killed; null where there is none that may still come up. */
export function serverBeingStarted(dataFolder: string): StartingServer | null {
  const { pid } = readJson(startingFile(dataFolder));
  if (typeof pid !== 'number' || !isAlive(pid)) return null;
  const ageMs = Date.now() - (statSync(startingFile(dataFolder), { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return ageMs < maxStartMs ? server(pid, path.join(dataFolder, 'serve.log'), 0) : null;
}

/** Forgets the server on its way: it has arrived, or never will. */
export function forgetStart(dataFolder: string): void {
  rmSync(startingFile(dataFolder), { force: true });
}

function server(pid: number, logFile: string, from: number): StartingServer {
  return {
    pid,
    logTail: () => {
      try {
        return readFileSync(logFile).subarray(from).toString('utf8').trim().slice(-maxTail);
      } catch {
        return '';
      }
    },
    kill: () => {
      // Signals to process 0 go to our own group.
      if (pid === 0) return;
      try {
        process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
      } catch {
        // It ended by itself.
      }
    },
  };
}

function startingFile(dataFolder: string): string {
  return path.join(dataFolder, 'starting.json');
}
