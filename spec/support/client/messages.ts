import type { ErrorObject, JsonObject } from '../../../lib/protocol/jsonrpc.ts';

/** One message of the program's, in the order of arrival. */
export interface Message {
  /** Place among all messages, from 0. */
  readonly index: number;
  /** The line as it came. */
  readonly line: string;
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: ErrorObject;
}

/** A `session/update` of one session. */
export interface Update {
  readonly index: number;
  readonly line: string;
  readonly sessionId: string;
  /** Empty where the program sent no object. */
  readonly update: JsonObject;
}

/** Returns what is wrong with a line as a JSON-RPC message, in words; undefined where it is sound. */
export function faultOf(line: string, message: unknown): string | undefined {
  if (line === '') return 'an empty line';
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return `no JSON object: ${line.slice(0, 200)}`;
  const { jsonrpc, method, result, error } = message as Partial<Record<string, unknown>> & Pick<Message, 'error'>;
  if (jsonrpc !== '2.0') return `no JSON-RPC message: ${line.slice(0, 200)}`;
  if (method !== undefined) return undefined;
  if (!('id' in message)) return `neither a call nor an answer: ${line.slice(0, 200)}`;
  if ((result === undefined) === (error === undefined)) return `an answer needs a result or an error: ${line.slice(0, 200)}`;
  if (error === undefined) return typeof result === 'object' && result !== null ? undefined : `a result that is no object: ${line.slice(0, 200)}`;
  return Number.isInteger(error.code) && error.message !== '' ? undefined : `an unsound error: ${line.slice(0, 200)}`;
}

/** Returns the joined text of the agent's message chunks. */
export function textOf(updates: readonly Update[]): string {
  return updates
    .filter(({ update }) => update['sessionUpdate'] === 'agent_message_chunk')
    .map(({ update }) => (update['content'] as { text?: string }).text ?? '')
    .join('');
}
