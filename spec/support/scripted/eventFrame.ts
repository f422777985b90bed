/** How an instance writes its events: what it knows of turns, and how it spells what is not there. */
export interface Dialect {
  readonly name: string;
  /** Where the id of a turn is told. */
  readonly turnIds: 'everywhere' | 'in metadata' | 'in rows' | 'nowhere';
  /** Whether `turn/started` tells the submission's `client_request_id`. */
  readonly echoesRequestIds: boolean;
  /** Whether a held permission request is announced and closed by stage events, and a second answer refused. */
  readonly announcesRequests: boolean;
  readonly nothing: '' | null;
}

/** As the contract has it today. */
export const today: Dialect = {
  name: 'an instance of today',
  turnIds: 'everywhere',
  echoesRequestIds: true,
  announcesRequests: true,
  nothing: '',
};

/** As instances wrote in August 2026: a stage event tells its turn in the metadata alone. */
export const august: Dialect = {
  name: 'an instance of August 2026',
  turnIds: 'in metadata',
  echoesRequestIds: false,
  announcesRequests: true,
  nothing: '',
};

/** A stage event tells its turn in the row alone. */
export const inRows: Dialect = {
  name: 'an instance that tells turns in rows alone',
  turnIds: 'in rows',
  echoesRequestIds: true,
  announcesRequests: true,
  nothing: null,
};

/** The least that a client may find: no turn ids at all. */
export const bare: Dialect = {
  name: 'an instance without turn ids',
  turnIds: 'nowhere',
  echoesRequestIds: false,
  announcesRequests: false,
  nothing: null,
};

/** Every dialect that a client has to understand. */
export const dialects: readonly Dialect[] = [today, august, bare];

/** One event of a conversation's log. */
export interface LoggedEvent {
  /** Absent on a synthetic event, which is sent and not stored. */
  readonly id?: number;
  readonly kind: 'output' | 'stage';
  readonly stream?: string;
  /** Text; an object or another value only where a spec sends what a sound instance would not. */
  readonly data?: unknown;
  readonly stage?: string;
  readonly state?: string;
  readonly turnId?: string;
}

const writtenAt = '2026-09-03T08:30:00.250000Z';

/** Returns the JSON object of an event, as the stream and `/events` carry it. */
export function eventBody(event: LoggedEvent, dialect: Dialect): Record<string, unknown> {
  const { kind, stream, data, stage, state, turnId } = event;
  const turnTold = dialect.turnIds === 'everywhere' || dialect.turnIds === 'in rows' || (dialect.turnIds === 'in metadata' && kind === 'output');
  return {
    kind,
    stream: stream ?? dialect.nothing,
    data: data ?? dialect.nothing,
    stage: stage ?? dialect.nothing,
    state: state ?? dialect.nothing,
    turn_id: turnTold ? (turnId ?? null) : null,
    ts: writtenAt,
  };
}

/** Returns an event as it stands on the stream: its lines and the blank line. */
export function eventFrame(event: LoggedEvent, dialect: Dialect): string {
  const id = event.id === undefined ? '' : `id: ${event.id}\n`;
  return `${id}event: ${event.kind}\ndata: ${JSON.stringify(eventBody(event, dialect))}\n\n`;
}

/** Whether an event belongs to the streams that were asked for; without any, each does. */
export function isWanted(event: LoggedEvent, streams: ReadonlySet<string> | undefined): boolean {
  return streams === undefined || streams.has(event.kind === 'stage' ? 'stage' : (event.stream ?? ''));
}
