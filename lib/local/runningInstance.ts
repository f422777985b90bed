import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { isAlive } from './processes.ts';

/** How long a running instance may take to say that it lives, in milliseconds. */
const healthMs = 2000;

/** Longest answer to that, in characters: more is no answer of ours. */
const maxHealthLength = 10_000;

/** The local instance as a client reaches it. */
export interface LocalInstance {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly key: string;
  readonly pid: number;
  /** Of the program that runs it. */
  readonly version: string;
}

/**
 * Finds the instance that runs on a data folder; null where none runs, or where it does not answer.
 *
 * Errors: rejects in words where it runs and its key cannot be read.
 */
export async function findRunningInstance(dataFolder: string): Promise<LocalInstance | null> {
  const said = readJson(path.join(dataFolder, 'instance.json'));
  const { pid, base_url: url, version } = said;
  if (typeof pid !== 'number' || typeof url !== 'string' || !isAlive(pid)) return null;
  const baseUrl = url.replace(/\/+$/, '');
  if (!(await isHealthy(baseUrl))) return null;
  return { baseUrl, key: readKey(dataFolder), pid, version: typeof version === 'string' ? version : 'unknown' };
}

/** Members of a JSON file that holds an object; empty for every other file, and for none. */
export function readJson(file: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function readKey(dataFolder: string): string {
  const file = path.join(dataFolder, 'key');
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new Error(`a local instance runs, but its key ${file} cannot be read`, { cause: error });
  }
}

/** Whether a Fountain instance answers there. `node:http`, since `fetch` costs ten times as much to load. */
function isHealthy(baseUrl: string): Promise<boolean> {
  return new Promise((resolve) => {
    try {
      const call = request(`${baseUrl}/health`, { agent: false, timeout: healthMs }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text: string) => {
          body += text;
          if (body.length > maxHealthLength) call.destroy();
        });
        response.on('end', () => resolve(response.statusCode === 200 && /"status"\s*:\s*"ok"/.test(body)));
        // Cut off by the other side, or by us: there is always a close, and after the end it changes nothing.
        response.on('error', () => undefined).on('close', () => resolve(false));
      });
      call.on('timeout', () => call.destroy());
      call.on('error', () => resolve(false));
      call.end();
    } catch {
      // No URL, or not one of HTTP: a file that somebody else wrote.
      resolve(false);
    }
  });
}
