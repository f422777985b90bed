import { pipe, type MonoTypeOperatorFunction } from 'rxjs';
import type { JsonObject } from '../protocol/jsonrpc.ts';
import type { StoredMessage } from '../protocol/stored.ts';
import { gateKinds } from './gateKinds.ts';
import { normalizeTitles } from './normalizeTitles.ts';
import { relocateLocations } from './relocateLocations.ts';
import { rewriteSessionId } from './rewriteSessionId.ts';
import { shortenLines } from './shortenLines.ts';
import { withholdTerminals } from './withholdTerminals.ts';

/**
 * All that is changed in what the sandbox's agent says, on its way to the client; the rest passes byte for byte.
 *
 * Errors: passes the source's on; adds none.
 *
 * @param sessionId - Conversation id, the client's session id.
 * @param capabilities - Returns the client's capabilities.
 * @see Specification, "What streams back"
 */
export function addressToClient(sessionId: string, capabilities: () => JsonObject): MonoTypeOperatorFunction<readonly StoredMessage[]> {
  return pipe(
    rewriteSessionId(sessionId),
    relocateLocations(),
    withholdTerminals(),
    normalizeTitles(),
    gateKinds(capabilities),
    shortenLines(),
  );
}
