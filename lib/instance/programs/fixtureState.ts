import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { errorCodes } from '../../protocol/jsonrpc.ts';
import { CallError } from './stdioPeer.ts';

/** Where the fixture keeps its sessions and artifacts, in its working folder. */
export const stateFolder = '.fountain-acp-fixture';

/** A lower-case UUID of version 4, the form of session ids and nonces. */
export const uuidV4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** What a session keeps on disk. */
export interface FixtureSession {
  readonly version: 1;
  readonly id: string;
  readonly turns: { scenario: string; nonce: string; status: 'running' | 'completed' | 'cancelled' | 'failed' }[];
  readonly artifacts: Record<string, { writes: number }>;
}

/** Makes a session and stores it. */
export function newSession(): FixtureSession {
  const session: FixtureSession = { version: 1, id: randomUUID(), turns: [], artifacts: {} };
  mkdirSync(stateFolder, { recursive: true, mode: 0o700 });
  storeSession(session);
  return session;
}

/** Reads a session back. Throws a {@link CallError} where there is none of this id. */
export function readSession(id: unknown): FixtureSession {
  // The id becomes a file name.
  if (typeof id === 'string' && uuidV4.test(id)) {
    try {
      return JSON.parse(readFileSync(sessionFile(id), 'utf8')) as FixtureSession;
    } catch {
      // Missing and unreadable are the same to a client: the session cannot be gone back to.
    }
  }
  throw new CallError(errorCodes.resourceNotFound, 'there is no such session', { sessionId: id });
}

/** Stores a session, whole or not at all. */
export function storeSession(session: FixtureSession): void {
  const file = sessionFile(session.id);
  writeFileSync(`${file}.new`, JSON.stringify(session), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Writes an artifact that must not be there yet. Throws a {@link CallError} where it is. */
export function createArtifact(session: FixtureSession, nonce: string): void {
  try {
    writeFileSync(artifactFile(session.id, nonce), `${nonce}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw new CallError(-32000, `could not create the artifact: ${error instanceof Error ? error.message : String(error)}`);
  }
  session.artifacts[nonce] = { writes: 1 };
  storeSession(session);
}

/** Throws a {@link CallError} unless the artifact was written once and holds its nonce. */
export function verifyArtifact(session: FixtureSession, nonce: string): void {
  let content: string | null = null;
  try {
    content = readFileSync(artifactFile(session.id, nonce), 'utf8');
  } catch {
    // Reported below like a wrong content.
  }
  if (content !== `${nonce}\n` || session.artifacts[nonce]?.writes !== 1) throw new CallError(-32000, 'there is no such artifact');
}

/** Path of an artifact, relative to the program's working folder. */
export function artifactFile(sessionId: string, nonce: string): string {
  return `${stateFolder}/${sessionId}-${nonce}.txt`;
}

function sessionFile(id: string): string {
  return path.join(stateFolder, `${id}.json`);
}
