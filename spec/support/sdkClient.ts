import { client, methods, ndJsonStream, type ClientConnection, type RequestPermissionRequest, type RequestPermissionResponse, type SessionNotification } from '@agentclientprotocol/sdk';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { launcher } from './acpProcess.ts';
import { Condition } from './condition.ts';

/** The protocol SDK's own client, over the pipes of the built program. */
export class SdkClient {
  readonly connection: ClientConnection;
  readonly condition = new Condition();
  readonly updates: SessionNotification[] = [];
  readonly questions: RequestPermissionRequest[] = [];
  /** How a question is answered; dismissed unless a spec says otherwise. */
  onQuestion: (request: RequestPermissionRequest) => RequestPermissionResponse | Promise<RequestPermissionResponse> = () => ({
    outcome: { outcome: 'cancelled' },
  });
  readonly #child: ChildProcess;
  #stderr = '';

  /** @param args - Arguments of `fountain acp`. */
  constructor(args: readonly string[], env: NodeJS.ProcessEnv) {
    const child = spawn(process.execPath, [launcher, 'acp', ...args], { stdio: ['pipe', 'pipe', 'pipe'], env });
    this.#child = child;
    child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr += chunk.toString('utf8');
    });
    const stream = ndJsonStream(
      Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
      Readable.toWeb(child.stdout),
    );
    this.connection = client({ name: 'spec' })
      .onNotification(methods.client.session.update, ({ params }) => {
        this.updates.push(params);
        this.condition.changed();
      })
      .onRequest(methods.client.session.requestPermission, async ({ params }) => {
        this.questions.push(params);
        this.condition.changed();
        return this.onQuestion(params);
      })
      .connect(stream);
  }

  get stderr(): string {
    return this.#stderr;
  }

  get agent(): ClientConnection['agent'] {
    return this.connection.agent;
  }

  /** Returns what the agent said in one session. */
  text(sessionId: string): string {
    return this.updates
      .filter((notification) => notification.sessionId === sessionId)
      .map(({ update }) => (update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text' ? update.content.text : ''))
      .join('');
  }

  /** Resolves when the agent has said this in the session, all in all. */
  async said(sessionId: string, text: string): Promise<void> {
    await this.condition.until(() => this.text(sessionId).includes(text), () => `the agent to say ${text}; it said ${this.text(sessionId)}\n${this.#stderr}`);
  }

  /** Ends the program's stdin, as a client does that leaves; resolves with the exit code. */
  async leave(): Promise<number | null> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    const ended = once(this.#child, 'exit');
    this.#child.stdin?.end();
    const [code] = (await ended) as [number | null];
    return code;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
