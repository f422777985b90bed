import type { FastifyInstance } from 'fastify';
import type { JsonObject } from '../../../protocol/jsonrpc.ts';
import { listFolder, readSandboxFile, workingTree } from '../../engine/sandboxFiles.ts';
import type { SandboxView } from '../../engine/sandboxFiles.ts';
import { sandboxFolder } from '../../engine/sandboxFolder.ts';
import { variablesOf } from '../../engine/variables.ts';
import { Redactor } from '../../log/redactor.ts';
import { Refusal } from '../../refusal.ts';
import type { SandboxRow, SandboxStatus } from '../../store/rows.ts';
import { owned } from '../owned.ts';
import { leadingInteger } from '../query.ts';
import { dataOf, listOf, ref } from '../schemas.ts';
import type { Caller, Services } from '../services.ts';
import { sandboxView } from '../views.ts';

interface ById {
  Params: { id: string };
}

interface FileQuery {
  readonly path?: string;
  readonly max_bytes?: string;
}

const statuses: readonly string[] = ['pending', 'starting', 'ready', 'suspended', 'terminated', 'failed'] satisfies readonly SandboxStatus[];
const string = { type: 'string' };
const data = dataOf({ type: 'object' });
const fileQuery = { type: 'object', properties: { path: string, max_bytes: string } };

/** Machines and the files on them. Contract, sections 9.2 and 9.4. */
export function sandboxRoutes(app: FastifyInstance, services: Services): void {
  const { context, engine } = services;
  const { store } = context;

  app.get<{ Querystring: { status?: string } }>(
    '/api/sandboxes',
    { schema: { summary: 'Sandboxes', querystring: { type: 'object', properties: { status: string } }, response: { 200: dataOf(listOf(ref('SandboxDetail'))) } } },
    async (request) => {
      const { status } = request.query;
      const wanted = status === undefined || status === '' ? undefined : status.split(',').map((name) => name.trim());
      if (wanted?.some((name) => !statuses.includes(name)) === true) throw new Refusal(400, 'invalid_status', { message: `the statuses are ${statuses.join(', ')}` });
      const where = { account_id: request.caller.accountId, ...(wanted === undefined ? {} : { status: wanted as SandboxStatus[] }) };
      const rows = await store.find('sandboxes', where, { order: 'newest' });
      return { data: await Promise.all(rows.map(detail)) };
    },
  );

  app.get<ById>('/api/sandboxes/:id', { schema: { summary: 'One sandbox', response: { 200: dataOf(ref('SandboxDetail')) } } }, async (request) => ({
    data: await detail(await owned(store, 'sandboxes', request.params.id, request.caller)),
  }));

  app.delete<ById>('/api/sandboxes/:id', { schema: { summary: 'Reset a persistent sandbox', response: { 204: { type: 'null' } } } }, async (request, reply) => {
    await engine.resetSandbox(request.params.id.toLowerCase(), request.caller.accountId);
    return reply.code(204).send();
  });

  const reading = { config: { access: 'full' as const } };
  app.get<ById & { Querystring: FileQuery }>('/api/sandboxes/:id/files', { ...reading, schema: { summary: 'A folder', querystring: fileQuery, response: { 200: data } } }, async (request) => ({
    data: await listFolder(await view(request.params.id, request.caller), request.query.path ?? ''),
  }));

  app.get<ById & { Querystring: FileQuery }>('/api/sandboxes/:id/file', { ...reading, schema: { summary: 'A file', querystring: fileQuery, response: { 200: data } } }, async (request) => ({
    data: await readSandboxFile(await view(request.params.id, request.caller), request.query.path ?? '', leadingInteger(request.query.max_bytes)),
  }));

  for (const kind of ['diff', 'git-status'] as const) {
    app.get<ById & { Querystring: FileQuery }>(`/api/sandboxes/:id/${kind}`, { ...reading, schema: { summary: `The working tree: ${kind}`, querystring: fileQuery, response: { 200: data } } }, async (request) => ({
      data: await workingTree(await view(request.params.id, request.caller), kind, request.query.path ?? ''),
    }));
  }

  async function detail(row: SandboxRow): Promise<JsonObject> {
    const rows = await store.find('conversations', { sandbox_id: row.id });
    const conversations = rows.map(({ id, status, title, agent, inserted_at }) => ({ id, status, title, runtime: agent.runtime, mid_turn: status === 'running', inserted_at }));
    return { ...sandboxView(row), conversations, inserted_at: row.inserted_at, last_resumed_at: row.last_resumed_at };
  }

  /** The files can be read while the machine is parked; reading does not wake it. */
  async function view(id: string, caller: Caller): Promise<SandboxView> {
    const row = await owned(store, 'sandboxes', id, caller);
    if (row.status !== 'ready' && row.status !== 'suspended') {
      throw new Refusal(409, 'sandbox_not_ready', { message: `the sandbox is ${row.status}`, fields: { status: row.status } });
    }
    const { registered } = await variablesOf(store, context.box, { environment_id: row.environment_id, vault_id: row.vault_id, agent: null });
    return { folder: sandboxFolder(context.config.dataDir, row.id), redactor: new Redactor(registered), isolation: context.isolation };
  }
}
