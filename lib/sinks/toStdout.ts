import type { Writable } from 'node:stream';
import { BehaviorSubject, distinctUntilChanged, Observable, ReplaySubject, take, type OperatorFunction } from 'rxjs';
import type { Lines } from '../protocol/frames.ts';

/** The one writer of stdout. */
export interface StdoutSink {
  /** Whether the client keeps up. Every reader of the server waits for it before it reads on. */
  readonly gate$: Observable<boolean>;
  /** Emits once, when the client has closed its end; nothing is written from then on. */
  readonly broken$: Observable<void>;
  /** Writes lines in order; completes when the last one has left the process. */
  readonly write: OperatorFunction<Lines, never>;
}

/** As much as waits for the client before the gate closes, in characters. */
const highWaterMark = 256 * 1024;

/** As much as may still wait when the gate opens again, in characters. */
const lowWaterMark = 64 * 1024;

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
  const gate$ = new BehaviorSubject(true);
  const broken$ = new ReplaySubject<void>(1);
  const writer = new BatchWriter(stdout, (isOpen) => gate$.next(isOpen));
  // Each write after the first failure fails too; the first has said it all.
  stdout.on('error', () => {
    writer.discard();
    broken$.next();
  });
  return {
    gate$: gate$.pipe(distinctUntilChanged()),
    broken$: broken$.pipe(take(1)),
    write: (lines$) =>
      new Observable<never>((subscriber) =>
        lines$.subscribe({
          next: (lines) => writer.push(lines),
          error: (error: unknown) => writer.end(() => subscriber.error(error)),
          complete: () => writer.end(() => subscriber.complete()),
        }),
      ),
  };
}

class BatchWriter {
  readonly #stdout: Writable;
  readonly #setGate: (isOpen: boolean) => void;
  #waiting: string[] = [];
  #length = 0;
  #scheduled = false;
  #blocked = false;
  #broken = false;
  #onEnd: (() => void) | undefined;

  constructor(stdout: Writable, setGate: (isOpen: boolean) => void) {
    this.#stdout = stdout;
    this.#setGate = setGate;
  }

  push(lines: Lines): void {
    if (this.#broken) return;
    for (const line of lines) {
      this.#waiting.push(`${line}\n`);
      this.#length += line.length + 1;
    }
    if (this.#length > highWaterMark) this.#setGate(false);
    this.#schedule();
  }

  end(onEnd: () => void): void {
    this.#onEnd = onEnd;
    if (this.#broken) onEnd();
    else this.#schedule();
  }

  discard(): void {
    this.#broken = true;
    this.#waiting = [];
    this.#length = 0;
    this.#setGate(true);
    this.#onEnd?.();
  }

  #schedule(): void {
    if (this.#scheduled || this.#blocked) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    this.#scheduled = false;
    while (this.#waiting.length > 0 && !this.#blocked) this.#writeBatch();
    // The callback of an empty write comes when everything before it is out.
    if (this.#onEnd && !this.#blocked) this.#stdout.write('', this.#onEnd);
  }

  #writeBatch(): void {
    this.#blocked = !this.#stdout.write(this.#take());
    if (this.#length <= lowWaterMark) this.#setGate(true);
    if (!this.#blocked) return;
    this.#stdout.once('drain', () => {
      this.#blocked = false;
      this.#flush();
    });
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
