import { readFileSync } from 'node:fs';

/** Whether a process of this id runs, whoever's it is. */
export function isAlive(pid: number): boolean {
  // 0 and negative numbers name groups, ours among them.
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** A process that has ended keeps its id until its parent asks, and an idle init in a container may never do so. */
function isZombie(pid: number): boolean {
  try {
    return / [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, ''));
  } catch {
    // No such file system: signal 0 has to do.
    return false;
  }
}
