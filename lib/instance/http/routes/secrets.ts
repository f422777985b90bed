import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { secretPlace } from '../../data/secretBox.ts';
import { notFound } from '../../refusal.ts';
import type { SecretRow } from '../../store/rows.ts';
import { insert, remove } from '../../store/store.ts';
import { rowTime } from '../../time.ts';
import { owned } from '../owned.ts';
import { dataOf, listOf, ref } from '../schemas.ts';
import type { Services } from '../services.ts';

interface ByOwner {
  Params: { owner: string };
}

interface ByKey {
  Params: { owner: string; key: string };
}

/** Secrets of vaults and environments: names can be read, values only written. Contract, section 2.3. */
export function secretRoutes(app: FastifyInstance, services: Services): void {
  for (const table of ['vaults', 'environments'] as const) secretsOf(app, services, table);
}

function secretsOf(app: FastifyInstance, { context }: Services, table: 'vaults' | 'environments'): void {
  const { store, box } = context;
  const url = `/api/${table}/:owner/secrets`;

  app.get<ByOwner>(url, { schema: { summary: 'Names of the secrets', response: { 200: dataOf(listOf(ref('Secret'))) } } }, async (request) => {
    const { id } = await owned(store, table, request.params.owner, request.caller);
    const rows = await store.find('secrets', { owner_id: id }, { order: 'newest' });
    return { data: rows.map(secretView) };
  });

  app.post<ByOwner & { Body: { key: string; value: string } }>(url, { schema: { summary: 'Set a secret', body: ref('SecretCreate'), response: { 201: dataOf(ref('Secret')) } } }, async (request, reply) => {
    const { id: ownerId } = await owned(store, table, request.params.owner, request.caller);
    const { key, value } = request.body;
    const row: SecretRow = { id: randomUUID(), owner_id: ownerId, key, sealed: box.seal(value, secretPlace(ownerId, key)), inserted_at: rowTime() };
    await store.commit([remove('secrets', { owner_id: ownerId, key }), insert('secrets', row)]);
    return reply.code(201).send({ data: secretView(row) });
  });

  app.delete<ByKey>(`${url}/:key`, { schema: { summary: 'Delete a secret', response: { 204: { type: 'null' } } } }, async (request, reply) => {
    const { id: ownerId } = await owned(store, table, request.params.owner, request.caller);
    const where = { owner_id: ownerId, key: request.params.key };
    if ((await store.count('secrets', where)) === 0) throw notFound();
    await store.commit([remove('secrets', where)]);
    return reply.code(204).send();
  });
}

function secretView({ id, key, inserted_at }: SecretRow): { id: string; key: string; inserted_at: string } {
  return { id, key, inserted_at };
}
