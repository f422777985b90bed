import type { FastifyInstance } from 'fastify';
import { loginLimit } from '../loginLimit.ts';
import { passwordMatches } from '../../passwords.ts';
import { notFound, Refusal } from '../../refusal.ts';
import { record } from '../schemas.ts';
import type { Services } from '../services.ts';

const string = { type: 'string' };
const boolean = { type: 'boolean' };
const me = record({ id: string, email: string, role: string, email_verified: boolean, onboarding_completed: boolean });
const token = record({ api_key: string, key_id: string, prefix: string });

/** Log-in with a password, and who a key belongs to. Contract, sections 1.4 and 1.5. */
export function accountRoutes(app: FastifyInstance, { context }: Services): void {
  const { store, keys, config } = context;
  const limit = loginLimit(config.loginAttempts);

  app.post<{ Body: unknown }>('/api/auth/token', { config: { access: 'public' }, schema: { summary: 'Log in', response: { 201: token } } }, async (request, reply) => {
    const retryAfter = limit(request.ip);
    if (retryAfter > 0) throw new Refusal(429, 'rate_limited', { retryAfter, fields: { retry_after_seconds: retryAfter } });
    const { email, password } = (request.body ?? {}) as { email?: unknown; password?: unknown };
    if (typeof email !== 'string' || typeof password !== 'string' || email === '' || password === '') {
      throw new Refusal(422, 'email and password are required');
    }
    const [account] = await store.find('accounts', { email: email.toLowerCase() });
    // An unknown address costs as much time as a wrong password.
    if (!(await passwordMatches(password, account?.password ?? null)) || account === undefined) throw new Refusal(401, 'Invalid email or password');
    const { key, row } = await keys.mint({ accountId: account.id, scope: 'full', conversationId: null });
    return reply.code(201).send({ api_key: key, key_id: row.id, prefix: row.prefix });
  });

  app.get('/api/auth/me', { schema: { summary: 'Whose key this is', response: { 200: me } } }, async (request) => {
    const account = await store.get('accounts', request.caller.accountId);
    if (account === undefined) throw notFound();
    const { id, email, role } = account;
    return {
      id, email, role, email_verified: true, onboarding_completed: true, expires_at: null, comped: false, brokered: false,
      connections_enabled: false, connections_manageable: false,
    };
  });
}
