import type { EngineContext } from '../engine/context.ts';
import { fixtureRuntime, fixtureSwitches, publicRuntimes } from '../engine/instanceRuntimes.ts';
import type { JsonObject } from '../../protocol/jsonrpc.ts';
import type { AgentRow, ConversationRow, EnvironmentRow, SandboxRow, TurnRow, VaultRow } from '../store/rows.ts';
import type { StoredEvent } from '../store/store.ts';

/** Name of the only place where this instance makes sandboxes. */
export const localProvider = 'local';

/** Whether a runtime speaks ACP here: all do, the fixture only while it is enabled. */
function speaksAcp(runtime: string, { config }: Pick<EngineContext, 'config'>): boolean {
  return runtime === fixtureRuntime ? fixtureSwitches(config.env).isEnabled : publicRuntimes.includes(runtime);
}

/** Returns an agent as the API shows it. */
export async function agentView(row: AgentRow, context: EngineContext): Promise<JsonObject> {
  const conversations = await context.store.count('conversations', { agent_id: row.id });
  return { ...without(row, 'account_id'), acp: speaksAcp(row.runtime, context), conversation_count: conversations, avatar_media_type: null };
}

/** Returns a vault as the API shows it. */
export async function vaultView(row: VaultRow, { store }: EngineContext): Promise<JsonObject> {
  return { ...without(row, 'account_id'), secret_count: await store.count('secrets', { owner_id: row.id }) };
}

/** Returns an environment as the API shows it. */
export async function environmentView(row: EnvironmentRow, { store }: EngineContext): Promise<JsonObject> {
  const [secrets, agents] = await Promise.all([store.count('secrets', { owner_id: row.id }), store.count('agents', { environment_id: row.id })]);
  return { ...without(row, 'account_id'), secret_count: secrets, agent_count: agents };
}

/** Returns a sandbox as a conversation carries it. */
export function sandboxView(row: SandboxRow): JsonObject {
  const { id, sprite_name, status, mode, agent_id, environment_id, vault_id } = row;
  return { id, sprite_name, status, provider: localProvider, mode, agent_id, environment_id, vault_id, url: null, runner: null };
}

/**
 * Returns a conversation as the API shows it.
 *
 * @param pending - Its permission requests that wait.
 * @see Fountain HTTP and SSE contract, section 4.1
 */
export function conversationView(row: ConversationRow, sandbox: SandboxRow | undefined, pending: readonly JsonObject[], context: EngineContext): JsonObject {
  const lastActiveAt = row.last_output_at ?? row.inserted_at;
  const isUnread = row.last_read_at === null || withFraction(lastActiveAt) > withFraction(row.last_read_at);
  return {
    id: row.id, title: row.title, first_prompt: row.first_prompt, status: row.status, agent_id: row.agent_id, vault_id: row.vault_id,
    environment_id: row.environment_id, model: row.agent.model, labels: row.labels, sandbox_api_access: row.sandbox_api_access,
    permission_policy: row.permission_policy, runtime: row.agent.runtime, acp: speaksAcp(row.agent.runtime, context),
    runtime_session_id: row.runtime_session_id, sandbox_id: row.sandbox_id, sandbox: sandbox === undefined ? null : sandboxView(sandbox),
    source: row.source, parent_conversation_id: row.parent_conversation_id, channel_id: row.channel_id, turn_count: row.turn_count,
    last_active_at: seconds(lastActiveAt), last_read_at: row.last_read_at === null ? null : seconds(row.last_read_at), unread: isUnread,
    usage_total: { input: row.usage_input, output: row.usage_output }, pending_requests: pending, inserted_at: row.inserted_at, updated_at: row.updated_at,
  };
}

/** Returns a turn as the API shows it. */
export function turnView(row: TurnRow): JsonObject {
  return { ...without(row, 'conversation_id'), origin: 'user', waiting: false };
}

/** Returns an event as `/events` shows it: the stream's members, its id and its duration. */
export function eventView(event: StoredEvent): JsonObject {
  const { id, kind, stream, data, stage, state, durationMs, turnId, ts } = event;
  return { id, kind, stream, data, stage, state, duration_ms: durationMs, turn_id: turnId, ts };
}

/** What is read in the second in which it was said is read: the fractions decide, and are not shown. */
function withFraction(time: string): string {
  return time.includes('.') ? time : time.replace('Z', '.000000Z');
}

function seconds(time: string): string {
  return time.replace(/\.\d+Z$/, 'Z');
}

function without<T extends object>(row: T, name: keyof T): JsonObject {
  return Object.fromEntries(Object.entries(row).filter(([member]) => member !== name));
}
