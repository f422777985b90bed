import type { EngineContext } from '../engine/context.ts';
import { fixtureRuntime } from '../engine/instanceRuntimes.ts';
import { isStrict } from '../engine/permissionPolicy.ts';
import type { AgentRow } from '../store/rows.ts';

/** Which providers' models each runtime takes. */
const providers: Readonly<Record<string, readonly string[]>> = {
  claude: ['anthropic'],
  codex: ['openai'],
  gemini: ['google'],
  opencode: ['anthropic', 'openai', 'google'],
  demo: ['fountain'],
  [fixtureRuntime]: ['fixture'],
};

const fixtureModel = 'fixture/deterministic-v1';

type Errors = Record<string, string[]>;

/**
 * Returns what a schema cannot say about an agent, by field; nothing where it is fine.
 *
 * @param input - The fields that the request sets.
 * @see Fountain HTTP and SSE contract, sections 2.2 and 10.1
 */
export async function agentErrors(row: AgentRow, input: Partial<AgentRow>, context: EngineContext): Promise<Errors> {
  const errors: Errors = { ...runtimeErrors(row, input, context), ...modelErrors(row), ...policyErrors(row) };
  if (row.runtime === fixtureRuntime) Object.assign(errors, fixtureErrors(row), errors);
  if (typeof input.environment_id === 'string') {
    const environment = await context.store.get('environments', input.environment_id);
    if (environment?.account_id !== row.account_id) errors['environment_id'] = ['does not exist'];
  }
  return errors;
}

function runtimeErrors(row: AgentRow, input: Partial<AgentRow>, { runtimes }: EngineContext): Errors {
  // Agents that have the runtime already stay editable when it is switched off.
  if (input.runtime !== undefined && !runtimes.isAdmitted(row.runtime, row.account_id)) return { runtime: ['is not enabled for this account'] };
  if (row.runtime === 'acp' && (row.runtime_command ?? '').trim() === '') return { runtime_command: ["can't be blank"] };
  if (row.runtime !== 'acp' && row.runtime_command !== null) return { runtime_command: ['is only for the acp runtime'] };
  return {};
}

function modelErrors({ runtime, model }: AgentRow): Errors {
  if (model === null) return runtime === 'acp' ? {} : { model: ["can't be blank"] };
  if (runtime === fixtureRuntime) return model === fixtureModel ? {} : { model: [`must be ${fixtureModel}`] };
  const allowed = providers[runtime];
  const [provider = ''] = model.split('/');
  return allowed === undefined || allowed.includes(provider) ? {} : { model: [`must start with ${allowed.map((name) => `${name}/`).join(' or ')}`] };
}

function policyErrors({ runtime, permission_policy: policy }: AgentRow): Errors {
  if (runtime !== 'opencode' || !isStrict(policy)) return {};
  return { permission_policy: ['cannot be stricter than auto_allow: the opencode runtime never asks'] };
}

function fixtureErrors({ skills, mcp_servers: mcpServers, system }: AgentRow): Errors {
  return {
    ...(skills.length > 0 ? { skills: ['must be empty for this runtime'] } : {}),
    ...(Object.keys(mcpServers).length > 0 ? { mcp_servers: ['must be empty for this runtime'] } : {}),
    ...(system !== '' ? { system: ['must be empty for this runtime'] } : {}),
  };
}
