import { EMPTY, type Observable } from 'rxjs';
import type { Context } from '../context.ts';
import type { JsonObject } from '../protocol/jsonrpc.ts';
import { interrupt } from './interrupt.ts';

/**
 * Interrupts the turn that runs in a session. A prompt of this process listens for itself, since it knows when its turn
 * has begun; this is for a turn that is only followed.
 *
 * @see Specification, "The protocol surface": `session/cancel`
 */
export function sessionCancel({ sessionId }: JsonObject, context: Context): Observable<never> {
  const session = typeof sessionId === 'string' ? context.connection.sessions.get(sessionId) : undefined;
  if (session === undefined) context.log('warn', 'session/cancel names no session of this process; nothing is cancelled');
  return session === undefined || session.prompt !== undefined ? EMPTY : interrupt(session.id, context);
}
