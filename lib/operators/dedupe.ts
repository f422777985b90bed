import { defer, filter, map, type MonoTypeOperatorFunction } from 'rxjs';
import type { ServerEvent } from '../protocol/fountain.ts';

/**
 * Drops events that were delivered before a resume. Ids grow, so an id that does not is an old event; an event without
 * an id is not stored and passes.
 *
 * ```
 * source:  -[1 2]--[2 3]-
 * result:  -[1 2]--[3]---
 * ```
 *
 * Errors: passes the source's on; adds none.
 *
 * @param after - Id of the last event delivered before, 0 for none.
 * @see Fountain HTTP and SSE contract, "Replay then live; gaps and duplicates"
 */
export function dedupe(after: number): MonoTypeOperatorFunction<readonly ServerEvent[]> {
  return (event$) =>
    defer(() => {
      let last = after;
      return event$.pipe(
        map((events) =>
          events.filter(({ id }) => {
            if (id === undefined) return true;
            if (id <= last) return false;
            last = id;
            return true;
          }),
        ),
        filter((events) => events.length > 0),
      );
    });
}
