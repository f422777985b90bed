import { filter, type Observable } from 'rxjs';
import type { Context } from '../context.ts';
import { invalidParams, unknownSession } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/jsonrpc.ts';
import type { Session } from '../session.ts';

/**
 * Returns the session that a request names.
 *
 * @throws AcpError -32602 where it names none; -32002 for one that is not open, which makes clients fall back to a new one.
 */
export function sessionOf({ sessionId }: JsonObject, { connection }: Context): Session {
  if (typeof sessionId !== 'string' || sessionId === '') throw invalidParams('there is no sessionId, or it is no string');
  const session = connection.sessions.get(sessionId);
  if (session) return session;
  throw unknownSession(sessionId, `unknown session "${sessionId}"; open it with session/load, or a new one with session/new`);
}

/** The notifications that ask to cancel a session's prompt: `session/cancel`, and `$/cancel_request` for the prompt itself. */
export function cancelsOf({ frame$ }: Context, sessionId: string, requestId: string): Observable<unknown> {
  return frame$.pipe(
    filter((frame) => {
      if (frame.kind !== 'notification') return false;
      if (frame.method === 'session/cancel') return frame.params['sessionId'] === sessionId;
      return frame.method === '$/cancel_request' && JSON.stringify(frame.params['requestId']) === requestId;
    }),
  );
}
