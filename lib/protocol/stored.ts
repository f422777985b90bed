import type { ServerEvent } from './fountain.ts';
import { isJsonObject, type JsonObject } from './jsonrpc.ts';
import { memberAt, onOneLine } from './jsonText.ts';

/**
 * One ACP message of the sandbox's agent as the instance stored it. The text is what is forwarded, edited in place; the
 * parsed form is for looking only.
 */
export interface StoredMessage {
  readonly text: string;
  readonly method: 'session/update' | 'session/request_permission';
  readonly params: JsonObject;
  /** Of a permission request: its id as the answer route wants it. */
  readonly requestId?: string;
}

/**
 * Returns the message of an event of the `acp` stream; undefined for what is not forwarded: other methods, responses,
 * text that is no JSON-RPC.
 *
 * @see Fountain HTTP and SSE contract, "Stored ACP lines"
 */
export function readStored({ data }: ServerEvent): StoredMessage | undefined {
  const message = parse(data);
  if (!isJsonObject(message) || !isJsonObject(message['params'])) return undefined;
  const { method, params, id } = message;
  const text = onOneLine(data);
  if (method === 'session/update' && id === undefined) return { text, method, params };
  if (method !== 'session/request_permission' || id === undefined) return undefined;
  return { text, method, params, requestId: typeof id === 'string' ? id : rawId(text) };
}

/** Returns the kind of an update; empty for a permission request. */
export function updateKind({ method, params }: StoredMessage): string {
  const update = method === 'session/update' ? params['update'] : undefined;
  const kind = isJsonObject(update) ? update['sessionUpdate'] : undefined;
  return typeof kind === 'string' ? kind : '';
}

const metadataKinds = new Set(['session_info_update', 'available_commands_update', 'current_mode_update']);

/** Whether an update concerns the conversation and not a turn, so that it may come when none is open. */
export function isMetadata(message: StoredMessage): boolean {
  return metadataKinds.has(updateKind(message));
}

/** Where a message speaks of a tool call: the path of keys to it, and the tool call; undefined where it does not. */
export function toolCallOf(message: StoredMessage): { path: readonly string[]; toolCall: JsonObject } | undefined {
  const kind = updateKind(message);
  const key = message.method === 'session/request_permission' ? 'toolCall' : 'update';
  if (key === 'update' && kind !== 'tool_call' && kind !== 'tool_call_update') return undefined;
  const toolCall = message.params[key];
  return isJsonObject(toolCall) ? { path: ['params', key], toolCall } : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function rawId(text: string): string {
  const id = memberAt(text, ['id']);
  return id ? text.slice(id.valueStart, id.valueEnd) : '';
}
