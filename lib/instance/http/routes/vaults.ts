import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { VaultRow } from '../../store/rows.ts';
import { insert, remove, update } from '../../store/store.ts';
import { rowTime } from '../../time.ts';
import { owned } from '../owned.ts';
import { dataOf, listOf, ref } from '../schemas.ts';
import type { Caller, Services } from '../services.ts';
import { vaultView } from '../views.ts';

type VaultInput = Partial<Pick<VaultRow, 'name' | 'description' | 'metadata'>>;
interface ById {
  Params: { id: string };
}

const one = dataOf(ref('Vault'));

/** Vaults. Contract, sections 2.1 and 2.3. */
export function vaultRoutes(app: FastifyInstance, { context }: Services): void {
  const { store } = context;

  app.get('/api/vaults', { schema: { summary: 'Vaults', response: { 200: dataOf(listOf(ref('Vault'))) } } }, async (request) => {
    const rows = await store.find('vaults', { account_id: request.caller.accountId }, { order: 'newest' });
    return { data: await Promise.all(rows.map((row) => vaultView(row, context))) };
  });

  app.get<ById>('/api/vaults/:id', { schema: { summary: 'One vault', response: { 200: one } } }, async (request) => ({
    data: await vaultView(await owned(store, 'vaults', request.params.id, request.caller), context),
  }));

  app.post<{ Body: VaultInput }>('/api/vaults', { schema: { summary: 'Make a vault', body: ref('VaultCreate'), response: { 201: one } } }, async (request, reply) => {
    const now = rowTime();
    const row: VaultRow = {
      id: randomUUID(), account_id: request.caller.accountId, name: '', description: null, metadata: {}, ...pick(request.body), inserted_at: now, updated_at: now,
    };
    await store.commit([insert('vaults', row)]);
    return reply.code(201).send({ data: await vaultView(row, context) });
  });

  async function change(caller: Caller, id: string, body: VaultInput): Promise<{ data: unknown }> {
    const before = await owned(store, 'vaults', id, caller);
    const set = { ...pick(body), updated_at: rowTime() };
    await store.commit([update('vaults', before.id, set)]);
    return { data: await vaultView({ ...before, ...set }, context) };
  }

  const changing = { schema: { summary: 'Change a vault', body: ref('VaultUpdate'), response: { 200: one } } };
  app.put<ById & { Body: VaultInput }>('/api/vaults/:id', changing, (request) => change(request.caller, request.params.id, request.body));
  app.patch<ById & { Body: VaultInput }>('/api/vaults/:id', changing, (request) => change(request.caller, request.params.id, request.body));

  app.delete<ById>('/api/vaults/:id', { schema: { summary: 'Delete a vault', response: { 204: { type: 'null' } } } }, async (request, reply) => {
    const { id } = await owned(store, 'vaults', request.params.id, request.caller);
    await store.commit([remove('secrets', { owner_id: id }), remove('vaults', { id })]);
    return reply.code(204).send();
  });
}

function pick(body: VaultInput): VaultInput {
  const { name, description, metadata } = body;
  return Object.fromEntries(Object.entries({ name, description, metadata }).filter(([, value]) => value !== undefined));
}
