import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { InstanceConfig } from '../config.ts';
import type { Keys } from '../keys.ts';
import { insufficientScope, Refusal } from '../refusal.ts';
import type { Caller } from './services.ts';

const loopbackNames = new Set(['localhost', 'localhost.localdomain', 'ip6-localhost']);

/**
 * Refuses a request that is addressed to a name which is not this server's.
 *
 * A page of a foreign site can make its own name point here; it cannot make a browser send another name.
 *
 * @throws Refusal 403.
 */
export function checkHost(request: FastifyRequest, { host, allowedHosts }: Pick<InstanceConfig, 'host' | 'allowedHosts'>): void {
  const name = hostName(request.headers.host ?? '');
  const known = isIP(name) !== 0 || loopbackNames.has(name) || name.endsWith('.localhost') || name === host.toLowerCase();
  if (known || allowedHosts.some((allowed) => allowed.toLowerCase() === name)) return;
  throw new Refusal(403, 'host_not_allowed', { message: `this server does not answer to the name "${name}"` });
}

/**
 * Refuses a browser's request from a page that is not allowed to call, and tells the browser about one that is.
 *
 * @throws Refusal 403.
 * @see Fountain HTTP and SSE contract, section 1.9
 */
export function checkOrigin(request: FastifyRequest, reply: FastifyReply, { corsOrigins }: Pick<InstanceConfig, 'corsOrigins'>): void {
  const { origin } = request.headers;
  if (origin === undefined) return;
  if (!corsOrigins.includes(origin)) throw new Refusal(403, 'origin_not_allowed', { message: 'pages of this origin may not call this server' });
  void reply.headers(corsHeaders(origin));
}

/** Returns the headers that let a page of an allowed origin read the answer. */
function corsHeaders(origin: string): Record<string, string> {
  return {
    'access-control-allow-origin': origin,
    vary: 'origin',
    'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
    'access-control-allow-headers': 'authorization, content-type, last-event-id, accept',
    'access-control-expose-headers': 'retry-after, x-request-id',
    'access-control-max-age': '600',
  };
}

/**
 * Refuses a client that takes no JSON.
 *
 * @throws Refusal 406.
 */
export function checkAccept(request: FastifyRequest): void {
  const { accept } = request.headers;
  if (accept === undefined || accept === '') return;
  const types = accept.split(',').map((part) => (part.split(';')[0] ?? '').trim().toLowerCase());
  if (types.some((type) => type === '*/*' || type === 'application/*' || type === 'application/json' || type.endsWith('+json'))) return;
  throw new Refusal(406, 'not_acceptable', { message: 'this route answers with application/json' });
}

/**
 * Returns whose request it is.
 *
 * Errors: Refusal 401 for a missing or unknown key, 403 where the route needs a full-scope one.
 *
 * @see Fountain HTTP and SSE contract, section 1.6
 */
export async function authenticate(request: FastifyRequest, keys: Keys, needsFullScope: boolean): Promise<Caller> {
  const key = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
  const row = key === undefined ? undefined : await keys.find(key);
  if (row === undefined) {
    const error = key === undefined ? 'an API key is required' : 'this API key is not known here';
    throw new Refusal(401, error, { fields: { reason: 'api_key_invalid' } });
  }
  if (needsFullScope && row.scope !== 'full') throw insufficientScope();
  return { accountId: row.account_id, scope: row.scope, conversationId: row.conversation_id };
}

function hostName(host: string): string {
  const bracketed = /^\[([^\]]+)\](:\d+)?$/.exec(host)?.[1];
  return (bracketed ?? host.replace(/:\d+$/, '')).toLowerCase().replace(/\.$/, '');
}
