import path from 'node:path';
import type { SandboxFolder } from './sandboxFolder.ts';
import type { Variables } from './variables.ts';

/** Carries the sandbox's id in the environment of all of its processes; whatever has it belongs to that sandbox. */
export const sandboxVariable = 'FOUNTAIN_SANDBOX_ID';

/** What of the server's own environment every process gets: where programs are, how text is written, how the network is reached. */
const inherited = /^(PATH|LANG|LANGUAGE|LC_\w+|TZ|TERM|SHELL|USER|LOGNAME|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/;

/** What git alone gets while a sandbox is provisioned; it may name the way to private repositories. */
const inheritedByGit = /^GIT_(CONFIG_\w+|SSL_CAINFO|SSH_COMMAND)$/;

/** What a sandbox exports to its processes, beside the configured variables. */
export interface SandboxExports {
  readonly baseUrl: string;
  /** The sandbox's own key; null where it gets none. */
  readonly token: string | null;
  readonly conversationId: string;
  readonly sandboxId: string;
}

/** Returns the environment of programs that provision a sandbox. */
export function sandboxEnvironment(env: Readonly<Record<string, string | undefined>>, folder: SandboxFolder, sandboxId: string, variables: Variables): Record<string, string> {
  return { ...hostEnvironment(env, inherited), ...hostEnvironment(env, inheritedByGit), ...sandboxHome(folder, env['PATH']), ...variables.values, [sandboxVariable]: sandboxId };
}

/**
 * Returns the environment of a harness: the host's few variables, the runtime's own, the configured ones, the exports.
 *
 * @param runtimeEnv - What the runtime needs; its HOME wins over the sandbox's, since a log-in may live there.
 */
export function harnessEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  folder: SandboxFolder,
  runtimeEnv: Readonly<Record<string, string>>,
  variables: Variables,
  exports: SandboxExports,
): Record<string, string> {
  const { baseUrl, token, conversationId, sandboxId } = exports;
  return {
    ...hostEnvironment(env, inherited),
    ...sandboxHome(folder, env['PATH']),
    ...runtimeEnv,
    ...variables.values,
    FOUNTAIN_BASE_URL: baseUrl,
    ...(token === null ? {} : { FOUNTAIN_TOKEN: token }),
    FOUNTAIN_CONVERSATION_ID: conversationId,
    [sandboxVariable]: sandboxId,
  };
}

function hostEnvironment(env: Readonly<Record<string, string | undefined>>, names: RegExp): Record<string, string> {
  const entries = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined && names.test(entry[0]));
  return Object.fromEntries(entries);
}

/** HOME, a place for temporary files, and where packages of the environment are found. */
function sandboxHome(folder: SandboxFolder, hostPath = ''): Record<string, string> {
  return {
    HOME: folder.home,
    TMPDIR: folder.tmp,
    PATH: [path.join(folder.home, '.packages', 'node_modules', '.bin'), path.join(folder.home, '.packages', 'python', 'bin'), hostPath].join(path.delimiter),
    NODE_PATH: path.join(folder.home, '.packages', 'node_modules'),
    PYTHONPATH: path.join(folder.home, '.packages', 'python'),
  };
}
