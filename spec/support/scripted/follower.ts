import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { eventFrame, isWanted, type Dialect, type LoggedEvent } from './eventFrame.ts';

/** How a stream is broken off: a clean end of the body, a connection that just closes, or one that is reset. */
export type BreakOff = 'end' | 'close' | 'reset';

/** Breaks a connection off: a reset at once, a close after what is written. */
export function breakOff(socket: Socket, how: Exclude<BreakOff, 'end'>): void {
  if (how === 'reset') socket.resetAndDestroy();
  // What a response has written reaches its socket within this turn of the event loop.
  else setImmediate(() => socket.destroySoon());
}

/** Where a follower's bytes go: the response itself, or the compressor before it. */
export interface StreamSink {
  write(bytes: Uint8Array | string): Promise<void>;
  end(): void;
}

/** One client that reads a conversation's stream. Its writes keep their order and wait for the client to read. */
export class Follower {
  readonly #sink: StreamSink;
  readonly #response: ServerResponse;
  readonly #dialect: Dialect;
  readonly #streams: ReadonlySet<string> | undefined;
  #lastId: number;
  #tail: Promise<void> = Promise.resolve();

  constructor(sink: StreamSink, response: ServerResponse, dialect: Dialect, streams: ReadonlySet<string> | undefined, after: number) {
    this.#sink = sink;
    this.#response = response;
    this.#dialect = dialect;
    this.#streams = streams;
    this.#lastId = after;
  }

  /** Resolves when everything so far is written. */
  get written(): Promise<void> {
    return this.#tail;
  }

  send(event: LoggedEvent): void {
    if (event.id !== undefined) {
      if (event.id <= this.#lastId) return;
      this.#lastId = event.id;
    }
    if (isWanted(event, this.#streams)) this.sendBytes(eventFrame(event, this.#dialect));
  }

  /** @param pieceBytes - Write in pieces of so many bytes, each in a turn of the event loop of its own. */
  sendBytes(bytes: Uint8Array | string, pieceBytes?: number): void {
    this.#then(async () => {
      if (pieceBytes === undefined) return this.#sink.write(bytes);
      const whole = Buffer.from(bytes);
      for (let at = 0; at < whole.length && !this.#response.destroyed; at += pieceBytes) {
        await this.#sink.write(whole.subarray(at, at + pieceBytes));
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
  }

  /** Breaks off after everything so far is written. */
  breakOff(how: BreakOff): void {
    this.#then(() => {
      const { socket } = this.#response;
      if (how === 'end' || socket === null) this.#sink.end();
      else breakOff(socket, how);
      return Promise.resolve();
    });
  }

  #then(step: () => Promise<void>): void {
    this.#tail = this.#tail.then(() => (this.#response.destroyed ? undefined : step()));
  }
}
