import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { launcher } from './acpProcess.ts';
import { Condition } from './condition.ts';

/** The embedded instance, as `fountain serve` runs it: a process of its own, on any free port, with its own data. */
export class ServedInstance {
  readonly #child: ChildProcess;
  readonly #dataDir: string;
  readonly #condition = new Condition();
  #stderr = '';
  #ended = false;

  /** @param args - Further flags of `fountain serve`. */
  constructor(args: readonly string[] = []) {
    this.#dataDir = mkdtempSync(path.join(tmpdir(), 'fountain-spec-data-'));
    const env = { PATH: process.env['PATH'], HOME: this.#dataDir, FOUNTAIN_DEMO_DELAY_MS: '1' };
    this.#child = spawn(process.execPath, [launcher, 'serve', '--port', '0', '--data', this.#dataDir, ...args], { stdio: ['ignore', 'ignore', 'pipe'], env });
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr += chunk.toString('utf8');
      this.#condition.changed();
    });
    this.#child.on('exit', () => {
      this.#ended = true;
      this.#condition.changed();
    });
  }

  /** What it said on stderr. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Resolves when it listens. */
  async ready(): Promise<void> {
    await this.#condition.until(() => this.#ended || this.#stderr.includes('listens on'), () => `the instance to listen: ${this.#stderr}`, 15_000);
    if (this.#ended) throw new Error(`the instance ended: ${this.#stderr}`);
  }

  get baseUrl(): string {
    return (JSON.parse(readFileSync(path.join(this.#dataDir, 'instance.json'), 'utf8')) as { base_url: string }).base_url;
  }

  get key(): string {
    return readFileSync(path.join(this.#dataDir, 'key'), 'utf8').trim();
  }

  /** What a client needs to reach it, beside PATH and a HOME of its own. */
  get env(): NodeJS.ProcessEnv {
    return { PATH: process.env['PATH'], HOME: this.#dataDir, FOUNTAIN_BASE_URL: this.baseUrl, FOUNTAIN_API_KEY: this.key };
  }

  /** Sends a request to its API; resolves with the body of the answer, which must be a good one. */
  async request(method: string, route: string, body?: unknown): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.baseUrl}/api${route}`, {
      method,
      headers: { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${route}: ${response.status} ${text}`);
    return (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
  }

  /** Makes an agent that runs any ACP command. */
  async agent(name: string, runtimeCommand: string, facts: Record<string, unknown> = {}): Promise<void> {
    await this.request('POST', '/agents', { name, runtime: 'acp', runtime_command: runtimeCommand, ...facts });
  }

  async stop(): Promise<void> {
    if (!this.#ended) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await ended;
    }
    rmSync(this.#dataDir, { recursive: true, force: true });
  }
}
