import type { Writable } from 'node:stream';
import { BehaviorSubject, distinctUntilChanged, Observable, type OperatorFunction } from 'rxjs';
import type { Lines } from '../protocol/frames.ts';

/** The one writer of stdout. */
export interface StdoutSink {
  /** Whether the client keeps up. Every reader of the server waits for it before it reads on. */
  readonly gate$: Observable<boolean>;
  /** Writes lines in order; completes when the last one has left the process; errors when the client is gone. */
  readonly write: OperatorFunction<Lines, never>;
}

/** As much as waits for the client before the gate closes, in characters. */
const highWaterMark = 256 * 1024;

/** How much is handed to the operating system at once, at most, in characters. */
const batchSize = 64 * 1024;

/**
 * Returns the serialized sink for stdout: whole lines, in order, in few writes, in bounded memory.
 *
 * A line that comes alone goes out at once; what one turn of the event loop brings goes out together. While the client
 * does not read, nothing is handed over, the gate is closed, and so no more than what was under way piles up.
 *
 * @see Specification, "Invocation": stdout carries the protocol and nothing else
 */
export function createStdoutSink(stdout: Writable): StdoutSink {
  const gate = new BehaviorSubject(true);
  return {
    gate$: gate.pipe(distinctUntilChanged()),
    write: (lines$) =>
      new Observable<never>((subscriber) => {
        const writer = new BatchWriter(stdout, (isOpen) => gate.next(isOpen));
        const onError = (error: unknown) => subscriber.error(error);
        stdout.on('error', onError);
        subscriber.add(
          lines$.subscribe({
            next: (lines) => writer.push(lines),
            error: (error: unknown) => writer.end(() => subscriber.error(error)),
            complete: () => writer.end(() => subscriber.complete()),
          }),
        );
      }),
  };
}

class BatchWriter {
  readonly #stdout: Writable;
  readonly #setGate: (isOpen: boolean) => void;
  #waiting: string[] = [];
  #length = 0;
  #scheduled = false;
  #blocked = false;
  #onEnd: (() => void) | undefined;

  constructor(stdout: Writable, setGate: (isOpen: boolean) => void) {
    this.#stdout = stdout;
    this.#setGate = setGate;
  }

  push(lines: Lines): void {
    for (const line of lines) {
      this.#waiting.push(line, '\n');
      this.#length += line.length + 1;
    }
    if (this.#length > highWaterMark) this.#setGate(false);
    this.#schedule();
  }

  end(onEnd: () => void): void {
    this.#onEnd = onEnd;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#blocked) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    this.#scheduled = false;
    while (this.#waiting.length > 0) {
      if (this.#stdout.write(this.#take())) continue;
      this.#blocked = true;
      this.#setGate(false);
      this.#stdout.once('drain', () => this.#onDrain());
      return;
    }
    this.#setGate(true);
    // The callback of an empty write comes when everything before it is out.
    if (this.#onEnd) this.#stdout.write('', this.#onEnd);
  }

  #onDrain(): void {
    this.#blocked = false;
    this.#flush();
  }

  /** Takes one batch; a long backlog is not copied into one string. */
  #take(): string {
    let length = 0;
    let count = 0;
    while (count < this.#waiting.length && length < batchSize) {
      length += this.#waiting[count]?.length ?? 0;
      count += 1;
    }
    this.#length -= length;
    return this.#waiting.splice(0, count).join('');
  }
}
