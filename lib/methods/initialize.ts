import { of, type Observable } from 'rxjs';
import type { Context } from '../context.ts';
import type { RequestFrame } from '../protocol/frames.ts';
import { isJsonObject, type JsonObject } from '../protocol/jsonrpc.ts';

/** The ACP version that is spoken here. */
const protocolVersion = 1;

/** Id of the one authentication method, advertised only without credentials. */
export const loginMethod = 'fountain-cli-login';

/**
 * The capability handshake, answered from what is at hand: no request is made.
 *
 * @see Specification, "The protocol surface"
 */
export function initialize({ params }: RequestFrame, context: Context): Observable<JsonObject> {
  const { clientCapabilities, clientInfo } = params;
  const name = isJsonObject(clientInfo) && typeof clientInfo['name'] === 'string' ? clientInfo['name'] : '';
  context.connection.client = { capabilities: isJsonObject(clientCapabilities) ? clientCapabilities : {}, name };
  context.log('debug', `client ${name || 'without a name'} declares ${JSON.stringify(Object.keys(context.connection.client.capabilities))}; files and terminals are not used`);
  return of({
    protocolVersion: negotiated(params['protocolVersion']),
    agentInfo: { name: 'fountain', title: 'Fountain', version: context.options.version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, audio: false, embeddedContext: false },
    },
    authMethods: context.hasCredentials() ? [] : [loginDescription],
  });
}

const loginDescription = { id: loginMethod, name: 'Log in to Fountain', description: 'Run "fountain auth login" in a terminal, then try again.' };

/** Down to the client's version where that is lower; there is none below 1, so anything else gets 1. */
function negotiated(requested: unknown): number {
  return typeof requested === 'number' && requested >= 1 ? Math.min(protocolVersion, Math.floor(requested)) : protocolVersion;
}
