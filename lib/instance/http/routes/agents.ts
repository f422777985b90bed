import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { configurationOf } from '../../engine/launchRequest.ts';
import { insufficientScope, invalid } from '../../refusal.ts';
import type { AgentRow } from '../../store/rows.ts';
import { insert, remove, update } from '../../store/store.ts';
import { rowTime } from '../../time.ts';
import { agentErrors } from '../agentRules.ts';
import { owned } from '../owned.ts';
import { dataOf, listOf, ref } from '../schemas.ts';
import type { Caller, Services } from '../services.ts';
import { agentView } from '../views.ts';

type AgentInput = Partial<Omit<AgentRow, 'id' | 'account_id' | 'inserted_at' | 'updated_at'>>;
interface ById {
  Params: { id: string };
}

const one = dataOf(ref('Agent'));
const query = { type: 'object', properties: { search: { type: 'string' }, runtime: { type: 'string' }, environment_id: { type: 'string' }, has_skills: { type: 'string' }, has_mcp: { type: 'string' } } };

const inputNames = [
  'name', 'description', 'system', 'model', 'runtime', 'runtime_command', 'sandbox_provider', 'sandbox_mode', 'environment_id', 'skills',
  'mcp_servers', 'metadata', 'allowed_vault_ids', 'allowed_environment_ids', 'permission_policy',
] as const;

/** Agents. Contract, sections 2.1 and 2.2. */
export function agentRoutes(app: FastifyInstance, { context }: Services): void {
  const { store } = context;

  app.get<{ Querystring: AgentQuery }>('/api/agents', { schema: { summary: 'Agents', querystring: query, response: { 200: dataOf(listOf(ref('Agent'))) } } }, async (request) => {
    const rows = await store.find('agents', { account_id: request.caller.accountId }, { order: 'newest' });
    return { data: await Promise.all(rows.filter(matching(request.query)).map((row) => agentView(row, context))) };
  });

  app.get<ById>('/api/agents/:id', { schema: { summary: 'One agent', response: { 200: one } } }, async (request) => ({
    data: await agentView(await owned(store, 'agents', request.params.id, request.caller), context),
  }));

  app.post<{ Body: AgentInput }>('/api/agents', { schema: { summary: 'Make an agent', body: ref('AgentCreate'), response: { 201: one } } }, async (request, reply) => {
    const row = newAgent(request.caller, pick(request.body));
    checkScope(request.caller, { runtime_command: row.runtime_command });
    await check(row, row);
    await store.commit([insert('agents', row)]);
    return reply.code(201).send({ data: await agentView(row, context) });
  });

  async function change(caller: Caller, id: string, body: AgentInput): Promise<{ data: unknown }> {
    const before = await owned(store, 'agents', id, caller);
    const input = pick(body);
    checkScope(caller, input);
    const row: AgentRow = { ...before, ...input, updated_at: rowTime() };
    await check(row, input);
    await store.commit([update('agents', row.id, { ...input, updated_at: row.updated_at })]);
    return { data: await agentView(row, context) };
  }

  const changing = { schema: { summary: 'Change an agent', body: ref('AgentUpdate'), response: { 200: one } } };
  app.put<ById & { Body: AgentInput }>('/api/agents/:id', changing, (request) => change(request.caller, request.params.id, request.body));
  app.patch<ById & { Body: AgentInput }>('/api/agents/:id', changing, (request) => change(request.caller, request.params.id, request.body));

  app.delete<ById>('/api/agents/:id', { schema: { summary: 'Delete an agent', response: { 204: { type: 'null' } } } }, async (request, reply) => {
    const row = await owned(store, 'agents', request.params.id, request.caller);
    // Its conversations go on under the rules that it had last.
    const conversations = await store.find('conversations', { agent_id: row.id });
    const agent = configurationOf(row);
    await context.log.commit([...conversations.map((other) => update('conversations', other.id, { agent: { ...agent, runtime: other.agent.runtime } })), remove('agents', { id: row.id })]);
    return reply.code(204).send();
  });

  async function check(row: AgentRow, input: AgentInput): Promise<void> {
    const errors = await agentErrors(row, input, context);
    if (Object.keys(errors).length > 0) throw invalid(errors);
  }
}

interface AgentQuery {
  readonly search?: string;
  readonly runtime?: string;
  readonly environment_id?: string;
  readonly has_skills?: string;
  readonly has_mcp?: string;
}

function matching({ search, runtime, environment_id: environmentId, has_skills: skills, has_mcp: mcp }: AgentQuery): (row: AgentRow) => boolean {
  const isIn = (list: string | undefined, value: string | null): boolean => list === undefined || list === '' || list.split(',').includes(value ?? '');
  const isSet = (flag: string | undefined, value: boolean): boolean => flag === undefined || !['true', '1', 'false', '0'].includes(flag) || ['true', '1'].includes(flag) === value;
  return (row) =>
    row.name.toLowerCase().includes((search ?? '').toLowerCase()) &&
    isIn(runtime, row.runtime) &&
    isIn(environmentId, row.environment_id) &&
    isSet(skills, row.skills.length > 0) &&
    isSet(mcp, Object.keys(row.mcp_servers).length > 0);
}

/** An agent in a sandbox may neither loosen the rules that it runs under nor name programs for this machine to run. */
function checkScope({ scope }: Caller, input: AgentInput): void {
  const isProgram = typeof input.runtime_command === 'string';
  if (scope !== 'full' && (isProgram || input.permission_policy !== undefined)) throw insufficientScope();
}

function pick(body: AgentInput): AgentInput {
  return Object.fromEntries(inputNames.filter((name) => body[name] !== undefined).map((name) => [name, body[name]]));
}

/** Returns a new agent's row; what the input leaves out has its default. */
export function newAgent({ accountId }: Pick<Caller, 'accountId'>, input: AgentInput): AgentRow {
  const now = rowTime();
  return {
    id: randomUUID(), account_id: accountId, name: '', description: null, system: '', model: null, runtime: 'acp', runtime_command: null,
    sandbox_provider: null, sandbox_mode: 'ephemeral', environment_id: null, skills: [], mcp_servers: {}, metadata: {}, allowed_vault_ids: null,
    allowed_environment_ids: null, permission_policy: {}, ...input, inserted_at: now, updated_at: now,
  };
}
