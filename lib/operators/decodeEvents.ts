import { getMessages, type EventSourceMessage } from '@microsoft/fetch-event-source/lib/cjs/parse.js';
import { defer, filter, endWith, map, type OperatorFunction } from 'rxjs';
import { isJsonObject } from '../protocol/jsonrpc.ts';
import type { ServerEvent } from '../protocol/fountain.ts';

/** What one chunk of an event stream brought. */
export interface EventBatch {
  readonly events: readonly ServerEvent[];
  /** Reconnection time that the server asked for, in milliseconds. */
  readonly retryMs?: number;
  /** Words about events that could not be read. */
  readonly notes: readonly string[];
}

/** Options of {@link decodeEvents}. */
export interface DecodeEventsOptions {
  /**
   * Whether an event that the body's end cuts short is taken all the same. In a history the body ends behind its last
   * event, in a live stream it may end within one, which then comes again after a resume.
   */
  readonly takeLast: boolean;
  /** Whether each event carries its JSON as it came. */
  readonly keepsJson?: boolean;
}

/**
 * Reads the bytes of an event stream as events of a conversation's log; emits those of a chunk together.
 *
 * LF, CR LF and CR end a line, comments and blocks without data are skipped, an event that is not an event of the log
 * costs a note and not the stream. Cost is linear in the input: lines are joined once, and parsed by the package.
 *
 * Errors: passes the source's on; adds one where a history ends within an event, so that a resume can fetch the rest.
 *
 * @see WHATWG HTML 9.2.6, "Interpreting an event stream"
 */
export function decodeEvents({ takeLast, keepsJson = false }: DecodeEventsOptions): OperatorFunction<Uint8Array, EventBatch> {
  return (chunk$) =>
    defer(() => {
      const decoder = new EventDecoder(keepsJson);
      return chunk$.pipe(
        endWith(undefined),
        map((chunk) => (chunk === undefined ? decoder.end(takeLast) : decoder.push(chunk))),
        filter(({ events, notes, retryMs }) => events.length > 0 || notes.length > 0 || retryMs !== undefined),
      );
    });
}

class EventDecoder {
  readonly #keepsJson: boolean;
  #events: ServerEvent[] = [];
  #notes: string[] = [];
  #retryMs: number | undefined;
  readonly #onLine = getMessages(
    () => undefined,
    () => undefined,
    (message) => this.#onMessage(message),
  );
  readonly #lines = new LineReader((line) => {
    // Comments and event names say nothing that is used; to leave them out here saves decoding them.
    if (line[0] !== colon && line[0] !== letterE) this.#onLine(line, line.indexOf(colon));
  });

  constructor(keepsJson: boolean) {
    this.#keepsJson = keepsJson;
  }

  push(chunk: Uint8Array): EventBatch {
    this.#lines.push(chunk);
    return this.#take();
  }

  end(takeLast: boolean): EventBatch {
    if (takeLast) {
      this.#lines.end();
      this.#onLine(new Uint8Array(), -1);
    }
    const batch = this.#take();
    if (batch.notes.length > 0) throw new Error('the event stream ended within an event');
    return batch;
  }

  #onMessage({ id, data, retry }: EventSourceMessage): void {
    if (retry !== undefined) this.#retryMs = retry;
    if (data === '') return;
    const event = readEvent(id, data);
    if (typeof event === 'string') this.#notes.push(event);
    else this.#events.push(this.#keepsJson ? { ...event, json: data } : event);
  }

  #take(): EventBatch {
    const batch = { events: this.#events, notes: this.#notes, ...(this.#retryMs !== undefined && { retryMs: this.#retryMs }) };
    this.#events = [];
    this.#notes = [];
    this.#retryMs = undefined;
    return batch;
  }
}

const colon = 0x3a;
/** No other field begins with it. */
const letterE = 0x65;
const carriageReturn = 0x0d;
const lineFeed = 0x0a;

/** The package's own line reader joins a long line anew with every chunk, at quadratic cost. */
class LineReader {
  readonly #onLine: (line: Uint8Array) => void;
  #parts: Uint8Array[] = [];
  #afterCarriageReturn = false;
  #first = true;

  constructor(onLine: (line: Uint8Array) => void) {
    this.#onLine = onLine;
  }

  push(chunk: Uint8Array): void {
    let start = this.#afterCarriageReturn && chunk[0] === lineFeed ? 1 : 0;
    if (chunk.length > 0) this.#afterCarriageReturn = false;
    let carriageReturnAt = chunk.indexOf(carriageReturn, start);
    for (;;) {
      const feed = chunk.indexOf(lineFeed, start);
      const end = carriageReturnAt !== -1 && (feed === -1 || carriageReturnAt < feed) ? carriageReturnAt : feed;
      if (end === -1) break;
      this.#line(chunk.subarray(start, end));
      start = end + 1;
      if (end !== carriageReturnAt) continue;
      carriageReturnAt = chunk.indexOf(carriageReturn, start);
      this.#afterCarriageReturn = start === chunk.length;
      if (chunk[start] === lineFeed) start += 1;
    }
    if (start < chunk.length) this.#parts.push(chunk.subarray(start));
  }

  end(): void {
    if (this.#parts.length > 0) this.#line(new Uint8Array());
  }

  #line(rest: Uint8Array): void {
    let line = rest;
    if (this.#parts.length > 0) {
      line = Buffer.concat([...this.#parts, rest]);
      this.#parts = [];
    }
    if (this.#first && line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) line = line.subarray(3);
    this.#first = false;
    this.#onLine(line);
  }
}

/** Returns the event, or words about why it is none. */
function readEvent(id: string, data: string): ServerEvent | string {
  const row = parse(data);
  if (row === undefined) return 'skipped an event whose data is not JSON';
  if (!isJsonObject(row)) return 'skipped an event whose data is not a JSON object';
  const { kind, stream, stage, state, turn_id: turnId } = row;
  if (kind !== 'output' && kind !== 'stage') return 'skipped an event of an unknown kind';
  const event = {
    kind,
    stream: text(stream),
    data: dataText(row['data']),
    stage: text(stage),
    state: text(state),
    turn_id: typeof turnId === 'string' ? turnId : null,
  } as const;
  const number = eventId(id);
  return number === undefined ? event : { id: number, ...event };
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

/** An id that is no positive integer is none: it could not be compared, so it must not move the resume position. */
function eventId(text: string): number | undefined {
  const id = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  return id > 0 && Number.isSafeInteger(id) ? id : undefined;
}

/** A stage event's metadata may come as an object in place of its text. */
function dataText(data: unknown): string {
  if (typeof data === 'string') return data;
  return data === undefined ? '' : JSON.stringify(data);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
