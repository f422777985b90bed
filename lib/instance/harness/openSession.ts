import { RequestError } from '@agentclientprotocol/sdk';
import { errorCodes, isJsonObject, type JsonObject } from '../../protocol/jsonrpc.ts';

/** Sends one request to the harness; its result where that is an object, else an empty one. */
export type Ask = (method: string, params: JsonObject) => Promise<JsonObject>;

/** How a harness came to its session: see {@link openSession}. */
export type SessionStart = 'new' | 'resumed' | 'loaded' | 'session_gone';

/** A session of the harness, ready for a prompt. */
export interface OpenedSession {
  readonly sessionId: string;
  readonly start: SessionStart;
  /** What the harness said of the session: modes, models, options. */
  readonly setup: JsonObject;
}

/**
 * Opens the harness's session: the one it had, in whichever way it can, else a new one.
 *
 * `resumed` and `loaded` have their memory; `session_gone` is a new session because the harness does not know the old
 * one any more, or has no way back to it, so that a conversation whose memory is lost goes on at all.
 *
 * Errors: rejects in words where the harness opens no session, or wants somebody to sign in first.
 *
 * @param ask - Sends a request; rejects with the harness's own error.
 * @param initialized - The harness's answer to `initialize`.
 * @param resumeId - The session to go back to; null for a first one.
 * @param configured - MCP servers for the session, in the protocol's form; kinds that the harness does not take are left out.
 */
export async function openSession(ask: Ask, initialized: JsonObject, cwd: string, resumeId: string | null, configured: readonly JsonObject[] = []): Promise<OpenedSession> {
  const taken = member(member(initialized, 'agentCapabilities'), 'mcpCapabilities');
  const mcpServers = configured.filter(({ type }) => typeof type !== 'string' || taken[type] === true);
  if (resumeId !== null) {
    for (const [method, start] of waysBack(initialized)) {
      const setup = await goBack(ask, method, { sessionId: resumeId, cwd, mcpServers }, initialized);
      if (setup) return { sessionId: resumeId, start, setup };
    }
  }
  const setup = await ask('session/new', { cwd, mcpServers }).catch((error: unknown) => {
    throw new Error(openError(error, initialized), { cause: error });
  });
  const sessionId = setup['sessionId'];
  if (typeof sessionId !== 'string' || sessionId === '') throw new Error('the agent opened a session without an id');
  return { sessionId, start: resumeId === null ? 'new' : 'session_gone', setup };
}

function waysBack(initialized: JsonObject): readonly (readonly [string, SessionStart])[] {
  const capabilities = member(initialized, 'agentCapabilities');
  const ways: (readonly [string, SessionStart])[] = [];
  if (isJsonObject(member(capabilities, 'sessionCapabilities')['resume'])) ways.push(['session/resume', 'resumed']);
  if (capabilities['loadSession'] === true) ways.push(['session/load', 'loaded']);
  return ways;
}

/** The session's setup; null where the harness refuses to go back to it. */
async function goBack(ask: Ask, method: string, params: JsonObject, initialized: JsonObject): Promise<JsonObject | null> {
  try {
    return await ask(method, params);
  } catch (error) {
    // Harnesses word an unknown session in many ways and codes; only a missing sign-in says nothing about the session.
    if (error instanceof RequestError && error.code !== errorCodes.authRequired) return null;
    throw new Error(openError(error, initialized), { cause: error });
  }
}

function openError(error: unknown, initialized: JsonObject): string {
  if (!(error instanceof RequestError)) return error instanceof Error ? error.message : String(error);
  if (error.code !== errorCodes.authRequired) return `the agent opened no session: ${harnessError(error)}`;
  const listed = initialized['authMethods'];
  const names = (Array.isArray(listed) ? listed : []).flatMap((method: unknown) => (isJsonObject(method) && typeof method['name'] === 'string' ? [method['name']] : []));
  const ways = names.length > 0 ? ` (${names.join(', ')})` : '';
  return `the agent is not signed in: ${harnessError(error)}; sign in with the agent's own program${ways} and prompt again`;
}

/** Returns a harness's error in words: its message, and the details that it gave in text. */
export function harnessError(error: RequestError): string {
  const data: unknown = error.data;
  const details = typeof data === 'string' ? data : isJsonObject(data) ? (data['details'] ?? data['message'] ?? data['error']) : null;
  return typeof details === 'string' && details !== '' && !error.message.includes(details) ? `${error.message}: ${details}` : error.message;
}

/** An object's member where that is an object, else an empty object. */
export function member(object: JsonObject, key: string): JsonObject {
  const value = object[key];
  return isJsonObject(value) ? value : {};
}
