import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';
import type { RuntimeCommand } from './engine/context.ts';
import { splitCommand } from './programs/commandLine.ts';
import { demoProgram } from './programs/installedPrograms.ts';

/** File name under which the fixture program is installed in a sandbox's folder. */
export const fixtureFile = '.fountain-acp-fixture.mjs';

/** The environment of the server, as far as it decides on runtimes: PATH and the commands that are configured. */
export type RuntimeEnvironment = Readonly<Record<string, string | undefined>>;

/** A coding agent whose ACP command is known. */
interface CodingAgent {
  /** The variable that names another command line. */
  readonly variable: string;
  /** Command lines in the order in which they are tried. */
  readonly commands: readonly (readonly [string, ...string[]])[];
  readonly install: string;
}

const codingAgents: Readonly<Record<string, CodingAgent>> = {
  claude: {
    variable: 'FOUNTAIN_RUNTIME_CLAUDE',
    commands: [['claude-agent-acp'], ['claude-code-acp']],
    install: 'npm install -g @agentclientprotocol/claude-agent-acp',
  },
  codex: { variable: 'FOUNTAIN_RUNTIME_CODEX', commands: [['codex-acp']], install: 'npm install -g @agentclientprotocol/codex-acp' },
  gemini: { variable: 'FOUNTAIN_RUNTIME_GEMINI', commands: [['gemini', '--acp']], install: 'npm install -g @google/gemini-cli' },
  opencode: { variable: 'FOUNTAIN_RUNTIME_OPENCODE', commands: [['opencode', 'acp']], install: 'npm install -g opencode-ai' },
};

/**
 * Returns the command line that runs a runtime, and what its environment gets beside the sandbox's own.
 *
 * @param runtimeCommand - The command line of the runtime `acp`; others ignore it.
 * @throws Error in words: an unknown runtime, a command line that is none, a program that is not installed and how to
 * install it.
 * @see Specification, "Test the deployed ACP path"
 */
export function resolveRuntime(runtime: string, runtimeCommand: string | null, environment: RuntimeEnvironment): RuntimeCommand {
  if (runtime === 'demo') return { command: process.execPath, args: [demoProgram()], env: {} };
  if (runtime === 'fountain-fixture') return { command: process.execPath, args: [fixtureFile], env: {} };
  if (runtime === 'acp') return givenCommand(runtimeCommand ?? '', 'runtime_command', environment);
  const agent = Object.hasOwn(codingAgents, runtime) ? codingAgents[runtime] : undefined;
  if (!agent) throw new Error(`there is no runtime "${runtime}"; the runtimes are demo, ${Object.keys(codingAgents).join(', ')} and acp`);
  const found = installedCommand(agent, environment);
  if (found) return found;
  const names = agent.commands.map(([name]) => `"${name}"`).join(' nor ');
  throw new Error(`the ${runtime} runtime needs a program that is not installed: there is no ${names} on PATH. Install it with "${agent.install}", or name its command in ${agent.variable}`);
}

/** Returns the coding agents whose ACP command is on PATH or configured, in a fixed order. */
export function detectRuntimes(environment: RuntimeEnvironment): string[] {
  return Object.entries(codingAgents).flatMap(([runtime, agent]) => {
    try {
      return installedCommand(agent, environment) ? [runtime] : [];
    } catch {
      return [];
    }
  });
}

function installedCommand({ variable, commands }: CodingAgent, environment: RuntimeEnvironment): RuntimeCommand | null {
  const configured = environment[variable];
  if (configured !== undefined && configured !== '') return givenCommand(configured, variable, environment);
  for (const [name, ...args] of commands) {
    const command = findOnPath(name, environment['PATH']);
    if (command !== null) return { command, args, env: {} };
  }
  return null;
}

function givenCommand(line: string, source: string, environment: RuntimeEnvironment): RuntimeCommand {
  const { command, args, env } = splitCommand(line, source);
  // A path is taken as it is: relative ones start at the sandbox's folder, which this server does not look into.
  if (command.includes('/')) return { command, args, env };
  const found = findOnPath(command, env['PATH'] ?? environment['PATH']);
  if (found === null) throw new Error(`${source} names "${command}", and there is no such program on PATH`);
  return { command: found, args, env };
}

function findOnPath(name: string, searchPath: string | undefined): string | null {
  const folders = (searchPath ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find(isProgram) ?? null;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
