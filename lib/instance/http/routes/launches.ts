import type { FastifyInstance } from 'fastify';
import type { SandboxMode } from '../../../protocol/fountain.ts';
import type { LaunchRequest } from '../../engine/launchRequest.ts';
import { checkedClientRequestId, checkedImages } from '../../engine/prompt.ts';
import type { Submission } from '../../engine/prompt.ts';
import { invalid, Refusal } from '../../refusal.ts';
import { conversationOf } from '../conversationOf.ts';
import { dataOf, record, ref } from '../schemas.ts';
import type { Services } from '../services.ts';

interface LaunchBody {
  readonly agent_id: string;
  readonly vault_id?: string | null;
  readonly environment_id?: string | null;
  readonly channel_id?: string | null;
  readonly fresh?: boolean | 'true' | 'false' | null;
  readonly sandbox_mode?: SandboxMode | null;
  readonly sandbox_id?: string | null;
  readonly permission_policy?: unknown;
  readonly prompt?: string | null;
  readonly images?: unknown;
  readonly client_request_id?: unknown;
  readonly sandbox_api_access?: 'owner' | 'none' | null;
  readonly title?: string | null;
  readonly labels?: Readonly<Record<string, string>> | null;
}

const answer = dataOf(ref('Conversation'), record({ resumed: { type: 'boolean' } }));

/** Opening conversations. Contract, section 3. */
export function launchRoutes(app: FastifyInstance, services: Services): void {
  const schema = { summary: 'Open a conversation', body: ref('ConversationCreate'), response: { 200: answer, 201: answer } };
  app.post<{ Body: LaunchBody }>('/api/conversations', { schema }, async (request, reply) => {
    const parent = request.headers['x-fountain-parent-conversation-id'];
    const parentId = typeof parent === 'string' && parent !== '' ? parent : null;
    const { id, resumed } = await services.engine.launch(request.caller, launchRequest(request.body, parentId));
    const data = await conversationOf(services, id, request.caller);
    return reply.code(resumed ? 200 : 201).send({ data, meta: { resumed } });
  });
}

function launchRequest(body: LaunchBody, parentId: string | null): LaunchRequest {
  const submission = firstPrompt(body);
  const labels = body.labels ?? {};
  const oversized = Object.entries(labels).some(([key, value]) => Buffer.byteLength(key) > 64 || Buffer.byteLength(value) > 256 || `${key}${value}`.includes('\u0000'));
  if (oversized) throw invalid({ labels: ['is invalid'] });
  return {
    agentId: body.agent_id,
    vaultId: idOrNull(body.vault_id),
    environmentId: idOrNull(body.environment_id),
    channelId: idOrNull(body.channel_id, false),
    fresh: body.fresh === true || body.fresh === 'true',
    sandboxMode: body.sandbox_mode ?? null,
    sandboxId: idOrNull(body.sandbox_id),
    permissionPolicy: body.permission_policy,
    submission,
    sandboxApiAccess: body.sandbox_api_access ?? 'owner',
    title: body.title,
    labels,
    parentId,
  };
}

/** Images and the client's name belong to a prompt; without one only images are refused. */
function firstPrompt({ prompt, images, client_request_id: clientRequestId }: LaunchBody): Submission | null {
  const checked = checkedImages(images);
  if (prompt === undefined || prompt === null) {
    if (checked.length > 0) throw new Refusal(422, 'invalid_images', { message: 'images need a prompt' });
    return null;
  }
  if (prompt.trim() === '') throw new Refusal(422, 'invalid_prompt', { message: 'the prompt is blank' });
  return { prompt, images: checked, clientRequestId: checkedClientRequestId(clientRequestId) };
}

function idOrNull(value: string | null | undefined, isId = true): string | null {
  if (value === undefined || value === null || value === '') return null;
  return isId ? value.toLowerCase() : value;
}
