import { DatabaseSync } from '@photostructure/sqlite';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isJsonObject } from '../../protocol/jsonrpc.ts';
import { InstanceError } from '../instanceError.ts';

/** What a running server says about itself in its data folder. */
interface InstanceRecord {
  readonly pid: number;
  readonly base_url: string;
  readonly started_at: string;
  readonly version: string;
}

/** A data folder that this process alone uses. */
export interface DataFolder {
  readonly databaseFile: string;
  /** Returns the key that secrets are encrypted with; made on the first call in a new folder. */
  secretKey(): Promise<Buffer>;
  /** Returns the content of a small file; null where there is none. */
  read(name: string): Promise<string | null>;
  /** Writes a small file, whole or not at all, for this user only. */
  write(name: string, content: string): Promise<void>;
  /** Says where the server listens. */
  announce(record: InstanceRecord): Promise<void>;
  /** Takes that back and gives the folder up. */
  release(): Promise<void>;
}

const recordName = 'instance.json';
const secretKeyName = 'secret.key';
const secretKeyBytes = 32;

/**
 * Takes a data folder for this process, and makes it where it is not there.
 *
 * Errors: {@link InstanceError} where it cannot be written or another server has it.
 */
export async function openDataFolder(folder: string): Promise<DataFolder> {
  await makePrivate(folder);
  const unlock = await lock(folder);
  const databaseFile = path.join(folder, 'fountain.db');
  const read = (name: string): Promise<string | null> => readFile(path.join(folder, name), 'utf8').catch(() => null);
  const write = (name: string, content: string): Promise<void> => writePrivate(path.join(folder, name), content);
  const isNew = !existsSync(databaseFile);
  return {
    databaseFile,
    read,
    write,
    secretKey: async () => {
      const stored = await read(secretKeyName);
      if (stored !== null) return asSecretKey(stored, folder);
      if (!isNew) throw new InstanceError('damaged', `${path.join(folder, secretKeyName)} is missing, and the secrets in ${folder} cannot be read without it`);
      const key = randomBytes(secretKeyBytes);
      await write(secretKeyName, `${key.toString('hex')}\n`);
      return key;
    },
    announce: (record) => write(recordName, `${JSON.stringify(record)}\n`),
    release: async () => {
      await rm(path.join(folder, recordName), { force: true });
      unlock();
    },
  };
}

async function makePrivate(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    await writePrivate(path.join(folder, '.writable'), '');
    await rm(path.join(folder, '.writable'));
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new InstanceError('unwritable', `the data folder ${folder} cannot be written (${detail})`, error);
  }
}

async function writePrivate(file: string, content: string): Promise<void> {
  const draft = `${file}.${process.pid}.tmp`;
  await writeFile(draft, content, { mode: 0o600 });
  await rename(draft, file);
}

/** The database engine's own file lock: the kernel gives it up whenever and however this process ends. */
async function lock(folder: string): Promise<() => void> {
  const file = path.join(folder, 'lock');
  let database: InstanceType<typeof DatabaseSync> | null = null;
  try {
    database = new DatabaseSync(file);
    database.exec('BEGIN EXCLUSIVE');
    await chmod(file, 0o600);
    const held = database;
    return () => held.close();
  } catch (error) {
    database?.close();
    const detail = error instanceof Error ? error.message : String(error);
    if (/locked|busy/i.test(detail)) throw await runningError(folder, error);
    throw new InstanceError('unwritable', `the data folder ${folder} cannot be locked (${detail})`, error);
  }
}

async function runningError(folder: string, cause: unknown): Promise<InstanceError> {
  const record = await readFile(path.join(folder, recordName), 'utf8').then(parsed, () => null);
  const where = record === null ? 'and is just starting or stopping' : `at ${String(record['base_url'])} (process ${String(record['pid'])})`;
  return new InstanceError('running', `a server is already running on ${folder} ${where}`, cause);
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text) as unknown;
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

function asSecretKey(text: string, folder: string): Buffer {
  const key = Buffer.from(text.trim(), 'hex');
  if (key.length === secretKeyBytes) return key;
  throw new InstanceError('damaged', `${path.join(folder, secretKeyName)} does not hold a key; put the original back`);
}
