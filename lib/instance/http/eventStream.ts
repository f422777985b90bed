import type { ServerResponse } from 'node:http';
import type { EventLog } from '../log/eventLog.ts';
import { frameOf, heartbeatFrame } from '../log/frames.ts';
import { selects, selectsStagesOnly } from '../log/streamFilter.ts';
import type { StreamFilter } from '../log/streamFilter.ts';
import type { Store, StoredEvent } from '../store/store.ts';

/** Events of one read of the store, at most, and the length of their data together, in characters. */
const pageLimit = 1000;
const pageLength = 256 * 1024;

/** Bytes that are written at once, about. */
const batchLength = 64 * 1024;

/** One client's stream. */
export interface EventStreamOptions {
  readonly store: Store;
  readonly log: EventLog;
  readonly conversationId: string;
  readonly filter: StreamFilter;
  /** Id of the last event that the client has; 0 for none. */
  readonly after: number;
  /** Whether to go on with live events after the stored ones. */
  readonly wait: boolean;
  readonly blocks: boolean;
  readonly heartbeatMs: number;
  /** Milliseconds without an event after which the stream ends. */
  readonly idleMs: number;
}

/**
 * Writes a conversation's events to one client until the client leaves, the stream is idle, or it does not wait.
 *
 * Stored events are read page by page as fast as the client takes them. Live events are written as they come, but only to
 * a client that has taken all before: for any other they are left in the store and read again when it catches up, so that
 * a client that does not read costs one batch of memory and nobody else's time.
 *
 * @param response - Its head has been written.
 * @see Fountain HTTP and SSE contract, sections 5.4 and 5.5
 */
export async function writeEventStream(response: ServerResponse, options: EventStreamOptions): Promise<void> {
  const stream = new EventStream(response, options);
  try {
    await stream.run();
  } finally {
    stream.close();
    response.end();
  }
}

class EventStream {
  readonly #response: ServerResponse;
  readonly #options: EventStreamOptions;
  readonly #unsubscribe: () => void;
  readonly #heartbeat: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;
  #cursor: number;
  /** Id of the newest event that was published; above the cursor where the client is behind. */
  #published = 0;
  #isLive = false;
  #isOver = false;
  #sentAt = Date.now();
  /** Called when something happens that the loop may wait for. */
  #wake: () => void = () => undefined;

  constructor(response: ServerResponse, options: EventStreamOptions) {
    this.#response = response;
    this.#options = options;
    this.#cursor = options.after;
    // Subscribed before anything is read: what is committed during the replay is known to be missing.
    this.#unsubscribe = options.wait ? options.log.subscribe(options.conversationId, (events) => this.#onEvents(events)) : () => undefined;
    response.once('close', () => this.#end());
    // A write to a client that has just left is no error: its end is what counts.
    response.on('error', () => undefined);
    if (options.wait) this.#heartbeat = setInterval(() => this.#onHeartbeat(), options.heartbeatMs);
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      await this.#replay();
      if (!this.#options.wait) return;
      if (this.#published > this.#cursor) continue;
      await this.#follow();
    }
  }

  close(): void {
    this.#isOver = true;
    this.#unsubscribe();
    clearInterval(this.#heartbeat);
    clearTimeout(this.#idle);
  }

  /** Writes what the store has above the cursor; afterwards the client has taken all of it. */
  async #replay(): Promise<void> {
    const { store, conversationId, filter } = this.#options;
    const stageOnly = selectsStagesOnly(filter);
    while (!this.#isOver) {
      const published = this.#published;
      const page = await store.events({ conversationId, after: this.#cursor, limit: pageLimit, maxLength: pageLength, stageOnly });
      const last = page.at(-1);
      if (last === undefined) {
        // Nothing above the cursor is stored that this client asked for.
        this.#cursor = Math.max(this.#cursor, published);
        return;
      }
      await this.#writePage(page);
    }
  }

  async #writePage(page: readonly StoredEvent[]): Promise<void> {
    let batch = '';
    for (const event of page) {
      this.#cursor = event.id;
      if (!selects(this.#options.filter, event)) continue;
      batch += frameOf(event, this.#options.blocks);
      if (batch.length < batchLength) continue;
      await this.#write(batch);
      batch = '';
      if (this.#isOver) return;
    }
    if (batch !== '') await this.#write(batch);
  }

  async #write(text: string): Promise<void> {
    this.#sentAt = Date.now();
    if (this.#isOver || this.#response.write(text)) return;
    await drained(this.#response);
    this.#sentAt = Date.now();
  }

  #onEvents(events: readonly StoredEvent[]): void {
    this.#published = events.at(-1)?.id ?? this.#published;
    if (!this.#isLive) return;
    let batch = '';
    for (const event of events) {
      if (event.id <= this.#cursor) continue;
      this.#cursor = event.id;
      if (selects(this.#options.filter, event)) batch += frameOf(event, this.#options.blocks);
    }
    if (batch === '') return;
    this.#sentAt = Date.now();
    if (this.#response.write(batch)) return;
    // The client is slower than the events: the loop takes over when it has read what was written.
    this.#isLive = false;
    void drained(this.#response).then(() => this.#wake());
  }

  /** Leaves the writing to the listener, until the client falls behind, leaves, or nothing has come for long. */
  async #follow(): Promise<void> {
    const { idleMs } = this.#options;
    const endWhenIdle = (): void => {
      const left = this.#sentAt + idleMs - Date.now();
      if (left <= 0) this.#end();
      else this.#idle = setTimeout(endWhenIdle, left);
    };
    this.#isLive = true;
    this.#sentAt = Date.now();
    this.#idle = setTimeout(endWhenIdle, idleMs);
    await new Promise<void>((resolve) => (this.#wake = resolve));
    clearTimeout(this.#idle);
    this.#isLive = false;
  }

  /** A client that is behind has bytes to read; it needs no sign of life. */
  #onHeartbeat(): void {
    if (this.#isLive && !this.#response.writableNeedDrain) this.#response.write(heartbeatFrame);
  }

  #end(): void {
    this.#isOver = true;
    this.#wake();
  }
}

/** Resolves when a client has taken what was written, or has left. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      response.off('drain', settle).off('close', settle);
      resolve();
    };
    response.once('drain', settle).once('close', settle);
  });
}
