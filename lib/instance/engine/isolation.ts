import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import type { Isolation, RuntimeCommand } from './context.ts';
import { homeAlias } from './sandboxFolder.ts';
import type { SandboxFolder } from './sandboxFolder.ts';

/** Read-only in every sandbox, where they are there. */
const systemPaths = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/etc', '/opt', '/nix/store'];

/**
 * Returns bubblewrap's isolation where it works on this machine, else none.
 *
 * Inside, a process sees its own folder, read-only system paths, the folders of its own program, and the network if granted.
 *
 * @param setting - `off` takes none in any case.
 */
export function detectIsolation(setting: 'auto' | 'off'): Isolation {
  if (setting === 'off') return none('it is switched off');
  const probe = spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-pid', '--proc', '/proc', 'true'], { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
  if (probe.error) return none('bubblewrap (bwrap) is not on PATH');
  if (probe.status !== 0) return none(`bubblewrap does not work here (${(probe.stderr.split('\n')[0] ?? '').trim()})`);
  return { kind: 'bubblewrap', reason: null, wrap: bubblewrap };
}

function none(reason: string): Isolation {
  return { kind: 'none', reason, wrap: (command) => command };
}

function bubblewrap({ command, args, env, writable = [] }: RuntimeCommand, folder: SandboxFolder, network: boolean): RuntimeCommand {
  const readable = [...systemPaths, ...programPaths(command, args, env)].filter((entry) => existsSync(entry));
  const binds = [...new Set(readable)].flatMap((entry) => ['--ro-bind', entry, entry]);
  const options = [
    '--unshare-all', ...(network ? ['--share-net'] : []), '--die-with-parent', '--new-session', '--proc', '/proc', '--dev', '/dev',
    '--tmpfs', '/tmp', '--tmpfs', '/run', ...resolverBinds(), ...binds,
    ...writable.flatMap((entry) => ['--bind-try', entry, entry]),
    // The real path is the same inside and outside, so that what a harness says about its files can be found.
    '--bind', folder.root, folder.root, '--symlink', folder.home, homeAlias, '--chdir', folder.home,
  ];
  return { command: 'bwrap', args: [...options, '--', command, ...args], env };
}

/** Names are often looked up by a service whose socket or file is under /run. */
function resolverBinds(): string[] {
  return ['/run/systemd/resolve', '/run/resolvconf'].filter((entry) => existsSync(entry)).flatMap((entry) => ['--ro-bind', entry, entry]);
}

/** The folders that a program outside of the system paths is read from: its own, its package's, and Node's. */
function programPaths(command: string, args: readonly string[], env: Readonly<Record<string, string>>): string[] {
  const files = [located(command, env), ...args.filter((argument) => path.isAbsolute(argument)), process.execPath];
  return files.flatMap((file) => {
    if (file === null || !existsSync(file)) return [];
    const real = realpathSync(file);
    return [path.dirname(file), programRoot(real), ...modulesAbove(real)];
  });
}

/** Folders in which Node looks for packages of a program. */
function modulesAbove(file: string): string[] {
  return foldersAbove(file).map((folder) => path.join(folder, 'node_modules'));
}

/** From a file's own folder outwards, without the root of all. */
function foldersAbove(file: string): string[] {
  const folder = path.dirname(file);
  return folder === path.dirname(folder) ? [] : [folder, ...foldersAbove(folder)];
}

function located(command: string, env: Readonly<Record<string, string>>): string | null {
  if (path.isAbsolute(command)) return command;
  const folders = (env['PATH'] ?? '').split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, command)).find((file) => existsSync(file)) ?? null;
}

/** The outermost folder with packages, else the program's own package, else the prefix above `bin`, else the program's folder. */
function programRoot(file: string): string {
  const packages = file.indexOf(`${path.sep}node_modules${path.sep}`);
  if (packages !== -1) return file.slice(0, packages);
  const home = homedir();
  const ownPackage = foldersAbove(file).find((folder) => folder !== home && existsSync(path.join(folder, 'package.json')));
  if (ownPackage !== undefined && !home.startsWith(ownPackage + path.sep)) return ownPackage;
  const folder = path.dirname(file);
  return path.basename(folder) === 'bin' ? path.dirname(folder) : folder;
}
