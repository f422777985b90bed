import { errorCodes, isJsonObject, type ErrorObject, type JsonObject } from './jsonrpc.ts';
import { member } from './jsonText.ts';

/**
 * One line of the client's, read. A request id is kept as JSON text, so that it goes back exactly as it came: `1.0`,
 * `"1"` and integers beyond 2^53 included.
 */
export type Frame =
  | { readonly kind: 'request'; readonly id: string; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'response'; readonly id: string; readonly result?: unknown; readonly error?: unknown }
  /** Answered with an error, under the request's id or null. */
  | { readonly kind: 'invalid'; readonly id: string; readonly error: ErrorObject }
  /** Told on stderr and not answered: noise, which is no JSON-RPC at all. */
  | { readonly kind: 'noise'; readonly reason: string };

/** A request as a method handler gets it. */
export type RequestFrame = Extract<Frame, { kind: 'request' }>;

/** What goes up to the client: lines without their line ends, each one JSON-RPC message. */
export type Lines = readonly string[];

const unknownId = 'null';

/**
 * Reads one line as a JSON-RPC message. Never throws: what can't be read is a value too.
 *
 * A line that does not even start like JSON is noise (a banner, an escape sequence, a `Content-Length` header) and gets
 * no answer; a broken message gets -32700, something that is no single message -32600.
 *
 * @see https://www.jsonrpc.org/specification, "Error object" and "Batch"
 */
export function readFrame(line: string): Frame {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    if (!/^\s*[{[]/.test(line)) return { kind: 'noise', reason: `ignored an unreadable line of ${line.length} characters on stdin` };
    return invalid(unknownId, errorCodes.parseError, 'this line is not JSON; one JSON-RPC message a line is expected');
  }
  if (Array.isArray(message)) return invalid(unknownId, errorCodes.invalidRequest, 'JSON-RPC batches are not supported; send one message a line');
  if (!isJsonObject(message)) return invalid(unknownId, errorCodes.invalidRequest, 'a JSON-RPC message is an object');
  return readMessage(line, message);
}

function readMessage(line: string, message: JsonObject): Frame {
  const id = idText(line, message);
  const { method, params } = message;
  if (method === undefined && id !== undefined && ('result' in message || 'error' in message)) {
    return { kind: 'response', id, result: message['result'], error: message['error'] };
  }
  const fault = faultOf(message, id);
  if (fault !== undefined || typeof method !== 'string') {
    return invalid(id ?? unknownId, errorCodes.invalidRequest, fault ?? '"method" must be a string');
  }
  return readCall(id, method, params ?? {});
}

function readCall(id: string | undefined, method: string, params: unknown): Frame {
  const known = isJsonObject(params);
  if (id === undefined) return { kind: 'notification', method, params: known ? params : {} };
  return known ? { kind: 'request', id, method, params } : invalid(id, errorCodes.invalidParams, '"params" must be an object');
}

function faultOf(message: JsonObject, id: string | undefined): string | undefined {
  if (message['jsonrpc'] !== '2.0') return '"jsonrpc" must be "2.0"';
  if ('id' in message && id === undefined) return '"id" must be a string, a number or null';
  return undefined;
}

/**
 * Returns the frame for a line that was too long to be kept: an error under the request's id, where the line's first
 * bytes show one, so that its sender does not wait for ever.
 *
 * @param head - The line's beginning.
 * @param limit - Longest line in bytes.
 */
export function tooLongFrame(head: string, limit: number): Frame {
  const id = /^\s*\{[^{}[\]]*?"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*)/.exec(head)?.[1] ?? unknownId;
  return invalid(id, errorCodes.invalidRequest, `a line of more than ${limit} bytes was skipped`);
}

function idText(line: string, { id }: JsonObject): string | undefined {
  if (id === null || typeof id === 'string') return JSON.stringify(id);
  if (typeof id !== 'number') return undefined;
  const found = member(line, line.indexOf('{'), 'id');
  return found ? line.slice(found.valueStart, found.valueEnd) : undefined;
}

function invalid(id: string, code: number, message: string): Frame {
  return { kind: 'invalid', id, error: { code, message } };
}

/** Returns the line that answers a request with a result. */
export function resultLine(id: string, result: JsonObject): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
}

/** Returns the line that answers a request with an error. */
export function errorLine(id: string, { code, message, data }: ErrorObject): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message, data })}}`;
}

/** Returns the line of a notification. */
export function notificationLine(method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params });
}
