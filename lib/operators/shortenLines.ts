import { map, type MonoTypeOperatorFunction } from 'rxjs';
import { isJsonObject, type JsonObject } from '../protocol/jsonrpc.ts';
import type { StoredMessage } from '../protocol/stored.ts';

/** Longest line that goes to a client, in bytes, its line end included: the least that a known client takes. */
export const maxClientLineBytes = 10_000_000 - 1;

/** Where a shortened message says how long it was, in bytes. */
export const shortenedBytes = 'fountain.shortenedFromBytes';

/** Longest string left in a message that is too long, in characters; the next is tried where one is not enough. */
const cuts = [1_000_000, 100_000, 10_000, 1_000, 100];

/**
 * Shortens messages whose line is longer than clients take, and marks them in `_meta`: a client that meets a longer
 * line drops the connection, and with it the conversation.
 *
 * Errors: passes the source's on; adds none.
 *
 * @param limit - Longest line in bytes.
 */
export function shortenLines(limit = maxClientLineBytes): MonoTypeOperatorFunction<readonly StoredMessage[]> {
  return map((messages) => messages.flatMap((message) => shortened(message, limit)));
}

/** Returns the message in at most so many bytes; nothing, where cutting its strings is not enough. */
export function shortened(message: StoredMessage, limit: number): readonly StoredMessage[] {
  const { text } = message;
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (text.length * 3 < limit || Buffer.byteLength(text) < limit) return [message];
  const mark = { [shortenedBytes]: Buffer.byteLength(text) };
  for (const length of cuts) {
    const value = marked(cut(JSON.parse(text), length), mark);
    const candidate = JSON.stringify(value);
    if (Buffer.byteLength(candidate) < limit) return [{ ...message, text: candidate }];
  }
  return [];
}

function marked(value: unknown, mark: JsonObject): unknown {
  if (!isJsonObject(value) || !isJsonObject(value['params'])) return value;
  const { params } = value;
  const key = isJsonObject(params['update']) ? 'update' : 'toolCall';
  const inner = params[key];
  if (!isJsonObject(inner)) return value;
  const meta = isJsonObject(inner['_meta']) ? inner['_meta'] : {};
  return { ...value, params: { ...params, [key]: { ...inner, _meta: { ...meta, ...mark } } } };
}

function cut(value: unknown, length: number): unknown {
  if (typeof value === 'string') return value.length > length ? `${value.slice(0, length).toWellFormed()}… [${value.length} characters]` : value;
  if (Array.isArray(value)) return value.map((item) => cut(item, length));
  if (!isJsonObject(value)) return value;
  if (typeof value['data'] === 'string' && value['data'].length > length) return withheld(value);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cut(item, length)]));
}

/** Half an image is none, so the client reads that there was one. */
function withheld(block: JsonObject): JsonObject {
  return { type: 'text', text: `[${String(block['mimeType'] ?? block['type'])}, too large to show]` };
}
