import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';

/**
 * Returns what tells a process from a later one with its number: the boot and the tick in which it started; null where
 * there is no such process.
 *
 * @param pid - Process id.
 */
export async function processIdentity(pid: number): Promise<string | null> {
  if (process.platform !== 'linux') return startedAt(pid);
  try {
    const [stat, boot] = await Promise.all([readFile(`/proc/${pid}/stat`, 'utf8'), readFile('/proc/sys/kernel/random/boot_id', 'utf8')]);
    // The name before the last parenthesis may hold blanks; start time is field 22, the 20th after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return `${boot.trim()}/${fields[19] ?? ''}`;
  } catch {
    return null;
  }
}

function startedAt(pid: number): string | null {
  if (process.platform === 'win32') return null;
  const { status, stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return status === 0 && stdout.trim() !== '' ? stdout.trim() : null;
}
