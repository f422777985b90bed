import { map, type MonoTypeOperatorFunction } from 'rxjs';
import { moveMember } from '../protocol/jsonText.ts';
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
  return { ...message, text: moveMember(message.text, found?.path ?? [], 'locations', '_meta', sandboxLocations) };
}
