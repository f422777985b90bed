import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Turns whose words are kept to be told again. */
const maxRemembered = 50;

/** Characters of each side of a turn that are kept. */
const maxWords = 4000;

/** What the demo agent remembers of one session, across processes. */
export interface DemoMemory {
  readonly id: string;
  /** Turns so far, the running one included. */
  turns: number;
  /** The last turns in words. */
  readonly history: { readonly asked: string; readonly answered: string }[];
}

/** Returns the memory of a new session. Nothing is written before its first turn. */
export function newMemory(): DemoMemory {
  return { id: randomUUID(), turns: 0, history: [] };
}

/**
 * Reads a session's memory; null where there is none.
 *
 * @param folder - The session's working folder.
 */
export function recall(folder: string, id: unknown): DemoMemory | null {
  if (typeof id !== 'string' || !/^[0-9a-f-]{36}$/.test(id)) return null;
  try {
    return JSON.parse(readFileSync(memoryFile(folder, id), 'utf8')) as DemoMemory;
  } catch {
    return null;
  }
}

/** Adds a turn in words. */
export function addTurn(memory: DemoMemory, asked: string, answered: string): void {
  memory.history.push({ asked: asked.slice(0, maxWords), answered: answered.slice(0, maxWords) });
  memory.history.splice(0, memory.history.length - maxRemembered);
}

/** Writes a session's memory, whole or not at all. */
export function remember(folder: string, memory: DemoMemory): void {
  const file = memoryFile(folder, memory.id);
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, JSON.stringify(memory), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

function memoryFile(folder: string, id: string): string {
  return path.join(folder, '.fountain-demo', `${id}.json`);
}
