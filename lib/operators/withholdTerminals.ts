import { map, type MonoTypeOperatorFunction } from 'rxjs';
import { isJsonObject } from '../protocol/jsonrpc.ts';
import { elements, memberAt, replaceValue, setMember } from '../protocol/jsonText.ts';
import { toolCallOf, type StoredMessage } from '../protocol/stored.ts';

/** Where a tool call's sandbox terminals go. */
export const sandboxTerminals = 'fountain.sandboxTerminals';

/**
 * Moves tool call content that names a terminal of the sandbox to `_meta["fountain.sandboxTerminals"]`.
 *
 * The client has no terminal of that id, and some drop the whole update over it.
 *
 * Errors: passes the source's on; adds none.
 *
 * @see Specification, "What streams back": the machine boundary
 */
export function withholdTerminals(): MonoTypeOperatorFunction<readonly StoredMessage[]> {
  return map((messages) => messages.map(withoutTerminals));
}

/** Returns the message without terminal content; as it is where it has none. */
export function withoutTerminals(message: StoredMessage): StoredMessage {
  const found = toolCallOf(message);
  const content = found?.toolCall['content'];
  if (found === undefined || !Array.isArray(content) || !content.some(isTerminal)) return message;
  const path = [...found.path, 'content'];
  const open = memberAt(message.text, path)?.valueStart ?? 0;
  const texts = elements(message.text, open);
  const kept = texts.filter((_, index) => !isTerminal(content[index]));
  const taken = texts.filter((_, index) => isTerminal(content[index]));
  const text = replaceValue(message.text, path, `[${kept.join(',')}]`);
  return { ...message, text: setMember(text, [...found.path, '_meta'], sandboxTerminals, `[${taken.join(',')}]`) };
}

function isTerminal(item: unknown): boolean {
  return isJsonObject(item) && item['type'] === 'terminal';
}
