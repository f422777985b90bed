import { constants } from 'node:fs';
import { lstat, open, readdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { JsonObject } from '../../protocol/jsonrpc.ts';
import { redacted } from '../log/redactor.ts';
import type { Redactor } from '../log/redactor.ts';
import { Refusal } from '../refusal.ts';
import { runCommand } from './commandRun.ts';
import type { Isolation } from './context.ts';
import { homeAlias } from './sandboxFolder.ts';
import type { SandboxFolder } from './sandboxFolder.ts';

/** A sandbox whose files may be read, and the values that must not be shown. */
export interface SandboxView {
  readonly folder: SandboxFolder;
  readonly redactor: Redactor;
  readonly isolation: Isolation;
}

const maxEntries = 2000;
const usualBytes = 262_144;
const maxBytes = 4_194_304;
const gitMs = 10_000;

/** Keys of this server, of which only digests are known. */
const apiKey = /ftn_[0-9a-f]{64}/g;

/**
 * Returns the entries of a folder, sorted by name.
 *
 * Errors: Refusal as in the contract.
 *
 * @see Fountain HTTP and SSE contract, section 9.4
 */
export async function listFolder(view: SandboxView, given: string): Promise<JsonObject> {
  const folder = await located(view, given);
  const names = (await readdir(folder).catch((error: unknown) => Promise.reject(readError(error)))).sort();
  const entries = await Promise.all(
    names.slice(0, maxEntries).map(async (name) => {
      const entry = await lstat(path.join(folder, name)).catch(() => null);
      const type = entry?.isFile() ? 'file' : entry?.isDirectory() ? 'directory' : entry?.isSymbolicLink() ? 'symlink' : 'other';
      return { name: clean(view, name), type, size: entry?.size ?? 0 };
    }),
  );
  return { path: given === '' ? homeAlias : given, entries, truncated: names.length > maxEntries };
}

/**
 * Returns the beginning of a file, as text where it is UTF-8, without the secrets in it.
 *
 * Errors: Refusal as in the contract.
 *
 * @param limit - Bytes to read; 0 for the usual number.
 * @see Fountain HTTP and SSE contract, section 9.4
 */
export async function readSandboxFile(view: SandboxView, given: string, limit: number): Promise<JsonObject> {
  if (given === '') throw new Refusal(422, 'invalid_path', { message: 'path is required' });
  const file = await located(view, given);
  const wanted = Math.min(limit === 0 ? usualBytes : limit, maxBytes);
  // A pipe in the sandbox must not hold the server up.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => Promise.reject(readError(error)));
  try {
    const stat = await handle.stat();
    if (stat.isDirectory()) throw new Refusal(422, 'is_a_directory');
    if (!stat.isFile()) throw new Refusal(422, 'path_unreadable');
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(wanted, stat.size)), 0, undefined, 0);
    const bytes = buffer.subarray(0, bytesRead);
    const text = utf8(bytes, bytesRead < stat.size);
    const content = text === null ? { encoding: 'base64', content: bytes.toString('base64') } : { encoding: 'utf-8', content: clean(view, text) };
    return { path: given, size: stat.size, truncated: bytesRead < stat.size, ...content };
  } finally {
    await handle.close();
  }
}

/**
 * Returns what git says about the working tree in a folder: the difference to the last commit, or the state of each file.
 *
 * What a repository configures to be run is switched off, as far as git can do that.
 *
 * Errors: Refusal as in the contract.
 */
export async function workingTree(view: SandboxView, kind: 'diff' | 'git-status', given: string): Promise<JsonObject> {
  const cwd = await located(view, given);
  const args = kind === 'diff' ? ['diff', '--no-color', '--no-ext-diff', '--no-textconv', 'HEAD'] : ['status', '--porcelain=v1', '--branch'];
  const { exitCode, output } = await git(view, cwd, args);
  if (exitCode !== 0) throw new Refusal(422, 'sandbox_command_failed', { message: 'git failed', fields: { exit_code: exitCode, output: clean(view, output.slice(0, 4000)) } });
  const truncated = output.length >= maxBytes;
  const member = kind === 'diff' ? 'diff' : 'status';
  return { path: given === '' ? homeAlias : given, [member]: clean(view, output), truncated };
}

/** Runs in the sandbox's own isolation: a repository can name programs that git runs, and not all of them can be ruled out. */
async function git({ folder, isolation }: SandboxView, cwd: string, args: readonly string[]): Promise<{ exitCode: number; output: string }> {
  let output = '';
  const onOutput = (_stream: string, text: string): void => {
    if (output.length < maxBytes) output = `${output}${text}`.slice(0, maxBytes);
  };
  const harmless = ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', '-c', 'core.pager=cat', '-c', 'safe.directory=*'];
  const env = { PATH: process.env['PATH'] ?? '', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', GIT_OPTIONAL_LOCKS: '0', GIT_CEILING_DIRECTORIES: path.dirname(cwd) };
  const command = isolation.wrap({ command: 'git', args: [...harmless, '-C', cwd, ...args], env }, folder, false);
  const exitCode = await runCommand({ ...command, cwd, signal: AbortSignal.timeout(gitMs), onOutput });
  return { exitCode, output };
}

/** Returns the real path of a path in the sandbox; links may not lead out of it. */
async function located({ folder }: SandboxView, given: string): Promise<string> {
  if (given.includes('\u0000')) throw new Refusal(422, 'invalid_path');
  const home = await realpath(folder.home).catch(() => Promise.reject(new Refusal(503, 'sandbox_unreachable', { retryAfter: 10 })));
  const alias = given === homeAlias || given.startsWith(`${homeAlias}/`) ? `.${given.slice(homeAlias.length)}` : given;
  const wanted = path.resolve(home, alias);
  if (!isInside(home, wanted) && !isInside(folder.home, wanted)) throw outside();
  const real = await realpath(wanted).catch((error: unknown) => Promise.reject(readError(error)));
  if (!isInside(home, real)) throw outside();
  return real;
}

function isInside(folder: string, file: string): boolean {
  return file === folder || file.startsWith(`${folder}${path.sep}`);
}

function outside(): Refusal {
  return new Refusal(422, 'path_outside_sandbox', { message: 'the path leads out of the sandbox' });
}

function readError(error: unknown): Refusal {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOENT') return new Refusal(404, 'path_not_found');
  if (code === 'ENOTDIR') return new Refusal(422, 'not_a_directory');
  if (code === 'EISDIR') return new Refusal(422, 'is_a_directory');
  return new Refusal(422, code === 'ENAMETOOLONG' ? 'invalid_path' : 'path_unreadable');
}

/** Returns UTF-8 text; null for other bytes. A character that the limit cut is left out. */
function utf8(bytes: Buffer, isCut: boolean): string | null {
  for (const dropped of isCut ? [0, 1, 2, 3] : [0]) {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, bytes.length - dropped));
    } catch {
      // The next attempt leaves one more byte out.
    }
  }
  return null;
}

function clean({ redactor }: SandboxView, text: string): string {
  return redactor.text(text).replace(apiKey, redacted);
}
