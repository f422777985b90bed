import { packageManagers } from '../engine/provision.ts';
import { fixtureRuntime, publicRuntimes } from '../engine/instanceRuntimes.ts';
import { verdicts } from '../engine/permissionPolicy.ts';

/** A JSON schema. */
export type Schema = Readonly<Record<string, unknown>>;

const string: Schema = { type: 'string' };
const boolean: Schema = { type: 'boolean' };
const integer: Schema = { type: 'integer' };
const object: Schema = { type: 'object' };
const uuid: Schema = { type: 'string', pattern: '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$' };
const time: Schema = { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z$' };
const name: Schema = { type: 'string', minLength: 1, maxLength: 200 };
const verdict: Schema = { type: 'string', enum: verdicts };
const policy: Schema = { type: 'object', additionalProperties: verdict };
const sandboxMode: Schema = { type: 'string', enum: ['ephemeral', 'persistent'] };

/** Returns a schema that also takes null. */
function nullable(schema: Schema): Schema {
  return { anyOf: [schema, { type: 'null' }] };
}

/** Returns the schema of a list. */
export function listOf(items: Schema): Schema {
  return { type: 'array', items };
}

/** Returns the reference to one of the named schemas below. */
export function ref(id: string): Schema {
  return { $ref: `${id}#` };
}

/** Returns the schema of an answer's envelope. */
export function dataOf(schema: Schema, meta?: Schema): Schema {
  return { type: 'object', required: meta ? ['data', 'meta'] : ['data'], properties: { data: schema, ...(meta ? { meta } : {}) } };
}

/** Returns an object schema of which every member is required. */
export function record(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', required: Object.keys(properties), properties };
}

function idOrNone(): Schema {
  return { anyOf: [uuid, { type: 'null' }, { type: 'string', maxLength: 0 }] };
}

const timestamps = { inserted_at: time, updated_at: time };

const sandboxMembers = {
  id: uuid, sprite_name: string, status: { type: 'string', enum: ['pending', 'starting', 'ready', 'suspended', 'terminated', 'failed'] },
  provider: string, mode: sandboxMode, agent_id: nullable(uuid), environment_id: nullable(uuid), vault_id: nullable(uuid),
  url: nullable(string), runner: nullable(object),
};

const environmentInput = {
  name,
  packages: { type: 'object', additionalProperties: listOf({ type: 'string', minLength: 1, maxLength: 200 }), propertyNames: { enum: packageManagers } },
  env_vars: { type: 'object', additionalProperties: string, propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]*$' } },
  setup_script: { type: 'string', maxLength: 262144 },
  networking_type: { type: 'string', enum: ['unrestricted', 'limited'] },
  networking_config: { type: 'object', properties: { allowed_hosts: listOf({ type: 'string', minLength: 1 }) } },
  repositories: listOf({
    type: 'object',
    required: ['url', 'mount_path'],
    properties: { url: { type: 'string', pattern: '^https://' }, mount_path: { type: 'string', pattern: '^/' } },
  }),
  metadata: object,
};

const vaultInput = { name, description: nullable(string), metadata: object };

function agentInput(runtimes: readonly string[]): Readonly<Record<string, Schema>> {
  return {
    name,
    description: nullable(string),
    system: string,
    model: nullable({ type: 'string', pattern: '^[a-z0-9_-]+/[a-z0-9._-]+$' }),
    runtime: { type: 'string', enum: runtimes },
    runtime_command: nullable({ type: 'string', minLength: 1, maxLength: 4096 }),
    sandbox_provider: nullable({ type: 'string', enum: ['local', 'sprites', 'e2b', 'daytona', 'runner'] }),
    sandbox_mode: sandboxMode,
    environment_id: nullable(uuid),
    skills: listOf({}),
    mcp_servers: object,
    metadata: object,
    allowed_vault_ids: nullable(listOf(uuid)),
    allowed_environment_ids: nullable(listOf(uuid)),
    permission_policy: policy,
  };
}

/**
 * Returns the named schemas of an instance: they validate what comes in, and its contract document shows them.
 *
 * @param fixtureIsConfigured - Whether the document of this deployment names the fixture runtime.
 * @see Fountain HTTP and SSE contract, sections 2 to 9 and 10.4
 */
export function namedSchemas(fixtureIsConfigured: boolean): readonly (Schema & { readonly $id: string })[] {
  const runtimes = fixtureIsConfigured ? [...publicRuntimes, fixtureRuntime] : publicRuntimes;
  const agent = agentInput(runtimes);
  return [
    { $id: 'Error', type: 'object', required: ['error'], properties: errorMembers },
    { $id: 'AgentCreate', type: 'object', required: ['name', 'runtime'], properties: agent },
    { $id: 'AgentUpdate', type: 'object', properties: agent },
    { $id: 'Agent', ...record({ ...agent, id: uuid, acp: boolean, conversation_count: integer, avatar_media_type: nullable(string), ...timestamps }) },
    { $id: 'VaultCreate', type: 'object', required: ['name'], properties: vaultInput },
    { $id: 'VaultUpdate', type: 'object', properties: vaultInput },
    { $id: 'Vault', ...record({ ...vaultInput, id: uuid, secret_count: integer, ...timestamps }) },
    { $id: 'EnvironmentCreate', type: 'object', required: ['name'], properties: environmentInput },
    { $id: 'EnvironmentUpdate', type: 'object', properties: environmentInput },
    { $id: 'Environment', ...record({ ...environmentInput, id: uuid, secret_count: integer, agent_count: integer, ...timestamps }) },
    { $id: 'SecretCreate', type: 'object', required: ['key', 'value'], properties: { key: { type: 'string', pattern: '^[A-Z][A-Z0-9_]*$', maxLength: 200 }, value: { type: 'string', maxLength: 1048576 } } },
    { $id: 'Secret', ...record({ id: uuid, key: string, inserted_at: time }) },
    { $id: 'ConversationCreate', type: 'object', required: ['agent_id'], properties: conversationInput },
    { $id: 'Conversation', ...record(conversationMembers(runtimes)) },
    { $id: 'Sandbox', ...record(sandboxMembers) },
    { $id: 'SandboxDetail', ...record({ ...sandboxMembers, conversations: listOf(record({ id: uuid, status: string, title: nullable(string), runtime: string, mid_turn: boolean, inserted_at: time })), inserted_at: time, last_resumed_at: nullable(time) }) },
    { $id: 'Turn', ...record(turnMembers) },
    { $id: 'Event', ...record(eventMembers) },
    { $id: 'PromptCreate', type: 'object', required: ['prompt'], properties: { prompt: { type: 'string', maxLength: 4194304 }, images: { description: 'List of {data, media_type}' }, client_request_id: { description: 'String of 1 to 200 characters, or null' } } },
  ];
}

const errorMembers = {
  error: string, message: string, errors: { type: 'object', additionalProperties: listOf(string) }, reason: string, required_scope: string,
  active_sandboxes: integer, limit: integer, status: string, field: string, retry_after_seconds: integer,
};

const conversationInput = {
  agent_id: string,
  vault_id: idOrNone(),
  environment_id: idOrNone(),
  channel_id: nullable({ type: 'string', maxLength: 255 }),
  fresh: { enum: [true, false, 'true', 'false', null] },
  sandbox_mode: nullable(sandboxMode),
  sandbox_id: nullable(string),
  permission_policy: { description: 'Verdicts by tool title, ACP kind or "default"; may only narrow what the agent permits' },
  prompt: nullable({ type: 'string', maxLength: 4194304 }),
  images: { description: 'List of {data, media_type}' },
  client_request_id: { description: 'String of 1 to 200 characters, or null' },
  sandbox_api_access: nullable({ type: 'string', enum: ['owner', 'none'] }),
  title: nullable(string),
  labels: nullable({ type: 'object', maxProperties: 32, additionalProperties: { type: 'string', maxLength: 256 } }),
};

function conversationMembers(runtimes: readonly string[]): Readonly<Record<string, Schema>> {
  return {
    id: uuid, title: nullable(string), first_prompt: nullable(string), status: { type: 'string', enum: ['pending', 'running', 'idle', 'failed', 'terminated'] },
    agent_id: nullable(uuid), vault_id: nullable(uuid), environment_id: nullable(uuid), model: nullable(string), labels: object,
    sandbox_api_access: string, permission_policy: policy, runtime: { type: 'string', enum: runtimes }, acp: boolean, runtime_session_id: nullable(string),
    sandbox_id: nullable(uuid), sandbox: nullable(ref('Sandbox')), source: { type: 'string', enum: ['ui', 'api', 'agent'] },
    parent_conversation_id: nullable(uuid), channel_id: nullable(string), turn_count: integer, last_active_at: nullable(time),
    last_read_at: nullable(time), unread: boolean, usage_total: record({ input: integer, output: integer }), pending_requests: listOf(object), ...timestamps,
  };
}

const turnMembers = {
  id: uuid, turn_number: integer, prompt: string, image_count: integer, status: { type: 'string', enum: ['pending', 'running', 'completed', 'failed', 'interrupted'] },
  exit_code: nullable(integer), started_at: nullable(time), ended_at: nullable(time), inserted_at: time, usage: nullable(object),
  client_request_id: nullable(string), origin: string, waiting: boolean,
};

const eventMembers = {
  id: integer, kind: { type: 'string', enum: ['output', 'stage'] }, stream: string, data: string, stage: string, state: string,
  duration_ms: nullable(integer), turn_id: nullable(uuid), ts: time,
};
