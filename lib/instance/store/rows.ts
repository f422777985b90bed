import type { PermissionPolicy, SandboxMode } from '../../protocol/fountain.ts';
import type { JsonObject } from '../../protocol/jsonrpc.ts';

/**
 * The rows of the store, one type for each table, and how each column is kept. Times are ISO 8601 UTC with seconds.
 *
 * @see Fountain HTTP and SSE contract, sections 2 to 9
 */

/** Who a resource belongs to. */
export interface AccountRow {
  readonly id: string;
  readonly email: string;
  /** A salted hash; null where nobody can log in with a password. */
  readonly password: string | null;
  readonly role: 'user' | 'admin';
  readonly inserted_at: string;
}

/** What a key may do: everything of its account, or what an agent in a sandbox may. */
export type Scope = 'full' | 'sprite';

/** An API key, of which only the digest is known. */
export interface KeyRow {
  readonly id: string;
  readonly account_id: string;
  /** SHA-256 of the key, in hex. */
  readonly digest: string;
  readonly prefix: string;
  readonly scope: Scope;
  /** The conversation whose sandbox carries the key; null for a key of a person. */
  readonly conversation_id: string | null;
  readonly inserted_at: string;
}

/** What a conversation needs to know of its agent, also when the agent has been deleted. */
export interface AgentConfiguration {
  readonly name: string;
  readonly system: string;
  readonly model: string | null;
  readonly runtime: string;
  readonly runtime_command: string | null;
  readonly environment_id: string | null;
  readonly skills: readonly unknown[];
  readonly mcp_servers: JsonObject;
  readonly permission_policy: PermissionPolicy;
}

/** An agent: a runtime, a model and the rules for its launches. */
export interface AgentRow extends AgentConfiguration {
  readonly id: string;
  readonly account_id: string;
  readonly description: string | null;
  readonly sandbox_provider: string | null;
  readonly sandbox_mode: SandboxMode;
  readonly metadata: JsonObject;
  readonly allowed_vault_ids: readonly string[] | null;
  readonly allowed_environment_ids: readonly string[] | null;
  readonly inserted_at: string;
  readonly updated_at: string;
}

/** A named set of secrets. */
export interface VaultRow {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly metadata: JsonObject;
  readonly inserted_at: string;
  readonly updated_at: string;
}

/** A repository that is cloned into a sandbox. */
interface Repository {
  readonly url: string;
  readonly mount_path: string;
}

/** What a sandbox is provisioned from. */
export interface EnvironmentRow {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly packages: Readonly<Record<string, readonly string[]>>;
  readonly env_vars: Readonly<Record<string, string>>;
  readonly setup_script: string;
  readonly networking_type: 'unrestricted' | 'limited';
  readonly networking_config: { readonly allowed_hosts?: readonly string[] };
  readonly repositories: readonly Repository[];
  readonly metadata: JsonObject;
  readonly inserted_at: string;
  readonly updated_at: string;
}

/** One secret of a vault or an environment. */
export interface SecretRow {
  readonly id: string;
  /** Id of the vault or the environment. */
  readonly owner_id: string;
  readonly key: string;
  /** The value, encrypted. */
  readonly sealed: string;
  readonly inserted_at: string;
}

/** Contract, section 6.1. */
export type SandboxStatus = 'pending' | 'starting' | 'ready' | 'suspended' | 'terminated' | 'failed';

/** The machine of one or more conversations: a folder and its processes. */
export interface SandboxRow {
  readonly id: string;
  readonly account_id: string;
  readonly sprite_name: string;
  readonly status: SandboxStatus;
  readonly mode: SandboxMode;
  readonly agent_id: string | null;
  readonly environment_id: string | null;
  readonly vault_id: string | null;
  /** The runtime of the agent it was made for. */
  readonly runtime: string;
  readonly last_resumed_at: string | null;
  readonly inserted_at: string;
  readonly updated_at: string;
}

/** Contract, section 6.1. */
export type ConversationStatus = 'pending' | 'running' | 'idle' | 'failed' | 'terminated';

/** Who named a conversation; null with a title: nobody knows. */
type TitleSource = 'explicit' | 'harness' | null;

/** A conversation: the durable unit of transcript, turns and status. */
export interface ConversationRow {
  readonly id: string;
  readonly account_id: string;
  readonly agent_id: string | null;
  readonly agent: AgentConfiguration;
  readonly vault_id: string | null;
  /** The override of the launch, not the environment in effect. */
  readonly environment_id: string | null;
  readonly permission_policy: PermissionPolicy;
  readonly status: ConversationStatus;
  readonly sandbox_id: string | null;
  /** The harness's own session id. */
  readonly runtime_session_id: string | null;
  readonly title: string | null;
  readonly title_source: TitleSource;
  readonly first_prompt: string | null;
  readonly turn_count: number;
  readonly source: 'ui' | 'api' | 'agent';
  readonly parent_conversation_id: string | null;
  readonly channel_id: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly sandbox_api_access: 'owner' | 'none';
  readonly usage_input: number;
  readonly usage_output: number;
  /** Bytes of output in the log; kept by the store. */
  readonly output_bytes: number;
  /** Time of the newest output event, with microseconds; kept by the store. */
  readonly last_output_at: string | null;
  /** With microseconds. */
  readonly last_read_at: string | null;
  readonly inserted_at: string;
  readonly updated_at: string;
}

/** Contract, section 4.3. */
export type TurnStatus = 'pending' | 'running' | 'completed' | 'failed' | 'interrupted';

/** Tokens of one turn, as far as the harness tells. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cache_read?: number;
  readonly cache_write?: number;
}

/** One prompt and what became of it. */
export interface TurnRow {
  readonly id: string;
  readonly conversation_id: string;
  readonly turn_number: number;
  readonly status: TurnStatus;
  readonly prompt: string;
  readonly image_count: number;
  readonly exit_code: number | null;
  readonly usage: Usage | null;
  readonly client_request_id: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly inserted_at: string;
}

/** One image of a prompt. */
interface ImageRow {
  readonly id: string;
  readonly turn_id: string;
  readonly position: number;
  readonly media_type: string;
  readonly data: Uint8Array;
}

/** A process group that the server started, so that a later start can end it. */
interface ProcessRow {
  readonly id: string;
  readonly sandbox_id: string;
  /** Process id of the group's leader, which is the group's id. */
  readonly pid: number;
  /** When the leader started, as the kernel counts; tells it from a later process with its number. */
  readonly started: string;
}

/** Every table with its row. */
export interface Tables {
  readonly accounts: AccountRow;
  readonly keys: KeyRow;
  readonly agents: AgentRow;
  readonly vaults: VaultRow;
  readonly environments: EnvironmentRow;
  readonly secrets: SecretRow;
  readonly sandboxes: SandboxRow;
  readonly conversations: ConversationRow;
  readonly turns: TurnRow;
  readonly images: ImageRow;
  readonly processes: ProcessRow;
}

/** Name of a table. */
export type TableName = keyof Tables;

/** How a column is kept. JSON is text in a store that knows no better. */
export type ColumnType = 'text' | 'integer' | 'json' | 'blob';

const text = 'text';
const integer = 'integer';
const json = 'json';

/** The columns of every table, in the order of the rows above. */
export const columns: { readonly [T in TableName]: Readonly<Record<keyof Tables[T], ColumnType>> } = {
  accounts: { id: text, email: text, password: text, role: text, inserted_at: text },
  keys: { id: text, account_id: text, digest: text, prefix: text, scope: text, conversation_id: text, inserted_at: text },
  agents: {
    id: text, account_id: text, name: text, description: text, system: text, model: text, runtime: text, runtime_command: text,
    sandbox_provider: text, sandbox_mode: text, environment_id: text, skills: json, mcp_servers: json, metadata: json,
    allowed_vault_ids: json, allowed_environment_ids: json, permission_policy: json, inserted_at: text, updated_at: text,
  },
  vaults: { id: text, account_id: text, name: text, description: text, metadata: json, inserted_at: text, updated_at: text },
  environments: {
    id: text, account_id: text, name: text, packages: json, env_vars: json, setup_script: text, networking_type: text,
    networking_config: json, repositories: json, metadata: json, inserted_at: text, updated_at: text,
  },
  secrets: { id: text, owner_id: text, key: text, sealed: text, inserted_at: text },
  sandboxes: {
    id: text, account_id: text, sprite_name: text, status: text, mode: text, agent_id: text, environment_id: text, vault_id: text,
    runtime: text, last_resumed_at: text, inserted_at: text, updated_at: text,
  },
  conversations: {
    id: text, account_id: text, agent_id: text, agent: json, vault_id: text, environment_id: text, permission_policy: json,
    status: text, sandbox_id: text, runtime_session_id: text, title: text, title_source: text, first_prompt: text,
    turn_count: integer, source: text, parent_conversation_id: text, channel_id: text, labels: json, sandbox_api_access: text,
    usage_input: integer, usage_output: integer, output_bytes: integer, last_output_at: text, last_read_at: text,
    inserted_at: text, updated_at: text,
  },
  turns: {
    id: text, conversation_id: text, turn_number: integer, status: text, prompt: text, image_count: integer, exit_code: integer,
    usage: json, client_request_id: text, started_at: text, ended_at: text, inserted_at: text,
  },
  images: { id: text, turn_id: text, position: integer, media_type: text, data: 'blob' },
  processes: { id: text, sandbox_id: text, pid: integer, started: text },
};
