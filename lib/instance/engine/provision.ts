import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ConversationLog } from '../log/conversationLog.ts';
import type { ConversationRow, EnvironmentRow } from '../store/rows.ts';
import type { JsonObject } from '../../protocol/jsonrpc.ts';
import { runCommand } from './commandRun.ts';
import type { EngineContext } from './context.ts';
import { wordsOf } from './context.ts';
import { sandboxEnvironment } from './harnessEnvironment.ts';
import type { Sandbox } from './sandbox.ts';
import { makeSandboxFolder, placeInHome } from './sandboxFolder.ts';
import type { Variables } from './variables.ts';

/** What a machine is made from. */
export interface ProvisionPlan {
  readonly context: EngineContext;
  readonly row: ConversationRow;
  readonly sandbox: Sandbox;
  readonly environment: EnvironmentRow | undefined;
  readonly variables: Variables;
  readonly log: ConversationLog;
  readonly signal: AbortSignal;
  /** Whether anybody still waits for the machine; nothing is published about one that nobody wants. */
  readonly isWanted: () => boolean;
}

/** A step of provisioning: its stage and what its start says. */
interface Step {
  readonly stage: 'network' | 'packages' | 'clone' | 'setup';
  readonly started: JsonObject;
  /** Returns the metadata of its end. */
  readonly run: () => Promise<JsonObject>;
}

/** Package managers that install into a sandbox's own folder, with the command that does. */
const packageCommands: Readonly<Record<string, (folder: string, names: readonly string[]) => readonly string[]>> = {
  npm: (folder, names) => ['npm', 'install', '--no-audit', '--no-fund', '--prefix', folder, '--', ...names],
  pip: (folder, names) => ['python3', '-m', 'pip', 'install', '--target', path.join(folder, 'python'), '--', ...names],
};

/** Names of the package managers of this instance. */
export const packageManagers: readonly string[] = Object.keys(packageCommands);

/** A step ended with this exit code. */
class StepFailed extends Error {
  readonly exitCode: number;

  constructor(step: string, exitCode: number) {
    super(`${step} ended with exit code ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/**
 * Makes a machine: its folder, and in it what the environment and the runtime ask for, each step with its stage events.
 *
 * Errors: rejects in words for `provision/failed`, after the failing step has said so itself.
 *
 * @see Fountain HTTP and SSE contract, section 5.9
 */
export async function provision(plan: ProvisionPlan): Promise<void> {
  const { context, row, sandbox, environment } = plan;
  // A missing program is found before anything is installed.
  context.runtimes.resolve(row.agent, sandbox.folder.home);
  await makeSandboxFolder(sandbox.folder);
  for (const step of environment === undefined ? [] : stepsOf(environment, plan)) await take(step, plan);
  await writeInstructions(plan);
  await context.runtimes.install(row.agent.runtime, sandbox.folder.home);
}

function stepsOf(environment: EnvironmentRow, plan: ProvisionPlan): Step[] {
  const { networking_type: networking, networking_config: network, repositories, setup_script: script } = environment;
  const packages = Object.entries(environment.packages).filter(([, names]) => names.length > 0);
  const steps: Step[] = [];
  if (networking === 'limited') {
    const hosts = network.allowed_hosts ?? [];
    steps.push({ stage: 'network', started: { type: 'limited', hosts: hosts.length }, run: () => limitNetwork(hosts, plan) });
  }
  if (packages.length > 0) steps.push({ stage: 'packages', started: { commands: packages.length }, run: () => installPackages(packages, plan) });
  if (repositories.length > 0) steps.push({ stage: 'clone', started: { count: repositories.length }, run: () => clone(repositories, plan) });
  if (script.trim() !== '') steps.push({ stage: 'setup', started: {}, run: () => setUp(script, plan) });
  return steps;
}

async function take({ stage, started, run }: Step, { log, isWanted }: ProvisionPlan): Promise<void> {
  await log.commit([log.stage(stage, 'started', started)]);
  const place = { stage, turnId: null };
  try {
    const metadata = await run();
    await log.commit([...log.drain(place), log.stage(stage, 'done', metadata)]);
  } catch (error) {
    if (!isWanted()) throw error;
    const metadata = error instanceof StepFailed ? { exit_code: error.exitCode } : { reason: wordsOf(error) };
    await log.commit([...log.drain(place), log.stage(stage, 'failed', metadata)]);
    throw error;
  }
}

/** A limit that cannot be kept is refused: without isolation there is none, and bubblewrap knows all or nothing. */
function limitNetwork(hosts: readonly string[], { context }: ProvisionPlan): Promise<JsonObject> {
  const { kind, reason } = context.isolation;
  if (kind === 'none') return Promise.reject(new Error(`this instance cannot limit the network: ${reason ?? ''}`));
  if (hosts.length > 0) return Promise.reject(new Error('this instance can close the network, but not open it to single hosts; remove allowed_hosts'));
  return Promise.resolve({});
}

async function installPackages(packages: readonly (readonly [string, readonly string[]])[], plan: ProvisionPlan): Promise<JsonObject> {
  const folder = path.join(plan.sandbox.folder.home, '.packages');
  await mkdir(folder, { recursive: true });
  for (const [manager, names] of packages) {
    const command = packageCommands[manager];
    if (command === undefined) throw new Error(`this instance has no package manager "${manager}"; it has ${packageManagers.join(', ')}`);
    await run('packages', command(folder, names), plan);
  }
  return {};
}

async function clone(repositories: EnvironmentRow['repositories'], plan: ProvisionPlan): Promise<JsonObject> {
  for (const { url, mount_path: mountPath } of repositories) {
    const target = placeInHome(plan.sandbox.folder, mountPath);
    await mkdir(path.dirname(target), { recursive: true });
    await run('clone', ['git', 'clone', '--', url, target], plan);
  }
  return {};
}

async function setUp(script: string, plan: ProvisionPlan): Promise<JsonObject> {
  await run('setup', ['/bin/sh', '-c', script], plan);
  return { exit_code: 0 };
}

async function run(stage: Step['stage'], [command = '', ...args]: readonly string[], plan: ProvisionPlan): Promise<void> {
  const { context, sandbox, environment, variables, log, signal } = plan;
  const env = { ...sandboxEnvironment(context.config.env, sandbox.folder, sandbox.row.id, variables), GIT_TERMINAL_PROMPT: '0' };
  const wrapped = context.isolation.wrap({ command, args, env }, sandbox.folder, environment?.networking_type !== 'limited');
  const onOutput = (stream: 'stdout' | 'stderr', text: string): void => log.output(stream, text, { stage, turnId: null });
  const exitCode = await runCommand({ ...wrapped, cwd: sandbox.folder.home, signal, onOutput });
  if (exitCode !== 0) throw new StepFailed(stage, exitCode);
}

/** Where each harness looks for standing instructions; the protocol has no field for them. */
const instructionFiles: Readonly<Record<string, string>> = { claude: 'CLAUDE.md', gemini: 'GEMINI.md' };

async function writeInstructions({ row, sandbox }: ProvisionPlan): Promise<void> {
  const { system, runtime } = row.agent;
  if (system === '') return;
  await writeFile(path.join(sandbox.folder.home, instructionFiles[runtime] ?? 'AGENTS.md'), `${system}\n`);
}
