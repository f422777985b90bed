import { map, type MonoTypeOperatorFunction } from 'rxjs';
import { isJsonObject, type JsonObject } from '../protocol/jsonrpc.ts';
import { elements, memberAt, replaceValue } from '../protocol/jsonText.ts';
import { updateKind, type StoredMessage } from '../protocol/stored.ts';

/** Kinds of update that the protocol allows only for a client with this member of its `session` capabilities. */
const gates: Readonly<Record<string, string>> = {
  notice: 'notices',
  compaction_update: 'compaction',
  compaction_summary_chunk: 'compaction',
};

/**
 * Leaves out what the protocol forbids to send to a client that did not declare it: notices, compaction, boolean
 * options. Kinds that nobody knows yet pass.
 *
 * Errors: passes the source's on; adds none.
 *
 * @param capabilities - Returns the client's capabilities, as `initialize` brought them.
 * @see Agent Client Protocol schema, "ClientCapabilities"
 */
export function gateKinds(capabilities: () => JsonObject): MonoTypeOperatorFunction<readonly StoredMessage[]> {
  return map((messages) => messages.flatMap((message) => gated(message, capabilities())));
}

/** Returns the message as this client may get it, or nothing. */
export function gated(message: StoredMessage, capabilities: JsonObject): readonly StoredMessage[] {
  const kind = updateKind(message);
  const gate = Object.hasOwn(gates, kind) ? gates[kind] : undefined;
  if (gate !== undefined && !declared(capabilities, ['session', gate])) return [];
  if (kind !== 'config_option_update' || declared(capabilities, ['session', 'configOptions', 'boolean'])) return [message];
  return [withoutBooleanOptions(message)];
}

function declared(capabilities: JsonObject, path: readonly string[]): boolean {
  const value = path.reduce<unknown>((at, key) => (isJsonObject(at) ? at[key] : undefined), capabilities);
  return value !== undefined && value !== null && value !== false;
}

function withoutBooleanOptions(message: StoredMessage): StoredMessage {
  const update = message.params['update'];
  const options = isJsonObject(update) ? update['configOptions'] : undefined;
  if (!Array.isArray(options) || !options.some(isBoolean)) return message;
  const path = ['params', 'update', 'configOptions'];
  const kept = elements(message.text, memberAt(message.text, path)?.valueStart ?? 0).filter((_, index) => !isBoolean(options[index]));
  return { ...message, text: replaceValue(message.text, path, `[${kept.join(',')}]`) };
}

function isBoolean(option: unknown): boolean {
  return isJsonObject(option) && option['type'] === 'boolean';
}
