import type { ServerEvent } from '../../lib/protocol/fountain.ts';
import type { JsonObject } from '../../lib/protocol/jsonrpc.ts';
import { readStored, type StoredMessage } from '../../lib/protocol/stored.ts';

/** The sandbox harness's own session id: a client must never see it. */
export const harnessSession = 'harness-77';

/** Returns the line of one update of the sandbox's agent. */
export function updateLine(sessionUpdate: string, more: JsonObject = {}): string {
  return JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: harnessSession, update: { sessionUpdate, ...more } } });
}

/** Returns the line of a piece of what the agent says. */
export function saidLine(text: string): string {
  return updateLine('agent_message_chunk', { content: { type: 'text', text } });
}

/** Options that an agent usually offers. */
export const usualOptions: readonly JsonObject[] = [
  { optionId: 'go', name: 'Allow', kind: 'allow_once' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
];

/** Returns the line of a permission request. */
export function questionLine(id: string, options: readonly JsonObject[] = usualOptions): string {
  const toolCall = { toolCallId: 'c1', title: 'make test', kind: 'execute' };
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'session/request_permission', params: { sessionId: harnessSession, toolCall, options } });
}

/** Returns a line as it was stored, of a turn where it belongs to one. */
export function output(id: number | undefined, line: string, turnId: string | null = null, stream = 'acp'): ServerEvent {
  return { ...(id !== undefined && { id }), kind: 'output', stream, data: line, stage: 'turn', state: '', turn_id: turnId };
}

/** Returns a stage event; its name is `<stage>/<state>`. */
export function stage(id: number | undefined, name: string, metadata: JsonObject = {}, turnId: string | null = null): ServerEvent {
  const [stageName = '', state = ''] = name.split('/');
  return { ...(id !== undefined && { id }), kind: 'stage', stream: '', data: JSON.stringify(metadata), stage: stageName, state, turn_id: turnId };
}

/** Returns a stored line as the operators see it. */
export function stored(line: string): StoredMessage {
  const message = readStored(output(1, line));
  if (message === undefined) throw new Error(`no message that is forwarded: ${line}`);
  return message;
}

/** Returns events as they stand on a stream. */
export function frames(...events: readonly ServerEvent[]): string {
  return events
    .map(({ id, ...row }) => `${id === undefined ? '' : `id: ${id}\n`}event: ${row.kind}\ndata: ${JSON.stringify({ ...row, ts: '2026-09-03T08:30:00.250000Z' })}\n\n`)
    .join('');
}

/** Returns events as one chunk of a stream. */
export function chunk(...events: readonly ServerEvent[]): Uint8Array {
  return Buffer.from(frames(...events));
}

/** What a server sends so that a connection is not taken for dead. */
export const heartbeat: Uint8Array = Buffer.from(': heartbeat\n\n');

/** The empty chunk that tells that a connection has been opened. */
export const opened = new Uint8Array();
