import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { signalGroup } from '../harness/processTree.ts';
import type { RuntimeCommand } from './context.ts';

/** A command that runs to its end. */
export interface CommandOptions extends RuntimeCommand {
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly onOutput: (stream: 'stdout' | 'stderr', text: string) => void;
}

/**
 * Runs a command in a process group of its own and returns its exit code.
 *
 * Errors: rejects in words where it cannot be started, and with the signal's reason once that aborts and the group is gone.
 */
export async function runCommand({ command, args, env, cwd, signal, onOutput }: CommandOptions): Promise<number> {
  signal.throwIfAborted();
  const child = spawn(command, [...args], { cwd, env: { ...env }, detached: true, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
  const abort = (): void => {
    if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
  };
  signal.addEventListener('abort', abort, { once: true });
  child.stdout.setEncoding('utf8').on('data', (text: string) => onOutput('stdout', text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => onOutput('stderr', text));
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once('error', (error) => reject(new Error(`could not start "${command}": ${error.message}`, { cause: error })));
      child.once('exit', (exitCode) => resolve(exitCode ?? 1));
    });
    await Promise.race([new Promise((resolve) => child.once('close', resolve)), delay(1000)]);
    signal.throwIfAborted();
    return code;
  } finally {
    signal.removeEventListener('abort', abort);
    // Whatever it left in the background would outlive the sandbox.
    abort();
  }
}
