import { client, type ClientContext } from '@agentclientprotocol/sdk';
import { isJsonObject, type JsonObject } from '../../protocol/jsonrpc.ts';
import { harnessStream } from './harnessStream.ts';
import { startProgram, type Program, type ProgramExit, type ProgramOptions } from './program.ts';
import { splitLines } from './splitLines.ts';

/** Longest line of a harness, in bytes: room for images, and an end to a program that never writes a line end. */
const maxLineBytes = 128 * 1024 * 1024;

/** A harness's question, as it asked it. */
export interface PermissionRequest {
  /** The harness's own request id as text: a string as it is, else its JSON. */
  readonly harnessId: string;
  /** The params as they came. */
  readonly raw: JsonObject;
}

/** The answer that the harness gets. */
export interface PermissionAnswer {
  readonly outcome: { readonly outcome: 'selected'; readonly optionId: string } | { readonly outcome: 'cancelled' };
}

/** The program, and where its output and its questions go. What a callback throws ends the program. */
export interface ConnectionOptions extends Omit<ProgramOptions, 'onStdout' | 'onStderr'> {
  readonly onUpdate: (line: string) => void;
  readonly onPermission: (request: PermissionRequest, signal: AbortSignal) => Promise<PermissionAnswer>;
  readonly onStdout: (text: string) => void;
  readonly onStderr: (text: string) => void;
}

/** A program that speaks ACP over its stdio. */
export interface HarnessConnection {
  readonly program: Program;
  readonly agent: ClientContext;
  /** As the program's own, after every line that it wrote has been handed on. */
  readonly exited: Promise<ProgramExit>;
}

/**
 * Starts a program and the protocol library's client over its stdio.
 *
 * Errors: rejects in words where the program cannot be started.
 */
export async function connectHarness(options: ConnectionOptions): Promise<HarnessConnection> {
  const faults = new AbortController();
  const splitter = splitLines((line) => lines.receive(line), maxLineBytes);
  const program = await startProgram({
    ...options,
    onStdout: guarded(faults, (chunk: Buffer) => splitter.push(chunk)),
    onStderr: guarded(faults, options.onStderr),
  });
  const lines = harnessStream(program.stdin, {
    onUpdate: options.onUpdate,
    onNoise: (line) => {
      program.remember(`${line}\n`);
      options.onStdout(`${line}\n`);
    },
    onFault: (error) => faults.abort(error),
  });
  faults.signal.addEventListener('abort', () => {
    program.remember(`\n${wording(faults.signal.reason)}`);
    void program.stop(0);
  });
  const connection = client({ name: 'fountain' })
    .onRequest('session/request_permission', asObject, ({ params, requestId, signal }) =>
      options.onPermission({ harnessId: typeof requestId === 'string' ? requestId : JSON.stringify(requestId), raw: params }, signal),
    )
    .connect(lines.stream);
  const exited = program.exited.then(async (exit) => {
    splitter.end();
    await lines.drained();
    return exit;
  });
  void exited.then(() => connection.close());
  return { program, agent: connection.agent, exited };
}

/** Runs a callback until the first fault; the one that throws is the fault. */
function guarded<T>(faults: AbortController, callback: (value: T) => void): (value: T) => void {
  return (value) => {
    if (faults.signal.aborted) return;
    try {
      callback(value);
    } catch (error) {
      faults.abort(error);
    }
  };
}

function asObject(params: unknown): JsonObject {
  if (!isJsonObject(params)) throw new Error('session/request_permission needs params');
  return params;
}

function wording(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
