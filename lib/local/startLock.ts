import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { isAlive } from './processes.ts';

/** A lock older than this is nobody's, even where its process id was given to another process; in milliseconds. */
const maxAgeMs = 60_000;

/** The right to start the server. */
export interface StartLock {
  release(): void;
}

/**
 * Takes a lock file; null where a live process holds it.
 *
 * The lock of a process that has ended is taken over. Whoever does so holds a second lock, named after the dead one's
 * token, and looks again before it removes the file: so a slow contender never removes the lock of the next holder.
 *
 * @throws Error where the folder cannot be written, or the lock not be read.
 */
export function takeStartLock(file: string): StartLock | null {
  const token = randomUUID();
  for (;;) {
    if (create(file, token)) return { release: () => removeIfHeldBy(file, token) };
    const holder = readHolder(file);
    if (holder === null) continue;
    if (isAlive(holder.pid) && holder.ageMs < maxAgeMs) return null;
    const takeover = takeStartLock(`${file}.${holder.token}`);
    if (takeover === null) return null;
    try {
      removeIfHeldBy(file, holder.token);
    } finally {
      takeover.release();
    }
  }
}

/** Whether the file is ours now. Linking a written file makes it appear with its content, or not at all. */
function create(file: string, token: string): boolean {
  const own = `${file}.${process.pid}-${token}`;
  writeFileSync(own, `${process.pid} ${token}`, { mode: 0o600 });
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    unlinkSync(own);
  }
}

function readHolder(file: string): { pid: number; token: string; ageMs: number } | null {
  try {
    const [pid, token = ''] = readFileSync(file, 'utf8').split(' ');
    return { pid: Number(pid), token, ageMs: Date.now() - statSync(file).mtimeMs };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function removeIfHeldBy(file: string, token: string): void {
  if (readHolder(file)?.token === token) rmSync(file, { force: true });
}
