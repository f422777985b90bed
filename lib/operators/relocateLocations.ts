import { map, type MonoTypeOperatorFunction } from 'rxjs';
import { memberAt, removeMember, setMember } from '../protocol/jsonText.ts';
import { toolCallOf, type StoredMessage } from '../protocol/stored.ts';

/** Where a tool call's sandbox paths go. */
export const sandboxLocations = 'fountain.sandboxLocations';

/**
 * Moves the `locations` of tool calls, of their updates and of permission requests to `_meta["fountain.sandboxLocations"]`.
 *
 * They name files in the sandbox. Left in place, an editor opens a path on the client's machine, or fails to open one.
 * Other keys of `_meta` stay.
 *
 * Errors: passes the source's on; adds none.
 *
 * @see Specification, "What streams back"
 */
export function relocateLocations(): MonoTypeOperatorFunction<readonly StoredMessage[]> {
  return map((messages) => messages.map(withRelocatedLocations));
}

/** Returns the message with its tool call's locations under `_meta`; as it is where it has none. */
export function withRelocatedLocations(message: StoredMessage): StoredMessage {
  const found = toolCallOf(message);
  if ((found?.toolCall['locations'] ?? null) === null) return message;
  const { path } = found ?? { path: [] };
  return { ...message, text: moveToMeta(message.text, path, 'locations', sandboxLocations) };
}

function moveToMeta(text: string, path: readonly string[], key: string, metaKey: string): string {
  const value = memberAt(text, [...path, key]);
  if (value === undefined) return text;
  return setMember(removeMember(text, [...path, key]), [...path, '_meta'], metaKey, text.slice(value.valueStart, value.valueEnd));
}
