import { randomUUID } from 'node:crypto';
import type { Harness } from '../harness/harness.ts';
import type { PermissionPolicy, PromptImage } from '../../protocol/fountain.ts';
import type { JsonObject } from '../../protocol/jsonrpc.ts';
import type { ConversationRow, TurnRow, TurnStatus, Usage } from '../store/rows.ts';
import { insert, update } from '../store/store.ts';
import type { Write } from '../store/store.ts';
import { rowTime } from '../time.ts';
import type { Submission } from './prompt.ts';

type PromptOutcome = Awaited<ReturnType<Harness['prompt']>>;

/** How a turn ends: the terminal event and what its row says. */
export interface TurnEnding {
  readonly state: 'done' | 'failed' | 'interrupted';
  readonly metadata: JsonObject;
  readonly exitCode?: number | null;
  readonly usage?: Usage | null;
}

const statuses: Readonly<Record<TurnEnding['state'], TurnStatus>> = { done: 'completed', failed: 'failed', interrupted: 'interrupted' };

/** The ending of a turn that somebody stopped. */
export const interrupted: TurnEnding = { state: 'interrupted', metadata: {} };

/** Returns the ending of a turn that failed for a reason in words. */
export function failedFor(reason: string): TurnEnding {
  return { state: 'failed', metadata: { reason } };
}

/**
 * Returns what a harness's answer makes of its turn.
 *
 * @see Fountain HTTP and SSE contract, section 6.2
 */
export function endingOf(outcome: PromptOutcome): TurnEnding {
  if (outcome.kind === 'stop') {
    const { stopReason, usage } = outcome;
    return { state: stopReason === 'end_turn' ? 'done' : 'failed', metadata: { stop_reason: stopReason }, usage: usageOf(usage) };
  }
  if (outcome.kind === 'error') return failedFor(outcome.reason);
  const { exitCode, reason } = outcome;
  if (exitCode === 0) return { state: 'done', metadata: { exit_code: 0 }, exitCode };
  return { state: 'failed', metadata: { reason, ...(exitCode === null ? {} : { exit_code: exitCode }) }, exitCode };
}

/** Returns the tokens of a turn under the contract's names; null where the harness counts none. */
function usageOf(usage: JsonObject | undefined): Usage | null {
  const { inputTokens: input, outputTokens: output, cachedReadTokens: read, cachedWriteTokens: written } = usage ?? {};
  if (typeof input !== 'number' || typeof output !== 'number') return null;
  return { input, output, ...(typeof read === 'number' ? { cache_read: read } : {}), ...(typeof written === 'number' ? { cache_write: written } : {}) };
}

/** A turn from its acceptance to its terminal event. */
export class OpenTurn {
  readonly row: TurnRow;
  readonly images: readonly PromptImage[];
  /** The agent's policy at the start of the turn. */
  agentPolicy: PermissionPolicy;
  /** Somebody asked for its end; whatever the harness still answers, it ends as interrupted. */
  isInterrupting = false;
  /** Its terminal event is on the way: nothing is added to it any more. */
  hasEnded = false;
  /** Resolves once its terminal event is published. */
  readonly finished: Promise<void>;
  readonly finish: () => void;

  constructor(conversation: ConversationRow, { prompt, images, clientRequestId }: Submission, status: 'pending' | 'running') {
    const now = rowTime();
    this.row = {
      id: randomUUID(), conversation_id: conversation.id, turn_number: conversation.turn_count + 1, status, prompt, image_count: images.length,
      exit_code: null, usage: null, client_request_id: clientRequestId, started_at: status === 'running' ? now : null, ended_at: null, inserted_at: now,
    };
    this.images = images;
    this.agentPolicy = conversation.agent.permission_policy;
    let finish: () => void = () => undefined;
    this.finished = new Promise((resolve) => (finish = resolve));
    this.finish = finish;
  }

  /** The writes of the row and its images. */
  inserts(): Write[] {
    const images = this.images.map(({ data, media_type }, position) =>
      insert('images', { id: randomUUID(), turn_id: this.row.id, position, media_type, data: Buffer.from(data, 'base64') }),
    );
    return [insert('turns', this.row), ...images];
  }

  /** The write of its start, where the row was stored as pending. */
  starts(): Write {
    return update('turns', this.row.id, { status: 'running', started_at: rowTime() });
  }

  /** The write of its end. */
  ends({ state, exitCode = null, usage = null }: TurnEnding): Write {
    return update('turns', this.row.id, { status: statuses[state], exit_code: exitCode, usage, ended_at: rowTime() });
  }

  /**
   * Returns the metadata of `turn/started`.
   *
   * @param mode - `run` for the first use of a runtime session.
   */
  startMetadata(mode: 'run' | 'continue'): JsonObject {
    const { client_request_id: clientRequestId } = this.row;
    return { ...this.identity, mode, ...(clientRequestId === null ? {} : { client_request_id: clientRequestId }) };
  }

  /** Its id and number, which each of its terminal events carries. */
  get identity(): JsonObject {
    return { turn_id: this.row.id, turn_number: this.row.turn_number };
  }
}
