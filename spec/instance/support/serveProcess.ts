import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isAlive } from './isAlive.ts';
import { until } from './until.ts';

const program = fileURLToPath(new URL('serveProgram.ts', import.meta.url));

/** The server in a process of its own, so that it can be killed. */
export class ServeProcess {
  readonly dataDir: string;
  readonly #child: ChildProcess;
  stderr = '';
  exitCode: number | null = null;
  hasEnded = false;

  /** @param args - Arguments of `fountain`, after `serve`. */
  constructor(dataDir: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    this.dataDir = dataDir;
    this.#child = spawn(process.execPath, ['--import', 'tsx', program, 'serve', '--port', '0', '--data', dataDir, '--no-isolation', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => (this.stderr += `STDOUT: ${text}`));
    this.#child.on('exit', (code) => {
      this.exitCode = code;
      this.hasEnded = true;
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves with the address once it listens. */
  async listening(): Promise<string> {
    return until(() => {
      if (this.hasEnded) throw new Error(`the server ended: ${this.stderr}`);
      return /listens on (\S+)/.exec(this.stderr)?.[1];
    }, `the server to listen: ${this.stderr}`, 20_000);
  }

  get key(): string {
    return readFileSync(path.join(this.dataDir, 'key'), 'utf8').trim();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Resolves when the process has ended. */
  async ended(): Promise<void> {
    await until(() => this.hasEnded && !isAlive(this.pid), 'the end of the server', 20_000);
  }
}
