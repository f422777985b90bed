import type { FastifyInstance } from 'fastify';
import { explicitTitle } from '../../engine/title.ts';
import { invalid, Refusal } from '../../refusal.ts';
import type { ConversationRow, ConversationStatus } from '../../store/rows.ts';
import type { Where } from '../../store/store.ts';
import { eventTime } from '../../time.ts';
import { conversationOf, liveConversation, viewOf } from '../conversationOf.ts';
import { family } from '../family.ts';
import { owned } from '../owned.ts';
import { isTrue } from '../query.ts';
import { dataOf, listOf, record, ref } from '../schemas.ts';
import type { Services } from '../services.ts';

interface ById {
  Params: { id: string };
}

interface ListQuery {
  readonly roots_only?: string;
  readonly agent_id?: string;
  readonly channel_id?: string;
  readonly status?: string;
  readonly sandbox_id?: string;
  readonly limit?: string;
}

const statuses: readonly string[] = ['pending', 'running', 'idle', 'failed', 'terminated'] satisfies readonly ConversationStatus[];
const string = { type: 'string' };
const nullableString = { type: ['string', 'null'] };
const one = dataOf(ref('Conversation'));
const listQuery = { type: 'object', properties: { roots_only: string, agent_id: string, channel_id: string, status: string, sandbox_id: string, limit: string } };
const kin = record({ id: string, source: string, status: string, parent_id: nullableString });

/** Conversations as rows: found, shown, renamed, read, ended and deleted. Contract, sections 4.1, 4.2, 4.6 and 4.8. */
export function conversationRoutes(app: FastifyInstance, services: Services): void {
  const { context, engine } = services;
  const { store } = context;
  const done = { response: { 204: { type: 'null' } } };

  app.get<{ Querystring: ListQuery }>('/api/conversations', { schema: { summary: 'Conversations', querystring: listQuery, response: { 200: dataOf(listOf(ref('Conversation'))) } } }, async (request) => {
    const limit = limitOf(request.query.limit);
    const rows = await store.find('conversations', whereOf(request.query, request.caller.accountId), { order: 'newest' });
    const sorted = [...rows].sort((a, b) => (a.updated_at < b.updated_at ? 1 : a.updated_at > b.updated_at ? -1 : 0));
    return { data: await Promise.all(sorted.slice(0, limit).map((row) => viewOf(services, row))) };
  });

  app.get<ById>('/api/conversations/:id', { schema: { summary: 'One conversation', response: { 200: one } } }, async (request) => ({
    data: await conversationOf(services, request.params.id, request.caller),
  }));

  app.patch<ById & { Body: { title?: unknown } }>(
    '/api/conversations/:id',
    { schema: { summary: 'Rename a conversation', body: { type: 'object', required: ['title'], properties: { title: { description: 'String or null' } } }, response: { 200: one } } },
    async (request) => {
      const conversation = await liveConversation(services, request.params.id, request.caller);
      await conversation.set(explicitTitle(request.body.title, await conversation.redactor()));
      return { data: await conversationOf(services, request.params.id, request.caller) };
    },
  );

  app.patch<ById & { Body: { labels: Record<string, string> } }>(
    '/api/conversations/:id/labels',
    { schema: { summary: 'Label a conversation', body: { type: 'object', required: ['labels'], properties: { labels: { type: 'object', maxProperties: 32, additionalProperties: { type: 'string' } } } }, response: { 200: one } } },
    async (request) => {
      const { labels } = request.body;
      if (Object.entries(labels).some(([key, value]) => Buffer.byteLength(key) > 64 || Buffer.byteLength(value) > 256)) throw invalid({ labels: ['is invalid'] });
      await (await liveConversation(services, request.params.id, request.caller)).set({ labels });
      return { data: await conversationOf(services, request.params.id, request.caller) };
    },
  );

  app.post<ById>('/api/conversations/:id/read', { schema: { summary: 'Mark as read', ...done } }, async (request, reply) => {
    await (await liveConversation(services, request.params.id, request.caller)).markRead(eventTime());
    return reply.code(204).send();
  });

  app.get<ById>('/api/conversations/:id/tree', { schema: { summary: 'Ancestors and descendants', response: { 200: dataOf(listOf(kin)) } } }, async (request) => {
    const row = await owned(store, 'conversations', request.params.id, request.caller);
    const rows = await family(store, row);
    return { data: rows.map(({ id, source, status, parent_conversation_id: parentId }) => ({ id, source, status, parent_id: parentId })) };
  });

  app.post<ById>('/api/conversations/:id/terminate', { schema: { summary: 'End a conversation', ...done } }, async (request, reply) => {
    await (await liveConversation(services, request.params.id, request.caller)).terminate();
    return reply.code(204).send();
  });

  app.delete<ById>('/api/conversations/:id', { schema: { summary: 'End and delete a conversation', ...done } }, async (request, reply) => {
    const { id } = await owned(store, 'conversations', request.params.id, request.caller);
    await engine.remove(id);
    return reply.code(204).send();
  });
}

function limitOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const limit = /^\d+$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > 500) throw new Refusal(400, 'invalid_limit', { message: 'limit is a number from 1 to 500' });
  return limit;
}

function whereOf(query: ListQuery, accountId: string): Where<'conversations'> {
  const { agent_id: agentId, channel_id: channelId, sandbox_id: sandboxId, status } = query;
  const wanted = status === undefined || status === '' ? undefined : status.split(',').map((name) => name.trim());
  if (wanted?.some((name) => !statuses.includes(name)) === true) throw new Refusal(400, 'invalid_status', { message: `the statuses are ${statuses.join(', ')}` });
  return {
    account_id: accountId,
    ...(isTrue(query.roots_only, false) ? { parent_conversation_id: null } : {}),
    ...(agentId === undefined ? {} : { agent_id: agentId }),
    ...(channelId === undefined ? {} : { channel_id: channelId }),
    ...(sandboxId === undefined ? {} : { sandbox_id: sandboxId }),
    ...(wanted === undefined ? {} : { status: wanted as ConversationRow['status'][] }),
  };
}
