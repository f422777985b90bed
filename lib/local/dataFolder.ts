import { mkdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/**
 * Returns the folder of this user's local instance: `FOUNTAIN_LOCAL_DATA`, else `.fountain/local` in the home folder,
 * which is found without `HOME` too.
 *
 * @throws Error in words where there is no home folder.
 */
export function localDataFolder(environment: Readonly<Record<string, string | undefined>> = process.env): string {
  const chosen = environment['FOUNTAIN_LOCAL_DATA'];
  if (chosen) return path.resolve(chosen);
  try {
    // An empty HOME is an answer to `homedir` too, and would make the folder relative.
    return path.join(os.homedir() || os.userInfo().homedir, '.fountain', 'local');
  } catch (error) {
    throw new Error('this user has no home folder; set FOUNTAIN_LOCAL_DATA to a folder for the local instance', { cause: error });
  }
}

/** Makes the folder, readable by its user alone. Throws in words. */
export function makeDataFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new Error(`could not make the folder of the local instance, ${folder}: ${reasonOf(error)}; FOUNTAIN_LOCAL_DATA names another`, { cause: error });
  }
}

/** Returns an error's words. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
