import { once } from 'node:events';
import { errorCodes, isJsonObject, type JsonObject, type RequestId } from '../../protocol/jsonrpc.ts';
import { splitLines } from '../harness/splitLines.ts';

/** A refusal that the peer is answered with. */
export class CallError extends Error {
  readonly code: number;
  readonly data: JsonObject | undefined;

  /** @param code - JSON-RPC error code. */
  constructor(code: number, message: string, data?: JsonObject) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** What a program answers: requests by method, and notifications it listens to. */
export interface StdioHandlers {
  readonly requests: Readonly<Record<string, (params: JsonObject) => unknown>>;
  readonly notifications: Readonly<Record<string, (params: JsonObject) => void>>;
  /** Longest line in bytes; a longer one is handed to `onOverlong`, and nothing behind it is read. */
  readonly maxLineBytes: number;
  readonly onOverlong: () => void;
  /** The client has left: stdin ended or stdout broke. */
  readonly onEnd: () => void;
}

/** The client at the other end of stdio. */
export interface StdioPeer {
  notify(method: string, params: JsonObject): void;
  /** Asks the client; resolves with its result, or with null where it answers with an error. */
  ask(id: RequestId, method: string, params: JsonObject): Promise<unknown>;
  /** Settles once the client has read most of what was written. */
  drained(): Promise<void>;
}

/**
 * Serves JSON-RPC lines on this process's stdio: a small program's whole transport.
 *
 * Requests run as they come, each one is answered once; junk is answered and survived.
 */
export function serveStdio(handlers: StdioHandlers): StdioPeer {
  const asked = new Map<RequestId, (result: unknown) => void>();
  const splitter = splitLines((line) => receive(line), handlers.maxLineBytes);

  function send(message: JsonObject): void {
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  function refuse(id: RequestId, code: number, message: string, data?: JsonObject): void {
    send({ id, error: { code, message, ...(data && { data }) } });
  }

  function receive(line: string): void {
    if (line.trim() === '') return;
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      refuse(null, errorCodes.parseError, 'a line is not JSON');
      return;
    }
    if (!isJsonObject(message) || message['jsonrpc'] !== '2.0') refuse(null, errorCodes.invalidRequest, 'a line is no JSON-RPC 2.0 message');
    else dispatch(message);
  }

  function dispatch({ id, method, params, result }: JsonObject): void {
    const given = isJsonObject(params) ? params : {};
    if (typeof method !== 'string') settle(id as RequestId, result);
    else if (id === undefined) handlers.notifications[method]?.(given);
    else void answer(id as RequestId, method, given);
  }

  function settle(id: RequestId, result: unknown): void {
    asked.get(id)?.(result ?? null);
    asked.delete(id);
  }

  async function answer(id: RequestId, method: string, params: JsonObject): Promise<void> {
    const handler = Object.hasOwn(handlers.requests, method) ? handlers.requests[method] : undefined;
    try {
      if (!handler) throw new CallError(errorCodes.methodNotFound, `there is no method "${method}"`);
      send({ id, result: (await handler(params)) ?? {} });
    } catch (error) {
      if (error instanceof CallError) refuse(id, error.code, error.message, error.data);
      else refuse(id, errorCodes.internalError, error instanceof Error ? error.message : String(error));
    }
  }

  process.stdin.on('data', (chunk: Buffer) => {
    try {
      splitter.push(chunk);
    } catch {
      process.stdin.pause().removeAllListeners('data');
      handlers.onOverlong();
    }
  });
  process.stdin.on('end', handlers.onEnd);
  process.stdout.on('error', handlers.onEnd);
  return {
    notify: (method, params) => send({ method, params }),
    ask: (id, method, params) =>
      new Promise((resolve) => {
        asked.set(id, resolve);
        send({ id, method, params });
      }),
    drained: async () => {
      if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
    },
  };
}

/** Ends this process once what it wrote has left it. */
export function exitWhenWritten(status: number): void {
  process.exitCode = status;
  process.stdout.write('', () => process.exit(status));
}
