import type { ConversationStatus } from '../store/rows.ts';
import type { Write } from '../store/store.ts';
import type { ConversationRecord } from './conversationRecord.ts';
import type { OpenTurn, TurnEnding } from './openTurn.ts';
import type { PermissionRequests } from './permissionRequests.ts';

/** Returns the writes of a prompt that was accepted: its row, its images, its count. */
export function acceptedWrites(record: ConversationRecord, turn: OpenTurn): Write[] {
  const { turn_number: count, prompt } = turn.row;
  return [...turn.inserts(), record.change({ turn_count: count, ...(count === 1 ? { first_prompt: prompt } : {}) })];
}

/** Returns the writes of a turn's start: of a prompt that waited, or of one that is accepted now. */
export function startWrites(record: ConversationRecord, turn: OpenTurn): Write[] {
  const mode = record.row.runtime_session_id === null ? 'run' : 'continue';
  const rows = turn.row.status === 'running' ? acceptedWrites(record, turn) : [turn.starts()];
  return [...rows, record.change({ status: 'running' }), record.log.stage('turn', 'started', turn.startMetadata(mode), turn.row.id)];
}

/**
 * Returns the writes of a turn's end, its terminal event last: before it come what was held back, the end of every open
 * request, and what ended the turn from outside.
 *
 * @param causes - The writes of what ended it from outside.
 * @param status - What becomes of the conversation.
 * @see Fountain HTTP and SSE contract, section 5.9, "Invariants to keep"
 */
export function endWrites(record: ConversationRecord, requests: PermissionRequests, turn: OpenTurn, ending: TurnEnding, causes: readonly Write[], status: ConversationStatus): Write[] {
  const { id } = turn.row;
  return [
    ...record.log.drain({ stage: 'turn', turnId: id }),
    ...requests.endAll(),
    ...causes,
    turn.ends(ending),
    record.change({ status, ...record.usageWith(ending.usage) }),
    record.log.stage('turn', ending.state, { ...turn.identity, ...ending.metadata }, id),
  ];
}

/**
 * Returns the writes of the end of an accepted prompt that never ran. A failure before the start has no turn number; any
 * other end follows a start.
 *
 * @param causes - The writes of what ended it from outside.
 */
export function heldEndWrites(record: ConversationRecord, turn: OpenTurn, ending: TurnEnding, causes: readonly Write[]): Write[] {
  const { id } = turn.row;
  const isFailure = ending.state === 'failed';
  const started = isFailure ? [] : [record.log.stage('turn', 'started', turn.startMetadata('run'), id)];
  const identity = isFailure ? { turn_id: id } : turn.identity;
  return [...started, ...causes, turn.ends(ending), record.log.stage('turn', ending.state, { ...identity, ...ending.metadata }, id)];
}
