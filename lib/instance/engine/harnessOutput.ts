import { isJsonObject } from '../../protocol/jsonrpc.ts';
import type { JsonObject } from '../../protocol/jsonrpc.ts';
import type { ConversationRecord } from './conversationRecord.ts';
import type { HarnessCallbacks, ModelEvent } from './harnessHost.ts';
import type { OpenTurn } from './openTurn.ts';
import { verdictFor } from './permissionPolicy.ts';
import { automaticAnswer, optionsOf } from './permissionRequests.ts';
import type { PermissionRequests } from './permissionRequests.ts';
import { harnessTitle } from './title.ts';

/** Updates that tell about the session and not about work; after a turn they are no news to anybody. */
const metadataUpdates = new Set(['session_info_update', 'available_commands_update', 'current_mode_update', 'config_option_update', 'usage_update']);

/** What the conversation is doing while its harness speaks. */
export interface Listening {
  /** The turn that output belongs to; null outside of one. */
  readonly turn: () => OpenTurn | null;
  /** Whether output outside of a turn is kept. */
  readonly isOpen: () => boolean;
  readonly onModel: (event: ModelEvent) => void;
}

/**
 * Returns what becomes of everything that a harness says: output is stored, titles are taken, questions are answered by
 * the policy or held for a person.
 *
 * @see Fountain HTTP and SSE contract, sections 5.6, 7.2 and 8
 */
export function harnessOutput(record: ConversationRecord, requests: PermissionRequests, { turn: currentTurn, isOpen, onModel }: Listening): HarnessCallbacks {
  const { log } = record;

  function onOutput(stream: 'stdout' | 'stderr', text: string): void {
    if (isOpen()) log.output(stream, text, { stage: 'turn', turnId: currentTurn()?.row.id ?? null });
  }

  /** A title that cannot be written leaves the turn running. */
  function retitle(line: string): void {
    const update = updateOf(line);
    if (update?.['sessionUpdate'] !== 'session_info_update' || update['title'] === undefined) return;
    const next = harnessTitle(record.row, update['title'], log.redactor);
    if (next !== null) record.send([record.change(next)]);
  }

  return {
    onMessage: (line) => {
      if (line.includes('"session_info_update"')) retitle(line);
      const turn = currentTurn();
      if (turn !== null) log.output('acp', line, { stage: 'turn', turnId: turn.row.id });
      else if (isOpen() && !isMetadata(line)) log.output('stdout', `${line}\n`, { stage: 'turn', turnId: null });
    },
    onPermission: ({ harnessId, raw }, withdrawn) => {
      const turn = currentTurn();
      const call = isJsonObject(raw['toolCall']) ? raw['toolCall'] : {};
      const verdict = turn === null || turn.isInterrupting ? 'auto_deny' : verdictFor(turn.agentPolicy, record.row.permission_policy, call);
      if (turn !== null && verdict === 'ask') return requests.hold(turn.row.id, harnessId, raw, withdrawn);
      return Promise.resolve(automaticAnswer(optionsOf(raw), verdict === 'ask' ? 'auto_deny' : verdict));
    },
    onStdout: (text) => onOutput('stdout', text),
    onStderr: (text) => onOutput('stderr', text),
    onModel: (event) => {
      onModel(event);
      const turn = currentTurn();
      if (turn !== null) record.send([log.stage('model', event.state, modelMetadata(event, turn.row.id), turn.row.id)]);
    },
    onToken: (token) => record.keepOut([token], currentTurn()?.row.id ?? null),
  };
}

function modelMetadata({ state, requested, effective, detail }: ModelEvent, turnId: string): JsonObject {
  const names = { requested_model: requested, effective_model: effective, turn_id: turnId };
  if (state === 'done') return { ...names, source: 'agent', status: 'selected' };
  return { ...names, requested, detail, using: effective, status: 'refused', error: detail };
}

function isMetadata(line: string): boolean {
  const kind = updateOf(line)?.['sessionUpdate'];
  return typeof kind === 'string' && metadataUpdates.has(kind);
}

function updateOf(line: string): JsonObject | null {
  try {
    const message = JSON.parse(line) as unknown;
    const params = isJsonObject(message) ? message['params'] : null;
    const update = isJsonObject(params) ? params['update'] : null;
    return isJsonObject(update) ? update : null;
  } catch {
    return null;
  }
}
