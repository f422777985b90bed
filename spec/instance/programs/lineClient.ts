import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { JsonObject } from '../../../lib/protocol/jsonrpc.ts';

/** A client that speaks JSON-RPC lines to a program and keeps all that it wrote. */
export class LineClient {
  readonly child: ChildProcessWithoutNullStreams;
  readonly lines: JsonObject[] = [];
  readonly exited: Promise<number | null>;
  #watchers: (() => void)[] = [];
  #nextId = 0;

  /** @param args - Arguments of this Node: a program's file first. */
  constructor(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}) {
    this.child = spawn(process.execPath, args, { cwd, env: { ...process.env, ...env } });
    this.exited = new Promise((resolve) => this.child.once('close', (code) => resolve(code)));
    this.child.stdin.on('error', () => undefined);
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      this.lines.push(JSON.parse(line) as JsonObject);
      for (const watch of this.#watchers) watch();
    });
  }

  /** Writes one message, or raw text. */
  send(message: object | string): void {
    this.child.stdin.write(typeof message === 'string' ? message : `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** Asks; resolves with the whole response. */
  async ask(method: string, params: object): Promise<{ result?: JsonObject; error?: { code: number; message: string; data?: JsonObject } }> {
    const id = (this.#nextId += 1);
    this.send({ id, method, params });
    return this.until((line) => line['id'] === id && line['method'] === undefined);
  }

  /** Resolves with the first line, written already or not, that fits. */
  async until(fits: (line: JsonObject) => boolean): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no such line among: ${JSON.stringify(this.lines)}`)), 8000);
      const watch = (): void => {
        const line = this.lines.find(fits);
        if (!line) return;
        clearTimeout(timer);
        this.#watchers = this.#watchers.filter((other) => other !== watch);
        resolve(line);
      };
      this.#watchers.push(watch);
      watch();
    });
  }

  /** The updates written so far. */
  updates(): JsonObject[] {
    return this.lines.flatMap(({ method, params }) => (method === 'session/update' ? [(params as { update: JsonObject }).update] : []));
  }

  /** What the agent said so far. */
  said(): string {
    return this.updates()
      .filter((update) => update['sessionUpdate'] === 'agent_message_chunk')
      .map((update) => (update['content'] as { text: string }).text)
      .join('');
  }

  /** Closes stdin and resolves with the exit status. */
  async leave(): Promise<number | null> {
    this.child.stdin.end();
    return this.exited;
  }
}
