import { spawn, type ChildProcessWithoutNullStreams, type StdioOptions } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Lines } from './client/lines.ts';
import { faultOf, type Message } from './client/messages.ts';
import { Condition } from './condition.ts';

/** The built program. */
export const launcher = new URL('../../bin/fountain.js', import.meta.url).pathname;

/** How the program is started. */
export interface Launch {
  /** Everything after the launcher's name. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Stdin and stdout, where they are no pipes: open file descriptors. */
  readonly stdin?: number;
  readonly stdout?: number;
}

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Milliseconds since it was told or given reason to. */
  readonly afterMs: number;
}

/** The built program as a child process: bytes in, messages out, everything kept. */
export class AcpProcess {
  readonly condition = new Condition();
  readonly messages: Message[] = [];
  /** What is wrong with its output, in words. */
  readonly faults: string[] = [];
  readonly startedAt = performance.now();
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines = new Lines();
  #stderr = '';
  #exit: Exit | undefined;
  #farewellAt = 0;
  #awaitedExit = false;

  constructor({ args, env, cwd, stdin, stdout }: Launch) {
    const stdio: StdioOptions = [stdin ?? 'pipe', stdout ?? 'pipe', 'pipe'];
    this.#child = spawn(process.execPath, [launcher, ...args], { stdio, env, cwd }) as ChildProcessWithoutNullStreams;
    const { stdin: input, stdout: output, stderr } = this.#child as Partial<ChildProcessWithoutNullStreams>;
    output?.on('data', (chunk: Buffer) => this.#read(chunk)).on('error', () => undefined);
    stderr?.on('data', (chunk: Buffer) => this.#note(chunk)).on('error', () => undefined);
    input?.on('error', () => undefined);
    this.#child.on('close', (code, signal) => {
      const rest = this.#lines.rest;
      if (rest !== '' && signal === null) this.faults.push(`stdout ends inside a line: ${rest.slice(-200)}`);
      this.#exit = { code, signal, afterMs: performance.now() - this.#farewellAt };
      this.condition.changed();
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Whether it ended without being asked about it. */
  get goneUnexpectedly(): boolean {
    return this.#exit !== undefined && !this.#awaitedExit;
  }

  /** Waits for a condition; a missed deadline tells how the process stands. */
  async until<T>(look: () => T | undefined | false, wanted: string, withinMs = 8000): Promise<T> {
    return this.condition.until(look, () => `${wanted}\n${this.standing}`, withinMs);
  }

  /** How the process stands, in words: for messages of specs that fail. */
  get standing(): string {
    const exit = this.#exit ? `it ended with ${this.#exit.code ?? this.#exit.signal ?? 'nothing'}` : 'it runs';
    const tail = this.messages.slice(-3).map(({ line }) => line.slice(0, 300));
    return [`${exit}; ${this.messages.length} messages came, the last of them:`, ...tail, 'the end of its stderr:', this.#stderr.slice(-1500)].join('\n');
  }

  /** Resolves when the bytes have left for the process. */
  async write(bytes: Uint8Array | string): Promise<void> {
    await new Promise<void>((resolve) => {
      if (this.#exit || this.#child.stdin.destroyed) resolve();
      else this.#child.stdin.write(bytes, () => resolve());
    });
  }

  /** Writes in pieces of so many bytes, each in a turn of the event loop of its own. */
  async writeInPieces(bytes: Uint8Array | string, pieceBytes: number): Promise<void> {
    const whole = Buffer.from(bytes);
    for (let at = 0; at < whole.length; at += pieceBytes) {
      await this.write(whole.subarray(at, at + pieceBytes));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  endInput(): void {
    this.#farewellAt = performance.now();
    this.#child.stdin.end();
  }

  stopReading(): void {
    this.#child.stdout.pause();
  }

  readAgain(): void {
    this.#child.stdout.resume();
  }

  /** Closes our end of its stdout: a client that crashed. */
  closeOutput(): void {
    this.#farewellAt = performance.now();
    this.#child.stdout.destroy();
  }

  closeDiagnostics(): void {
    this.#child.stderr.destroy();
  }

  signal(name: NodeJS.Signals): void {
    this.#farewellAt = performance.now();
    this.#child.kill(name);
  }

  /** Resolves with the way it ended. */
  async exit(withinMs = 5000): Promise<Exit> {
    this.#awaitedExit = true;
    return this.until(() => this.#exit, 'the process to end', withinMs);
  }

  /** Largest resident memory so far, in MiB; undefined where the system does not tell. */
  peakMemoryMiB(): number | undefined {
    try {
      const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
      const kiB = /VmHWM:\s+(\d+)/.exec(status)?.[1];
      return kiB === undefined ? undefined : Number(kiB) / 1024;
    } catch {
      return undefined;
    }
  }

  async kill(): Promise<void> {
    if (this.#exit) return;
    this.#awaitedExit = true;
    this.#child.kill('SIGKILL');
    await this.until(() => this.#exit, 'the killed process to be gone');
  }

  #read(chunk: Buffer): void {
    for (const line of this.#lines.push(chunk)) {
      const message = parse(line);
      const fault = faultOf(line, message);
      if (fault === undefined) this.messages.push(Object.assign(message as object, { index: this.messages.length, line }));
      else this.faults.push(`stdout: ${fault}`);
    }
    this.condition.changed();
  }

  #note(chunk: Buffer): void {
    if (this.#stderr.length < 4_000_000) this.#stderr += chunk.toString('utf8');
    this.condition.changed();
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
