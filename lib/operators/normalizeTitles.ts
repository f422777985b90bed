import { map, type MonoTypeOperatorFunction } from 'rxjs';
import { isJsonObject } from '../protocol/jsonrpc.ts';
import { removeMember, setMember } from '../protocol/jsonText.ts';
import { updateKind, type StoredMessage } from '../protocol/stored.ts';
import { normalizeTitle } from '../protocol/titles.ts';

const path = ['params', 'update'];

/**
 * Brings the titles of `session_info_update` into their normal form: an omitted title stays omitted, null stays null, a
 * blank one becomes null, and one that is no string is left out.
 *
 * Errors: passes the source's on; adds none.
 *
 * @see Specification, "Conversation titles from the harness"
 */
export function normalizeTitles(): MonoTypeOperatorFunction<readonly StoredMessage[]> {
  return map((messages) => messages.map(withNormalTitle));
}

/** Returns the message with its title in normal form; as it is where it carries none. */
export function withNormalTitle(message: StoredMessage): StoredMessage {
  if (updateKind(message) !== 'session_info_update') return message;
  const update = message.params['update'];
  const title = isJsonObject(update) ? update['title'] : undefined;
  if (title === undefined || title === null) return message;
  if (typeof title !== 'string') return { ...message, text: removeMember(message.text, [...path, 'title']) };
  const normal = normalizeTitle(title);
  return normal === title ? message : { ...message, text: setMember(message.text, path, 'title', JSON.stringify(normal)) };
}
