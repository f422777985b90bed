import type { StoredEvent } from '../store/store.ts';

/** Which events a reader asked for: the names of the `streams` parameter; null is every event. */
export type StreamFilter = ReadonlySet<string> | null;

/**
 * Returns the filter of a `streams` parameter: a comma list, blanks trimmed, empty means everything. Unknown names select nothing.
 *
 * @see Fountain HTTP and SSE contract, section 5.1
 */
export function streamFilter(streams: string | undefined): StreamFilter {
  const names = (streams ?? '').split(',').map((name) => name.trim());
  const given = names.filter((name) => name !== '');
  return given.length === 0 ? null : new Set(given);
}

/** Whether the filter selects an event. Replay, live events and `/events` all ask this one function. */
export function selects(filter: StreamFilter, event: Pick<StoredEvent, 'kind' | 'stream'>): boolean {
  return filter === null || filter.has(event.kind === 'stage' ? 'stage' : event.stream);
}

/** Whether the filter selects stage events alone, which the store finds without reading the others. */
export function selectsStagesOnly(filter: StreamFilter): boolean {
  return filter !== null && ['stdout', 'stderr', 'acp'].every((name) => !filter.has(name));
}
