import { map, reduce, type Observable } from 'rxjs';
import type { OpenTurn } from '../operators/bindTurn.ts';
import { endsTurn, readStage, startsTurn, type Stage } from '../protocol/stage.ts';
import type { Session } from '../session.ts';

/** As many turns are remembered as can have begun while the fate of a prompt is in doubt. */
const maxBegun = 100;

/** How far a conversation has got. */
export interface Head {
  /** Id of the last stage event: at or before the last event of all, and behind every turn that has begun. */
  readonly after: number;
  /** The turn that is open there. */
  readonly openTurn: OpenTurn | undefined;
  /** The last of the turns that began behind where the reading started. */
  readonly begun: readonly Stage[];
}

/**
 * Finds how far a conversation has got, by its stage events behind what was read already: the transcript is not
 * transferred, and the cost does not depend on the conversation's length.
 *
 * Errors: those of the stream.
 *
 * @param from - Where it is known to have been.
 * @see Fountain HTTP and SSE contract, "Why the head comes first"
 */
export function readHead(session: Session, from: Pick<Head, 'after' | 'openTurn'>): Observable<Head> {
  return session.history('stage', from.after).pipe(
    map((events) => events.map((event) => ({ id: event.id, stage: readStage(event) }))),
    reduce((head, read) => read.reduce(advance, head), { ...from, begun: [] } as Head),
  );
}

function advance(head: Head, { id, stage }: { id: number | undefined; stage: Stage | undefined }): Head {
  const after = id ?? head.after;
  if (stage === undefined) return { ...head, after };
  if (startsTurn(stage)) return { after, openTurn: { id: stage.turnId }, begun: [...head.begun.slice(-maxBegun), stage] };
  return { ...head, after, openTurn: endsTurn(stage) ? undefined : head.openTurn };
}
