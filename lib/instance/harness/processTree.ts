import { readdir, readFile } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';

/**
 * Signals a process group; false where there is none any more.
 *
 * @param leader - Process id of the group's leader, which was started detached.
 */
export function signalGroup(leader: number, signal: NodeJS.Signals): boolean {
  try {
    if (process.platform === 'win32') return spawnSync('taskkill', ['/pid', String(leader), '/t', '/f']).status === 0;
    process.kill(-leader, signal);
    return true;
  } catch {
    return false;
  }
}

/**
 * Kills every process of this user that was started with an environment variable of this value, wherever it moved to.
 *
 * Tools that coding agents start often lead a group of their own, so that ending the agent's group does not reach them;
 * the environment they inherited still tells whose they are. The variable must name one owner alone: whatever carries
 * it is killed. Returns once none is left, or after a few rounds. Does nothing where there is no `/proc`.
 */
export async function killStrays(variable: string, value: string): Promise<void> {
  for (let round = 0; round < 10; round += 1) {
    const strays = await processesWith(`${variable}=${value}`);
    if (strays.length === 0) return;
    for (const pid of strays) kill(pid);
    await new Promise((resolve) => setTimeout(resolve, 10 * round));
  }
}

async function processesWith(assignment: string): Promise<number[]> {
  const entries = await readdir('/proc').catch((): string[] => []);
  const pids = entries.filter((entry) => /^\d+$/.test(entry)).map(Number).filter((pid) => pid !== process.pid);
  const owned = await Promise.all(pids.map((pid) => hasInEnvironment(pid, assignment)));
  return pids.filter((_, index) => owned[index]);
}

async function hasInEnvironment(pid: number, assignment: string): Promise<boolean> {
  // A zombie's environment is empty and that of another user's process is not readable: neither is ours to kill.
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  return environment.split('\0').includes(assignment);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself meanwhile.
  }
}
