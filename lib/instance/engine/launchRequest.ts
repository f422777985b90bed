import type { SandboxMode } from '../../protocol/fountain.ts';
import type { AgentConfiguration, AgentRow, Scope } from '../store/rows.ts';
import type { Submission } from './prompt.ts';

/** Body of `POST /api/conversations`, checked in its types. */
export interface LaunchRequest {
  readonly agentId: string;
  readonly vaultId: string | null;
  readonly environmentId: string | null;
  readonly channelId: string | null;
  readonly fresh: boolean;
  readonly sandboxMode: SandboxMode | null;
  readonly sandboxId: string | null;
  readonly permissionPolicy: unknown;
  readonly submission: Submission | null;
  readonly sandboxApiAccess: 'owner' | 'none';
  readonly title: unknown;
  readonly labels: Readonly<Record<string, string>>;
  readonly parentId: string | null;
}

/** Who launches. */
export interface Launcher {
  readonly accountId: string;
  readonly scope: Scope;
}

/** What a launch comes to. */
export interface Launched {
  readonly id: string;
  readonly resumed: boolean;
}

/** A launch whose parts have been found and may be put together. */
export interface Resolved {
  readonly launcher: Launcher;
  readonly request: LaunchRequest;
  readonly agent: AgentRow;
}

/** Returns what a conversation takes over from its agent. */
export function configurationOf(agent: AgentRow): AgentConfiguration {
  const { name, system, model, runtime, runtime_command, environment_id, skills, mcp_servers, permission_policy } = agent;
  return { name, system, model, runtime, runtime_command, environment_id, skills, mcp_servers, permission_policy };
}
