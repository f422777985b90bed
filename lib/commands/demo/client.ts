import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { client, methods, ndJsonStream, type ClientConnection, type RequestPermissionRequest, type SessionUpdate } from '@agentclientprotocol/sdk';

/** What a client shows its user. */
export interface ClientView {
  /** An update of the session, in the order of the stream. */
  readonly update: (update: SessionUpdate) => void;
  /** A permission request; returns the id of the chosen option. */
  readonly question: (request: RequestPermissionRequest) => string;
  /** Diagnostics of the adapter. */
  readonly diagnostics: (text: string) => void;
}

/** An ACP client and the adapter that it spawned. */
export interface Client {
  readonly agent: ClientConnection['agent'];
  /** Closes the adapter's stdin, as an editor does that leaves; resolves with the exit code. */
  leave(): Promise<number | null>;
}

/** Spawns an adapter and connects the protocol SDK's own client to its pipes. */
export function connectClient([program, ...args]: readonly [string, ...string[]], env: NodeJS.ProcessEnv, view: ClientView): Client {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env });
  child.stderr.on('data', (chunk: Buffer) => view.diagnostics(chunk.toString('utf8')));
  const stream = ndJsonStream(Writable.toWeb(child.stdin) as WritableStream<Uint8Array>, Readable.toWeb(child.stdout));
  const connection = client({ name: 'fountain-demo' })
    .onNotification(methods.client.session.update, ({ params }) => view.update(params.update))
    .onRequest(methods.client.session.requestPermission, ({ params }) => ({ outcome: { outcome: 'selected', optionId: view.question(params) } }))
    .connect(stream);
  return { agent: connection.agent, leave: () => leave(child) };
}

async function leave(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return child.exitCode;
  const exited = once(child, 'exit');
  child.stdin?.end();
  const [code] = (await exited) as [number | null];
  return code;
}
