import { mkdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';

/** The name under which a sandbox's home is known to clients of a hosted instance. */
export const homeAlias = '/home/sprite';

/** The folders of one sandbox. */
export interface SandboxFolder {
  readonly root: string;
  /** Working directory of its processes. */
  readonly home: string;
  readonly tmp: string;
}

/** Returns the folders of a sandbox, which need not be there. */
export function sandboxFolder(dataDir: string, sandboxId: string): SandboxFolder {
  const root = path.join(dataDir, 'sandboxes', sandboxId);
  return { root, home: path.join(root, 'home'), tmp: path.join(root, 'tmp') };
}

/** Makes a sandbox's folders anew, empty. */
export async function makeSandboxFolder(folder: SandboxFolder): Promise<void> {
  await removeSandboxFolder(folder);
  for (const part of [folder.home, folder.tmp]) await mkdir(part, { recursive: true, mode: 0o700 });
}

/** Removes all that is left of a sandbox. */
export async function removeSandboxFolder(folder: SandboxFolder): Promise<void> {
  await rm(folder.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}

/** Whether a sandbox's home is there. */
export async function hasSandboxFolder(folder: SandboxFolder): Promise<boolean> {
  return stat(folder.home).then((entry) => entry.isDirectory(), () => false);
}

/** Returns the real place of a path that a conversation's configuration names, inside the sandbox's home. */
export function placeInHome(folder: SandboxFolder, sandboxPath: string): string {
  const relative = sandboxPath === homeAlias || sandboxPath.startsWith(`${homeAlias}/`) ? sandboxPath.slice(homeAlias.length) : sandboxPath;
  return path.join(folder.home, path.posix.normalize(`/${relative}`));
}
