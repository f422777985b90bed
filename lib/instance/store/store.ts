import type { TableName, Tables } from './rows.ts';

/**
 * What the instance asks of its database, small enough to be written again for another one.
 *
 * Reads see every commit that was answered before. A commit is one transaction: all of its writes or none.
 */
export interface Store {
  /** Returns one row, or undefined. */
  get<T extends TableName>(table: T, id: string): Promise<Tables[T] | undefined>;

  /** Returns the rows that match, in the order in which they were inserted, or newest first. */
  find<T extends TableName>(table: T, where: Where<T>, options?: FindOptions): Promise<readonly Tables[T][]>;

  /** Returns how many rows match. */
  count<T extends TableName>(table: T, where: Where<T>): Promise<number>;

  /**
   * Writes all or nothing, in order. Returns one id for each event among the writes; null where the event's conversation
   * is gone and the event was dropped. Ids grow with each event of the whole store and are never used again.
   *
   * Errors: {@link UniqueViolation} where a row would double another one's unique columns.
   */
  commit(writes: readonly Write[]): Promise<readonly (number | null)[]>;

  /** Returns events of one conversation with ids above `after`, in order, as many as the query's limits allow. */
  events(query: EventQuery): Promise<readonly StoredEvent[]>;

  /** Ends all use of the database. */
  close(): Promise<void>;
}

/** Columns and the values that match; a list matches each of its values, null only null. Not for JSON columns. */
export type Where<T extends TableName> = { readonly [K in keyof Tables[T]]?: Tables[T][K] | readonly Tables[T][K][] };

/** Order and number of the rows found. */
export interface FindOptions {
  /** @defaultValue oldest */
  readonly order?: 'oldest' | 'newest';
  /** @defaultValue no limit */
  readonly limit?: number;
}

/** Which events to read. */
export interface EventQuery {
  readonly conversationId: string;
  readonly after: number;
  readonly limit: number;
  /** Stops after the event with which the data of all exceeds this, in characters; one event is always returned. @defaultValue no limit */
  readonly maxLength?: number;
  /** Only stage events, found without reading the others. @defaultValue false */
  readonly stageOnly?: boolean;
  /** @defaultValue oldest */
  readonly order?: 'oldest' | 'newest';
}

/** An event before it has its id. */
export interface NewEvent {
  readonly conversationId: string;
  readonly kind: 'output' | 'stage';
  readonly stream: '' | 'stdout' | 'stderr' | 'acp';
  readonly data: string;
  readonly stage: string;
  readonly state: string;
  /** Milliseconds since the stage started; null elsewhere. */
  readonly durationMs: number | null;
  readonly turnId: string | null;
  /** ISO 8601 UTC with microseconds. */
  readonly ts: string;
}

/** An event as it is stored. */
export interface StoredEvent extends NewEvent {
  readonly id: number;
}

/** One change of the database. */
export type Write = EventWrite | { [T in TableName]: InsertWrite<T> | UpdateWrite<T> | RemoveWrite<T> }[TableName];

/** A new event of a conversation's log. Its bytes and time are added to the conversation where it is output. */
interface EventWrite {
  readonly kind: 'event';
  readonly event: NewEvent;
}

/** A new row. */
interface InsertWrite<T extends TableName> {
  readonly kind: 'insert';
  readonly table: T;
  readonly row: Tables[T];
}

/** New values for columns of one row; nothing happens where there is no such row. */
interface UpdateWrite<T extends TableName> {
  readonly kind: 'update';
  readonly table: T;
  readonly id: string;
  readonly set: Partial<Tables[T]>;
}

/** The end of every row that matches, and of what belongs to it. */
interface RemoveWrite<T extends TableName> {
  readonly kind: 'remove';
  readonly table: T;
  readonly where: Where<T>;
}

/** Returns the write of a new row. */
export function insert<T extends TableName>(table: T, row: Tables[T]): Write {
  return { kind: 'insert', table, row } as Write;
}

/** Returns the write that changes columns of one row. */
export function update<T extends TableName>(table: T, id: string, set: Partial<Tables[T]>): Write {
  return { kind: 'update', table, id, set };
}

/** Returns the write that removes all rows that match. */
export function remove<T extends TableName>(table: T, where: Where<T>): Write {
  return { kind: 'remove', table, where };
}

/** A row would have doubled another one's unique columns. */
export class UniqueViolation extends Error {
  override readonly name = 'UniqueViolation';
  readonly table: string;

  constructor(table: string, cause: unknown) {
    super(`a row of ${table} with these values is already there`, { cause });
    this.table = table;
  }
}

/** The database cannot be used as it is; the message says why and names the file. */
export class StoreUnusable extends Error {
  override readonly name = 'StoreUnusable';
  readonly reason: 'damaged' | 'newer' | 'unwritable';

  constructor(reason: 'damaged' | 'newer' | 'unwritable', message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}
