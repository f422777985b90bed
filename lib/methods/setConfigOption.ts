import { defer, of, type Observable } from 'rxjs';
import type { Context } from '../context.ts';
import type { RequestFrame } from '../protocol/frames.ts';
import type { JsonObject } from '../protocol/jsonrpc.ts';
import { sessionOf } from './frames.ts';

/**
 * Accepts an option and says that it is not applied: some clients push a model at spawn and abort when it is refused.
 * There is no list of options in the answer, since the same clients then refuse what is not on it.
 *
 * Errors: -32002 for an unknown session.
 *
 * @see Fountain HTTP and SSE contract, "What the adapter does": `session/set_config_option`
 */
export function setConfigOption({ params }: RequestFrame, context: Context): Observable<JsonObject> {
  return defer(() => {
    sessionOf(params, context);
    const { configId = null } = params;
    const reason = 'a conversation is configured on its Fountain instance, not by the client';
    return of({ _meta: { fountain: { applied: false, configId, reason } } });
  });
}
