import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A file beside this one. */
export const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const launcher = here('../../bin/fountain.js');

/** Programs that are measured side by side. */
export const programs = {
  bare: [here('bare.cjs')],
  yardstick: [here('yardstick.mjs')],
  fountain: [launcher, 'acp'],
  help: [launcher, '--help'],
} as const;

/** A program under measurement, spoken to over its pipes. */
export class Subject {
  readonly startedAt = performance.now();
  /** Lines that came, and bytes. */
  lines = 0;
  readonly #child: ChildProcess;
  #rest = '';
  #nextId = 1;
  #onLine: (line: string, at: number) => void = () => undefined;

  constructor(args: readonly string[], baseUrl = '') {
    const env = { ...process.env, FOUNTAIN_BASE_URL: baseUrl, FOUNTAIN_API_KEY: 'ftn_bench' };
    this.#child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'], env });
    this.#child.stdin?.on('error', () => undefined);
    this.#child.stdout?.on('data', (chunk: Buffer) => this.#read(chunk.toString('latin1'), performance.now()));
  }

  /** Resolves with the time of the first byte on stdout, in milliseconds since the start. */
  async firstByte(): Promise<number> {
    const first = new Promise<number>((resolve) => (this.#onLine = (_, at) => resolve(at)));
    return (await first) - this.startedAt;
  }

  /**
   * Sends a request; resolves with when it was sent and answered, and when the first line came, on the clock of
   * `performance.now`.
   */
  async call(method: string, params: object, onLine: (line: string) => void = () => undefined): Promise<{ sentAt: number; firstAt: number; answeredAt: number }> {
    const id = (this.#nextId += 1);
    const answer = `"id":${id},"result"`;
    let firstAt = 0;
    const answered = new Promise<number>((resolve) => {
      this.#onLine = (line, at) => {
        firstAt ||= at;
        onLine(line);
        if (line.length < 2_000 && line.includes(answer)) resolve(at);
      };
    });
    const sentAt = performance.now();
    this.send({ jsonrpc: '2.0', id, method, params });
    const answeredAt = await answered;
    return { sentAt, firstAt, answeredAt };
  }

  send(message: object): void {
    this.#child.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  /** Peak or present resident size in MiB, as Linux tells it; NaN elsewhere. */
  memory(kind: 'VmHWM' | 'VmRSS'): number {
    try {
      const kib = new RegExp(`${kind}:\\s+(\\d+)`).exec(readFileSync(`/proc/${String(this.#child.pid)}/status`, 'utf8'))?.[1];
      return Number(kib) / 1024;
    } catch {
      return NaN;
    }
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill();
    await exited;
  }

  #read(text: string, at: number): void {
    const parts = (this.#rest + text).split('\n');
    this.#rest = parts.pop() ?? '';
    this.lines += parts.length;
    for (const line of parts) this.#onLine(line, at);
  }
}

/** The reduced instance, in a process of its own. */
export class BenchServer {
  readonly baseUrl: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: string) {
    this.#child = child;
    this.baseUrl = `http://127.0.0.1:${port}`;
  }

  static async start(): Promise<BenchServer> {
    const child = spawn(process.execPath, [here('server.mjs')], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    return new BenchServer(child, port.toString().trim());
  }

  close(): void {
    this.#child.kill();
  }
}
