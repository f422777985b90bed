import { writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { InstanceConfig } from '../config.ts';
import { fixtureProgram } from '../programs/installedPrograms.ts';
import { fixtureFile, resolveRuntime } from '../runtimes.ts';
import type { RuntimeCommand, Runtimes } from './context.ts';

/** The runtime of the deterministic test program. */
export const fixtureRuntime = 'fountain-fixture';

/** Runtimes that everybody sees. */
export const publicRuntimes: readonly string[] = ['demo', 'claude', 'codex', 'gemini', 'opencode', 'acp'];

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Where coding agents keep a person's log-in and settings, under that person's home. */
const signInPaths: Readonly<Record<string, readonly string[]>> = {
  claude: ['.claude', '.claude.json'],
  codex: ['.codex'],
  gemini: ['.gemini'],
  opencode: ['.config/opencode', '.local/share/opencode', '.local/state/opencode', '.cache/opencode'],
};

/** Variables that carry a person's access to a model provider, and nothing else of the server's environment. */
const providerVariables = /^(ANTHROPIC|CLAUDE|OPENAI|CODEX|GEMINI|GOOGLE|OPENCODE|OPENROUTER|XDG)_\w+$/;

/**
 * Whether the fixture runtime is configured and enabled.
 *
 * @see Fountain HTTP and SSE contract, section 10.1
 */
export function fixtureSwitches(env: InstanceConfig['env']): { readonly isConfigured: boolean; readonly isEnabled: boolean; readonly accountId: string } {
  const accountId = (env['DEPLOYED_ACP_FIXTURE_USER_ID'] ?? '').toLowerCase();
  const isConfigured = uuid.test(accountId);
  return { isConfigured, isEnabled: isConfigured && env['DEPLOYED_ACP_FIXTURE_ENABLED'] === 'true', accountId };
}

/** Returns the runtimes as the engine uses them. */
export function instanceRuntimes({ env }: Pick<InstanceConfig, 'env'>): Runtimes {
  const fixture = fixtureSwitches(env);
  return {
    resolve: ({ runtime, runtime_command: command }) => withSignIn(runtime, resolveRuntime(runtime, command, env), env),
    install: async (runtime, home) => {
      if (runtime === fixtureRuntime) await writeFile(path.join(home, fixtureFile), fixtureProgram().text);
    },
    isAdmitted: (runtime, accountId) => runtime !== fixtureRuntime || (fixture.isEnabled && accountId === fixture.accountId),
  };
}

/** A coding agent runs with its user's home, where its log-in is; everything else has the sandbox for its home. */
function withSignIn(runtime: string, command: RuntimeCommand, env: InstanceConfig['env']): RuntimeCommand {
  const paths = signInPaths[runtime];
  if (paths === undefined) return command;
  const home = os.homedir();
  const provider = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined && providerVariables.test(entry[0]));
  return { ...command, env: { ...Object.fromEntries(provider), HOME: home, ...command.env }, writable: paths.map((part) => path.join(home, part)) };
}
