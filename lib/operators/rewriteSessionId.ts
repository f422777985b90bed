import { map, type MonoTypeOperatorFunction } from 'rxjs';
import { setMember } from '../protocol/jsonText.ts';
import type { StoredMessage } from '../protocol/stored.ts';

/** How an instance of ours and the protocol's own SDK begin an update. */
const usualStart = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"';

/**
 * Addresses every message to the client's session.
 *
 * The sandbox's agent speaks under its own id; the client only knows the conversation id.
 *
 * Errors: passes the source's on; adds none.
 *
 * @param sessionId - Conversation id that `session/new` returned.
 * @see Specification, "What streams back"
 */
export function rewriteSessionId(sessionId: string): MonoTypeOperatorFunction<readonly StoredMessage[]> {
  return map((messages) => messages.map((message) => withSessionId(message, sessionId)));
}

/** Returns the message under the given session id, every other byte as it came. */
export function withSessionId(message: StoredMessage, sessionId: string): StoredMessage {
  return { ...message, text: spliced(message.text, sessionId) ?? setMember(message.text, ['params'], 'sessionId', JSON.stringify(sessionId)) };
}

/** The short way for the usual start: no scan of the rest. Undefined where the text starts in another way. */
function spliced(text: string, sessionId: string): string | undefined {
  if (!text.startsWith(usualStart)) return undefined;
  const end = text.indexOf('"', usualStart.length);
  if (text[end - 1] === '\\' || text.includes('"sessionId"', end)) return undefined;
  return usualStart + JSON.stringify(sessionId).slice(1) + text.slice(end + 1);
}
