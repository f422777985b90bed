import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { isJsonObject } from '../../../lib/protocol/jsonrpc.ts';
import type { JsonObject } from '../../../lib/protocol/jsonrpc.ts';
import { until } from './until.ts';

/** One frame of a stream, taken apart. */
export interface Frame {
  readonly id: number;
  readonly event: string;
  readonly kind: string;
  readonly stream: string;
  readonly data: string;
  readonly stage: string;
  readonly state: string;
  readonly turn_id: string | null;
  readonly ts: string;
  readonly blocks?: readonly JsonObject[];
}

/** Returns the metadata of a stage event, or the message of an output event. */
export function contentOf({ data }: Pick<Frame, 'data'>): JsonObject {
  const value = JSON.parse(data) as unknown;
  if (!isJsonObject(value)) throw new Error(`no object: ${data}`);
  return value;
}

/** Returns `stage/state` of a stage event, or the stream's name of output. */
export function nameOf(frame: Pick<Frame, 'kind' | 'stage' | 'state' | 'stream'>): string {
  return frame.kind === 'stage' ? `${frame.stage}/${frame.state}` : frame.stream;
}

/** Where and how to read. */
export interface ReaderOptions {
  readonly url: string;
  readonly key: string;
  readonly lastEventId?: number | string;
  /** Whether to leave the bytes in the socket at first. */
  readonly paused?: boolean;
}

/** A client of one event stream, which keeps all that it got. */
export class EventReader {
  readonly frames: Frame[] = [];
  readonly comments: string[] = [];
  status = 0;
  headers: IncomingMessage['headers'] = {};
  /** Whether the server ended the body. */
  hasEnded = false;
  /** Whether the connection broke. */
  hasFailed = false;
  #response: IncomingMessage | null = null;
  #text = '';
  readonly #paused: boolean;
  readonly #call: ReturnType<typeof request>;

  constructor({ url, key, lastEventId, paused = false }: ReaderOptions) {
    this.#paused = paused;
    const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream', ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }) };
    this.#call = request(url, { headers, agent: false }, (response) => this.#onResponse(response));
    this.#call.on('error', () => (this.hasFailed = true));
    this.#call.end();
  }

  /** Takes the bytes that were left. */
  resume(): void {
    this.#response?.resume();
  }

  close(): void {
    this.#call.destroy();
  }

  /** Resolves with the first frame that matches. */
  frame(matches: string | ((frame: Frame) => boolean), withinMs?: number): Promise<Frame> {
    const test = typeof matches === 'string' ? (frame: Frame): boolean => nameOf(frame) === matches : matches;
    return until(() => this.frames.find(test), `a frame ${String(matches)} among ${this.frames.map(nameOf).join(' ')}`, withinMs);
  }

  /** Resolves when the server has ended the body. */
  ended(withinMs?: number): Promise<true> {
    return until(() => this.hasEnded || undefined, 'the end of the stream', withinMs);
  }

  #onResponse(response: IncomingMessage): void {
    this.#response = response;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    response.setEncoding('utf8').on('data', (text: string) => this.#onText(text));
    response.on('end', () => (this.hasEnded = true));
    response.on('error', () => (this.hasFailed = true));
    if (this.#paused) response.pause();
  }

  #onText(text: string): void {
    const blocks = `${this.#text}${text}`.split('\n\n');
    this.#text = blocks.pop() ?? '';
    for (const block of blocks) {
      if (block.startsWith(':')) this.comments.push(block);
      else this.frames.push(parsed(block));
    }
  }
}

function parsed(block: string): Frame {
  const lines = block.split('\n');
  const [id = '', event = '', data = ''] = lines;
  if (lines.length !== 3 || !id.startsWith('id: ') || !event.startsWith('event: ') || !data.startsWith('data: ')) throw new Error(`no frame: ${block}`);
  return { id: Number(id.slice(4)), event: event.slice(7), ...(JSON.parse(data.slice(6)) as Omit<Frame, 'id' | 'event'>) };
}
