import type { FastifyInstance, FastifyReply } from 'fastify';
import { blocksOf } from '../../log/blocks.ts';
import { selects, selectsStagesOnly, streamFilter } from '../../log/streamFilter.ts';
import type { StreamFilter } from '../../log/streamFilter.ts';
import type { StoredEvent } from '../../store/store.ts';
import { writeChangeStream } from '../changeStream.ts';
import { writeEventStream } from '../eventStream.ts';
import { owned } from '../owned.ts';
import { isTrue, leadingInteger } from '../query.ts';
import { dataOf, listOf, record, ref } from '../schemas.ts';
import type { Services } from '../services.ts';
import { eventView } from '../views.ts';

interface ById {
  Params: { id: string };
}

interface EventsQuery {
  readonly streams?: string;
  readonly after?: string;
  readonly limit?: string;
  readonly blocks?: string;
}

interface StreamQuery {
  readonly streams?: string;
  readonly wait?: string;
  readonly blocks?: string;
}

const string = { type: 'string' };
const integer = { type: 'integer' };
const eventsMeta = record({ limit: integer, has_more: { type: 'boolean' }, next_cursor: { type: ['integer', 'null'] } });
const usualLimit = 100;
const maxLimit = 1000;

/** The log of a conversation: as pages, as a stream, and the stream of changed lists. Contract, sections 4.4, 4.8 and 5. */
export function eventRoutes(app: FastifyInstance, services: Services): void {
  const { store, log, config } = services.context;

  app.get<ById & { Querystring: EventsQuery }>(
    '/api/conversations/:id/events',
    { schema: { summary: 'Events', querystring: { type: 'object', properties: { streams: string, after: string, limit: string, blocks: string } }, response: { 200: dataOf(listOf(ref('Event')), eventsMeta) } } },
    async (request) => {
      const { id } = await owned(store, 'conversations', request.params.id, request.caller);
      const { streams, after, limit: asked, blocks } = request.query;
      const limit = Math.min(Math.max(leadingInteger(asked) || usualLimit, 1), maxLimit);
      // One more than the page tells whether there are more.
      const found = await selected(id, streamFilter(streams), leadingInteger(after), limit + 1);
      const page = found.slice(0, limit);
      const withBlocks = isTrue(blocks, false);
      const data = page.map((event) => (withBlocks ? { ...eventView(event), blocks: blocksOf(event) } : eventView(event)));
      return { data, meta: { limit, has_more: found.length > limit, next_cursor: page.at(-1)?.id ?? null } };
    },
  );

  const streamSchema = {
    summary: 'Events as a stream',
    querystring: { type: 'object', properties: { streams: string, wait: string, blocks: string } },
    response: { 200: { type: 'string', contentType: 'text/event-stream' } },
  };
  app.get<ById & { Querystring: StreamQuery }>('/api/conversations/:id/stream', { config: { isStream: true }, schema: streamSchema }, async (request, reply) => {
    const { id } = await owned(store, 'conversations', request.params.id, request.caller);
    const lastEventId = request.headers['last-event-id'];
    const { streams, wait, blocks } = request.query;
    startStream(reply);
    await writeEventStream(reply.raw, {
      store,
      log,
      conversationId: id,
      filter: streamFilter(streams),
      after: leadingInteger(typeof lastEventId === 'string' ? lastEventId : undefined),
      wait: isTrue(wait, true),
      blocks: isTrue(blocks, false),
      heartbeatMs: config.heartbeatSeconds * 1000,
      idleMs: config.streamIdleSeconds * 1000,
    });
  });

  app.get('/api/events/stream', { config: { isStream: true }, schema: { ...streamSchema, summary: 'Changes of the list of conversations', querystring: { type: 'object', properties: {} } } }, async (request, reply) => {
    startStream(reply);
    const heartbeatMs = config.heartbeatSeconds * 1000;
    await writeChangeStream(reply.raw, (listener) => services.changes.subscribe(request.caller.accountId, listener), heartbeatMs);
  });

  async function selected(conversationId: string, filter: StreamFilter, after: number, count: number): Promise<readonly StoredEvent[]> {
    const found: StoredEvent[] = [];
    let cursor = after;
    while (found.length < count) {
      const page = await store.events({ conversationId, after: cursor, limit: maxLimit, stageOnly: selectsStagesOnly(filter) });
      found.push(...page.filter((event) => selects(filter, event)));
      const last = page.at(-1);
      if (last === undefined || page.length < maxLimit) break;
      cursor = last.id;
    }
    return found.slice(0, count);
  }
}

/** Takes the answer out of the framework's hands: its body is written as it comes. */
function startStream(reply: FastifyReply): void {
  reply.hijack();
  const headers = Object.fromEntries(Object.entries(reply.getHeaders()).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
  reply.raw.writeHead(200, { ...headers, 'content-type': 'text/event-stream', 'cache-control': 'no-cache', connection: 'keep-alive' });
  reply.raw.flushHeaders();
}
