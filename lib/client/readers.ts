import { ApiError } from '../protocol/apiError.ts';
import type { Agent, Conversation } from '../protocol/fountain.ts';
import { isJsonObject, type JsonObject } from '../protocol/jsonrpc.ts';

/** Returns the `data` member of an answer; an {@link ApiError} says what was expected in its place. */
export function readData(body: unknown, expected: string): JsonObject {
  const data = isJsonObject(body) ? body['data'] : undefined;
  if (isJsonObject(data)) return data;
  throw unexpected(expected);
}

/** Returns the list under `data` of an answer, without what is no object. */
export function readList(body: unknown, expected: string): readonly JsonObject[] {
  const data = isJsonObject(body) ? body['data'] : undefined;
  if (Array.isArray(data)) return data.filter(isJsonObject);
  throw unexpected(expected);
}

/** Reads an agent. One without `acp` comes from a server that has no runtime without it. */
export function readAgent({ id, name, runtime, model, acp }: JsonObject): Agent {
  if (typeof id !== 'string' || id === '') throw unexpected('an agent');
  return { id, name: text(name, id), runtime: text(runtime, 'unknown'), model: text(model, null), acp: acp !== false };
}

/** Reads a conversation. */
export function readConversation(data: JsonObject): Conversation {
  const { id, title, agent_id: agentId, runtime, acp, status, channel_id: channelId } = data;
  if (typeof id !== 'string' || id === '') throw unexpected('a conversation');
  return {
    id,
    title: text(title, null),
    agent_id: text(agentId, null),
    runtime: text(runtime, 'unknown'),
    acp: acp !== false,
    status: text(status, ''),
    channel_id: text(channelId, null),
  };
}

function text<Fallback extends string | null>(value: unknown, fallback: Fallback): string | Fallback {
  return typeof value === 'string' && value !== '' ? value : fallback;
}

function unexpected(expected: string): ApiError {
  return new ApiError(`the answer holds no ${expected.replace(/^an? /, '')}; is this a Fountain instance?`, { maybeDone: true });
}
