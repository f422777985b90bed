import { isUtf8 } from 'node:buffer';
import { defer, filter, map, endWith, type OperatorFunction } from 'rxjs';
import { readFrame, tooLongFrame, type Frame } from '../protocol/frames.ts';
import { errorCodes } from '../protocol/jsonrpc.ts';

/** Longest line that is read, in bytes: a prompt with several large images fits. */
export const maxLineBytes = 64 * 1024 * 1024;

/** As much of a line that is too long as is looked at for the id of its sender's request, in bytes. */
const headBytes = 1024;

const lineFeed = 0x0a;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Splits the client's bytes into lines and reads each as one JSON-RPC message; emits the frames of a chunk together.
 *
 * Lines end with LF or CR LF, blank ones are skipped, U+2028 and U+2029 are text. The last line needs no line end.
 * Bad input is a value, so the stream lives on: see {@link Frame}. Cost is linear in the input, however it is cut.
 *
 * Errors: passes the source's on; adds none.
 *
 * @param limit - Longest line in bytes. A longer one is skipped to its end and answered with an error.
 * @see Specification, "Invocation": stdout and stdin carry the protocol
 */
export function splitFrames(limit = maxLineBytes): OperatorFunction<Uint8Array, readonly Frame[]> {
  return (chunk$) =>
    defer(() => {
      const splitter = new LineSplitter(limit);
      return chunk$.pipe(
        endWith(undefined),
        map((chunk) => (chunk === undefined ? splitter.end() : splitter.push(chunk))),
        filter((frames) => frames.length > 0),
      );
    });
}

class LineSplitter {
  readonly #limit: number;
  #parts: Uint8Array[] = [];
  #bytes = 0;
  #head = '';
  #first = true;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: Uint8Array): Frame[] {
    const frames: Frame[] = [];
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      this.#keep(chunk.subarray(start, end));
      frames.push(...this.#take());
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return frames;
  }

  end(): Frame[] {
    return this.#take();
  }

  /** Parts are joined once, when the line is whole; those of a line that is too long are only counted. */
  #keep(part: Uint8Array): void {
    this.#bytes += part.length;
    if (part.length > 0) this.#parts.push(part);
    if (this.#bytes <= this.#limit || this.#parts.length === 0) return;
    if (this.#head === '') this.#head = Buffer.concat(this.#parts).toString('utf8', 0, headBytes);
    this.#parts = [];
  }

  #take(): Frame[] {
    const tooLong = this.#bytes > this.#limit;
    let line = this.#parts.length === 1 ? asBuffer(this.#parts[0]) : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    if (tooLong) return [this.#skipped()];
    if (this.#first && line.subarray(0, 3).equals(byteOrderMark)) line = line.subarray(3);
    this.#first = false;
    return readLine(line);
  }

  #skipped(): Frame {
    const head = this.#head;
    this.#head = '';
    return tooLongFrame(head, this.#limit);
  }
}

function asBuffer(part: Uint8Array = new Uint8Array()): Buffer {
  return Buffer.from(part.buffer, part.byteOffset, part.byteLength);
}

function readLine(line: Buffer): Frame[] {
  const text = line.toString('utf8');
  if (text.trim() === '') return [];
  const frame = readFrame(text);
  if (frame.kind === 'noise' || isUtf8(line)) return [frame];
  // The id, if there is one, survives a lossy reading, so the sender still gets its answer.
  const id = frame.kind === 'request' ? frame.id : 'null';
  return [{ kind: 'invalid', id, error: { code: errorCodes.parseError, message: 'this line is not valid UTF-8' } }];
}
