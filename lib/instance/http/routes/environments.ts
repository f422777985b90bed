import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { EnvironmentRow } from '../../store/rows.ts';
import { insert, remove, update } from '../../store/store.ts';
import { rowTime } from '../../time.ts';
import { owned } from '../owned.ts';
import { dataOf, listOf, ref } from '../schemas.ts';
import type { Caller, Services } from '../services.ts';
import { environmentView } from '../views.ts';

type EnvironmentInput = Partial<Omit<EnvironmentRow, 'id' | 'account_id' | 'inserted_at' | 'updated_at'>>;
interface ById {
  Params: { id: string };
}

const one = dataOf(ref('Environment'));
const inputNames = ['name', 'packages', 'env_vars', 'setup_script', 'networking_type', 'networking_config', 'repositories', 'metadata'] as const;

/** Environments. Contract, sections 2.1 and 2.3. */
export function environmentRoutes(app: FastifyInstance, { context }: Services): void {
  const { store } = context;

  app.get('/api/environments', { schema: { summary: 'Environments', response: { 200: dataOf(listOf(ref('Environment'))) } } }, async (request) => {
    const rows = await store.find('environments', { account_id: request.caller.accountId }, { order: 'newest' });
    return { data: await Promise.all(rows.map((row) => environmentView(row, context))) };
  });

  app.get<ById>('/api/environments/:id', { schema: { summary: 'One environment', response: { 200: one } } }, async (request) => ({
    data: await environmentView(await owned(store, 'environments', request.params.id, request.caller), context),
  }));

  app.post<{ Body: EnvironmentInput }>('/api/environments', { schema: { summary: 'Make an environment', body: ref('EnvironmentCreate'), response: { 201: one } } }, async (request, reply) => {
    const now = rowTime();
    const row: EnvironmentRow = {
      id: randomUUID(), account_id: request.caller.accountId, name: '', packages: {}, env_vars: {}, setup_script: '', networking_type: 'unrestricted',
      networking_config: {}, repositories: [], metadata: {}, ...pick(request.body), inserted_at: now, updated_at: now,
    };
    await store.commit([insert('environments', row)]);
    return reply.code(201).send({ data: await environmentView(row, context) });
  });

  async function change(caller: Caller, id: string, body: EnvironmentInput): Promise<{ data: unknown }> {
    const before = await owned(store, 'environments', id, caller);
    const set = { ...pick(body), updated_at: rowTime() };
    await store.commit([update('environments', before.id, set)]);
    return { data: await environmentView({ ...before, ...set }, context) };
  }

  const changing = { schema: { summary: 'Change an environment', body: ref('EnvironmentUpdate'), response: { 200: one } } };
  app.put<ById & { Body: EnvironmentInput }>('/api/environments/:id', changing, (request) => change(request.caller, request.params.id, request.body));
  app.patch<ById & { Body: EnvironmentInput }>('/api/environments/:id', changing, (request) => change(request.caller, request.params.id, request.body));

  app.delete<ById>('/api/environments/:id', { schema: { summary: 'Delete an environment', response: { 204: { type: 'null' } } } }, async (request, reply) => {
    const { id } = await owned(store, 'environments', request.params.id, request.caller);
    const agents = await store.find('agents', { environment_id: id });
    await store.commit([...agents.map((agent) => update('agents', agent.id, { environment_id: null })), remove('secrets', { owner_id: id }), remove('environments', { id })]);
    return reply.code(204).send();
  });
}

function pick(body: EnvironmentInput): EnvironmentInput {
  return Object.fromEntries(inputNames.filter((name) => body[name] !== undefined).map((name) => [name, body[name]]));
}
