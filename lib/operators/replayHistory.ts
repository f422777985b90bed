import { filter, map, type OperatorFunction } from 'rxjs';
import type { ServerEvent } from '../protocol/fountain.ts';
import { endsTurn, readStage, startsTurn } from '../protocol/stage.ts';
import { readStored, type StoredMessage } from '../protocol/stored.ts';
import type { OpenTurn } from './bindTurn.ts';

/** What a history leaves open, filled in while it is read. */
export interface Replay {
  /** The turn that has begun and not ended. */
  openTurn: OpenTurn | undefined;
  /** Its permission requests that nobody has answered, by id. */
  readonly openRequests: Map<string, StoredMessage>;
}

/**
 * Takes from a conversation's stored events what is replayed: the updates, in order. Permission requests are not
 * replayed; those that are still open at the end are left in `replay`.
 *
 * Errors: passes the source's on; adds none.
 *
 * @param replay - Filled in as the events pass.
 * @see Fountain HTTP and SSE contract, "What the adapter does": `session/load`
 */
export function replayHistory(replay: Replay): OperatorFunction<readonly ServerEvent[], readonly StoredMessage[]> {
  return (event$) =>
    event$.pipe(
      map((events) => events.flatMap((event) => replayed(event, replay))),
      filter((messages) => messages.length > 0),
    );
}

function replayed(event: ServerEvent, replay: Replay): readonly StoredMessage[] {
  const stage = readStage(event);
  if (stage === undefined) {
    const message = event.stream === 'acp' ? readStored(event) : undefined;
    if (message?.requestId === undefined) return message ? [message] : [];
    replay.openRequests.set(message.requestId, message);
  } else if (startsTurn(stage)) replay.openTurn = { id: stage.turnId };
  else if (stage.stage === 'request' && stage.state === 'done') replay.openRequests.delete(String(stage.metadata['request_id']));
  else if (endsTurn(stage) || stage.stage === 'terminate') {
    replay.openTurn = undefined;
    replay.openRequests.clear();
  }
  return [];
}
