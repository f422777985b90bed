import type { ServerEvent } from './fountain.ts';
import { isJsonObject, type JsonObject } from './jsonrpc.ts';

/** A stage event, its metadata read. */
export interface Stage {
  readonly stage: string;
  readonly state: string;
  readonly metadata: JsonObject;
  /** Of the metadata, else of the row; null where the server names none. */
  readonly turnId: string | null;
}

/** Returns what a stage event says; undefined for an output event. */
export function readStage({ kind, stage, state, data, turn_id: rowTurnId }: ServerEvent): Stage | undefined {
  if (kind !== 'stage') return undefined;
  const metadata = parseObject(data);
  const { turn_id: turnId } = metadata;
  return { stage, state, metadata, turnId: typeof turnId === 'string' ? turnId : rowTurnId };
}

/** Whether a stage event opens a turn. */
export function startsTurn({ stage, state }: Stage): boolean {
  return stage === 'turn' && state === 'started';
}

/** Whether a stage event is the terminal one of a turn. */
export function endsTurn({ stage, state }: Stage): boolean {
  return stage === 'turn' && (state === 'done' || state === 'failed' || state === 'interrupted');
}

/** Returns why something ended, in the server's words: the first of `reason`, `error` and `exit_code` that is there. */
export function reasonOf({ metadata }: Stage): string {
  const found = ['reason', 'error', 'exit_code'].map((key) => metadata[key]).find((value) => value !== undefined && value !== null);
  if (found === undefined) return 'no reason given';
  return typeof found === 'string' ? found : JSON.stringify(found);
}

function parseObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
