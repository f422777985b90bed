import type { FastifyInstance } from 'fastify';
import { checkedClientRequestId, checkedImages } from '../../engine/prompt.ts';
import { invalid, notFound, Refusal } from '../../refusal.ts';
import { liveConversation } from '../conversationOf.ts';
import { owned } from '../owned.ts';
import { dataOf, listOf, record, ref } from '../schemas.ts';
import type { Services } from '../services.ts';
import { turnView } from '../views.ts';

interface ById {
  Params: { id: string };
}

interface PromptBody {
  readonly prompt: string;
  readonly images?: unknown;
  readonly client_request_id?: unknown;
}

const queued = record({ status: { type: 'string' }, client_request_id: { type: ['string', 'null'] } });
const optionId = { type: 'object', required: ['option_id'], properties: { option_id: { type: 'string', minLength: 1 } } };
const empty = { 204: { type: 'null' } };

/** Prompts and what becomes of them. Contract, sections 4.3 and 4.5 to 4.8. */
export function turnRoutes(app: FastifyInstance, services: Services): void {
  const { store } = services.context;

  app.get<ById>('/api/conversations/:id/turns', { schema: { summary: 'Turns', response: { 200: dataOf(listOf(ref('Turn'))) } } }, async (request) => {
    const { id } = await owned(store, 'conversations', request.params.id, request.caller);
    return { data: (await store.find('turns', { conversation_id: id })).map(turnView) };
  });

  app.post<ById & { Body: PromptBody }>('/api/conversations/:id/prompts', { schema: { summary: 'Start a turn', body: ref('PromptCreate'), response: { 200: queued } } }, async (request) => {
    const { prompt, images, client_request_id: given } = request.body;
    const submission = { prompt, images: checkedImages(images), clientRequestId: checkedClientRequestId(given) };
    if (prompt.trim() === '' && submission.images.length === 0) throw invalid({ prompt: ["can't be blank"] });
    await (await liveConversation(services, request.params.id, request.caller)).prompt(submission);
    return { status: 'queued', client_request_id: submission.clientRequestId };
  });

  app.post<ById>('/api/conversations/:id/interrupt', { schema: { summary: 'Interrupt the running turn', response: empty } }, async (request, reply) => {
    await (await liveConversation(services, request.params.id, request.caller)).interrupt();
    return reply.code(204).send();
  });

  app.post<{ Params: { id: string; requestId: string }; Body: { option_id: string } }>(
    '/api/conversations/:id/requests/:requestId',
    { schema: { summary: 'Answer a permission request', body: optionId, response: { 200: record({ ok: { type: 'boolean' } }) } } },
    async (request) => {
      const conversation = await liveConversation(services, request.params.id, request.caller);
      if (request.caller.scope !== 'full') throw new Refusal(403, 'sprite_may_not_answer', { message: 'an agent may not answer for itself' });
      await conversation.answer(request.params.requestId, request.body.option_id);
      return { ok: true };
    },
  );

  const image = { summary: 'One image of a prompt', response: { 200: { type: 'string', contentType: 'image/*' } } };
  app.get<{ Params: { id: string; turnId: string; position: string } }>('/api/conversations/:id/turns/:turnId/images/:position', { config: { isStream: true }, schema: image }, async (request, reply) => {
    const { id } = await owned(store, 'conversations', request.params.id, request.caller);
    const turn = await store.get('turns', request.params.turnId.toLowerCase());
    if (turn?.conversation_id !== id || !/^\d{1,6}$/.test(request.params.position)) throw notFound();
    const [row] = await store.find('images', { turn_id: turn.id, position: Number(request.params.position) });
    if (row === undefined) throw notFound();
    return reply.type(row.media_type).send(Buffer.from(row.data));
  });
}
