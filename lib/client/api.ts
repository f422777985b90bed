import type { IncomingMessage } from 'node:http';
import { ApiError } from '../protocol/apiError.ts';
import type { Agent, Conversation, CreateConversation, PromptSubmission } from '../protocol/fountain.ts';
import { isJsonObject, type JsonObject } from '../protocol/jsonrpc.ts';
import { HttpClient, type HttpClientOptions, type StreamQuery } from './httpClient.ts';
import { readAgent, readConversation, readData, readList } from './readers.ts';

const uuid = /^[0-9a-fA-F-]{36}$/;

/**
 * The calls of the Fountain API that an adapter makes. All reject with an {@link ApiError}; none is repeated, but for
 * reads whose shared connection turned out to be closed.
 */
export interface Api {
  me(signal: AbortSignal): Promise<JsonObject>;
  /** By id, else by exact name. */
  agent(nameOrId: string, signal: AbortSignal): Promise<Agent>;
  vaultId(nameOrId: string, signal: AbortSignal): Promise<string>;
  environmentId(nameOrId: string, signal: AbortSignal): Promise<string>;
  createConversation(body: CreateConversation, signal: AbortSignal): Promise<{ conversation: Conversation; resumed: boolean }>;
  conversation(id: string, signal: AbortSignal): Promise<Conversation>;
  /** Resolves with whether the server names the submission that a turn came from. */
  prompt(id: string, submission: PromptSubmission, signal: AbortSignal): Promise<{ correlates: boolean }>;
  interrupt(id: string, signal: AbortSignal): Promise<void>;
  answer(id: string, requestId: string, optionId: string, signal: AbortSignal): Promise<void>;
  /** Resolves with the answer's body, whose head says that it is an event stream. */
  openStream(id: string, query: StreamQuery, signal: AbortSignal): Promise<IncomingMessage>;
}

/**
 * Returns the client of one instance.
 *
 * @see Fountain HTTP and SSE contract, "What the adapter does, call by call"
 */
export function createApi(options: HttpClientOptions): Api {
  const client = new HttpClient(options);
  const idOf = async (kind: string, nameOrId: string, signal: AbortSignal): Promise<string> => {
    if (uuid.test(nameOrId)) return nameOrId;
    return String(named(readList(await client.call('GET', `${kind}s`, signal), `a list of ${kind}s`), kind, nameOrId)['id']);
  };
  const conversationPath = (id: string) => `conversations/${encodeURIComponent(id)}`;
  return {
    me: async (signal) => asObject(await client.call('GET', 'auth/me', signal)),
    agent: async (nameOrId, signal) => {
      if (uuid.test(nameOrId)) return readAgent(readData(await client.call('GET', `agents/${nameOrId}`, signal), 'an agent'));
      return readAgent(named(readList(await client.call('GET', 'agents', signal), 'a list of agents'), 'agent', nameOrId));
    },
    vaultId: (nameOrId, signal) => idOf('vault', nameOrId, signal),
    environmentId: (nameOrId, signal) => idOf('environment', nameOrId, signal),
    createConversation: async (body, signal) => {
      const answer = await client.call('POST', 'conversations', signal, body);
      const meta = asObject(asObject(answer)['meta']);
      return { conversation: readConversation(readData(answer, 'a conversation')), resumed: meta['resumed'] === true };
    },
    conversation: async (id, signal) => readConversation(readData(await client.call('GET', conversationPath(id), signal), 'a conversation')),
    prompt: async (id, submission, signal) => {
      const answer = asObject(await client.call('POST', `${conversationPath(id)}/prompts`, signal, submission));
      return { correlates: 'client_request_id' in answer };
    },
    interrupt: async (id, signal) => {
      await client.call('POST', `${conversationPath(id)}/interrupt`, signal, {});
    },
    answer: async (id, requestId, optionId, signal) => {
      const path = `${conversationPath(id)}/requests/${encodeURIComponent(requestId)}`;
      await client.call('POST', path, signal, { option_id: optionId });
    },
    openStream: (id, query, signal) => client.openStream(`${conversationPath(id)}/stream`, query, signal),
  };
}

function named(list: readonly JsonObject[], kind: string, name: string): JsonObject {
  const found = list.find((item) => item['name'] === name);
  if (found === undefined) throw new ApiError(`no ${kind} named "${name}"`, { code: 'not_found', maybeDone: false });
  return found;
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
