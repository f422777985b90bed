/**
 * The Fountain API's wire types, shared by the client and the embedded instance. Field names are the wire's.
 *
 * @see Fountain HTTP and SSE contract
 */

/** Before a tool runs: go ahead, ask somebody, refuse. */
export type Verdict = 'auto_allow' | 'ask' | 'auto_deny';

/** By tool title, ACP kind or `default`. */
export type PermissionPolicy = Readonly<Record<string, Verdict>>;

/** Where a conversation runs: on a sandbox of its own, or on the agent's machine. */
export type SandboxMode = 'ephemeral' | 'persistent';

/** One agent, as far as a client reads it. */
export interface Agent {
  readonly id: string;
  readonly name: string;
  readonly runtime: string;
  readonly model: string | null;
  readonly acp: boolean;
}

/** One conversation, as far as a client reads it. */
export interface Conversation {
  readonly id: string;
  readonly title: string | null;
  readonly agent_id: string | null;
  readonly runtime: string;
  readonly acp: boolean;
  readonly status: string;
  readonly channel_id: string | null;
}

/** An image of a prompt: base64 data and its media type. */
export interface PromptImage {
  readonly data: string;
  readonly media_type: string;
}

/** Body of `POST /api/conversations`. */
export interface CreateConversation {
  readonly agent_id: string;
  readonly vault_id?: string;
  readonly environment_id?: string;
  readonly channel_id?: string;
  readonly fresh?: true;
  readonly sandbox_mode?: unknown;
  readonly sandbox_id?: unknown;
  readonly permission_policy?: PermissionPolicy;
}

/** Body of `POST /api/conversations/:id/prompts`. */
export interface PromptSubmission {
  readonly prompt: string;
  readonly images: readonly PromptImage[];
  /** Validated by the server alone. */
  readonly client_request_id?: unknown;
}

/**
 * One event of a conversation's log, as the stream and `/events` carry it.
 */
export interface ServerEvent {
  /** From one counter for the whole server; absent on a synthetic event, which is not stored. */
  readonly id?: number;
  readonly kind: 'output' | 'stage';
  /** `stdout`, `stderr` or `acp`; empty on a stage event. */
  readonly stream: string;
  /** Raw text; for `acp` one JSON-RPC message, for a stage event its metadata, a JSON object. */
  readonly data: string;
  readonly stage: string;
  readonly state: string;
  readonly turn_id: string | null;
  /** The event's JSON as it came; only where the reader asked for it. */
  readonly json?: string;
}
