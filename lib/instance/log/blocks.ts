import { isJsonObject } from '../../protocol/jsonrpc.ts';
import type { JsonObject } from '../../protocol/jsonrpc.ts';
import type { StoredEvent } from '../store/store.ts';

/** A part of an event in the form that a transcript view shows. */
export type Block = JsonObject & { readonly kind: string };

const endedStatuses = new Set(['completed', 'failed', 'cancelled']);
const longestValue = 40;
const longestSummary = 120;

/**
 * Returns an event's blocks: text, thinking, tool calls and their results, questions; none for a stage event.
 *
 * @see Fountain HTTP and SSE contract, section 5.8
 */
export function blocksOf(event: Pick<StoredEvent, 'kind' | 'stream' | 'data'>): readonly Block[] {
  if (event.kind === 'stage') return [];
  if (event.stream !== 'acp') return [{ kind: 'raw', body: event.data, summary: event.stream }];
  const message = parsed(event.data);
  const params = message?.['params'];
  if (!message || !isJsonObject(params)) return [{ kind: 'raw', body: event.data, summary: 'acp' }];
  if (message['method'] === 'session/request_permission') return [permissionBlock(message, params)];
  const update = params['update'];
  return isJsonObject(update) ? updateBlocks(update, event.data) : [{ kind: 'raw', body: event.data, summary: 'acp' }];
}

function updateBlocks(update: JsonObject, data: string): readonly Block[] {
  const kind = update['sessionUpdate'];
  if (kind === 'agent_message_chunk') return [{ kind: 'text', body: textOf(update['content']) }];
  if (kind === 'agent_thought_chunk') return [{ kind: 'thinking', body: textOf(update['content']) }];
  if (kind === 'tool_call') return [toolUse(update), ...toolResult(update)];
  if (kind === 'tool_call_update') return toolResult(update);
  if (kind === 'plan') return [{ kind: 'plan', entries: update['entries'] ?? [] }];
  return [{ kind: 'raw', body: data, summary: typeof kind === 'string' ? kind : 'acp' }];
}

function toolUse(call: JsonObject): Block {
  const body = call['rawInput'] === undefined ? textOf(call['content']) : JSON.stringify(call['rawInput']);
  return { kind: 'tool_use', id: call['toolCallId'] ?? null, name: toolName(call), summary: summaryOf(call), body };
}

function toolResult(call: JsonObject): readonly Block[] {
  const status = call['status'];
  if (typeof status !== 'string' || !endedStatuses.has(status)) return [];
  const body = textOf(call['content']) || (call['rawOutput'] === undefined ? '' : asText(call['rawOutput']));
  return [{ kind: 'tool_result', tool_id: call['toolCallId'] ?? null, body, error: status !== 'completed' }];
}

function permissionBlock(message: JsonObject, params: JsonObject): Block {
  const call = isJsonObject(params['toolCall']) ? params['toolCall'] : {};
  return { kind: 'permission_request', request_id: message['id'] ?? null, name: toolName(call), summary: summaryOf(call), options: params['options'] ?? [] };
}

function toolName(call: JsonObject): string {
  const { title, kind } = call;
  return typeof title === 'string' && title !== '' ? title : typeof kind === 'string' && kind !== '' ? kind : 'tool';
}

function summaryOf(call: JsonObject): string {
  const [location] = Array.isArray(call['locations']) ? (call['locations'] as unknown[]) : [];
  if (isJsonObject(location) && typeof location['path'] === 'string') return location['path'];
  const input = call['rawInput'];
  if (!isJsonObject(input)) return '';
  const pairs = Object.entries(input).map(([key, value]) => `${key}=${asText(value).slice(0, longestValue)}`);
  return pairs.join(' ').slice(0, longestSummary);
}

function textOf(content: unknown): string {
  if (Array.isArray(content)) return content.map(textOf).join('');
  if (!isJsonObject(content)) return '';
  if (typeof content['text'] === 'string') return content['text'];
  return textOf(content['content']);
}

function asText(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function parsed(text: string): JsonObject | null {
  try {
    const value = JSON.parse(text) as unknown;
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
