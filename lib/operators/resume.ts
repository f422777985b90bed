import { concat, defer, EMPTY, finalize, map, retry, tap, throwError, timeout, timer, type Observable, type SchedulerLike } from 'rxjs';
import { isApiError, statusOf } from '../protocol/apiError.ts';
import { describe } from '../protocol/errors.ts';
import type { ServerEvent } from '../protocol/fountain.ts';
import { decodeEvents, type EventBatch } from './decodeEvents.ts';

/** Options of {@link resume}. Times are milliseconds. */
export interface ResumeOptions {
  /** Opens one connection behind the event of that id; emits an empty chunk when the answer's head has come. */
  readonly open: (after: number) => Observable<Uint8Array>;
  /** Id of the last event seen, 0 for none. */
  readonly after: number;
  /** `follow` reconnects after a clean end; `history` is complete with it. */
  readonly mode: 'follow' | 'history';
  /** Whether each event carries its JSON as it came. */
  readonly keepsJson?: boolean;
  /** Whether anybody still waits for events; asked when a connection ends. */
  readonly wanted: () => boolean;
  /** Silence after which a connection is taken for dead: three heartbeats. */
  readonly silenceMs?: number;
  /** Silence over all connections after which the stream is given up. */
  readonly idleMs: number;
  /** Sum of waits after which failing connections are given up. */
  readonly budgetMs?: number;
  readonly scheduler: SchedulerLike;
  /** From 0 to below 1, for jitter. */
  readonly random: () => number;
  readonly log: (message: string) => void;
  /** Called when a connection has been opened, and with each of its chunks. */
  readonly onHeard?: () => void;
  /** Called when a connection is gone. */
  readonly onClosed?: () => void;
}

const firstDelayMs = 250;
const longestDelayMs = 8_000;
const defaultSilenceMs = 45_000;
const defaultBudgetMs = 40_000;

/** Statuses that trying again will not change. */
const finalStatuses = new Set([401, 403, 404, 410]);

/** The silence between two connections' bytes has lasted too long. */
class SilenceError extends Error {
  override readonly name = 'SilenceError';
}

/**
 * Reads a conversation's events over as many connections as it takes, each behind the last event seen.
 *
 * A clean close, a reset, a 5xx, a 429, a gateway's page and a connection that went silent are all reasons to come back;
 * the wait doubles, with jitter, and starts anew with progress; `retry:` and `Retry-After` are honoured.
 *
 * ```
 * connections:  -a-|            -b-c-#
 * result:       -a----(250 ms)----b-c--- ...
 * ```
 *
 * Errors: the instance's refusal (401, 403, 404, 410) at once; the last failure when the budget is spent; one that says
 * for how long there was no output, after `idleMs` without a byte.
 *
 * @see Specification, "What streams back": a dropped connection is not a lost turn
 */
export function resume(options: ResumeOptions): Observable<readonly ServerEvent[]> {
  return defer(() => {
    const line = new Line(options);
    const connection$ = defer(() => line.connect());
    const ended$ = options.mode === 'history' ? EMPTY : throwError(() => new Error('the connection was closed'));
    return concat(connection$, ended$).pipe(
      retry({ delay: (error: unknown) => line.next(error) }),
      map(({ events }) => events),
    );
  });
}

class Line {
  readonly #options: ResumeOptions;
  readonly #silenceMs: number;
  #after: number;
  #failures = 0;
  #waitedMs = 0;
  #silentMs = 0;
  #retryMs = 0;
  #events = false;
  #bytes = false;
  #clean = false;

  constructor(options: ResumeOptions) {
    this.#options = options;
    this.#after = options.after;
    this.#silenceMs = Math.min(options.silenceMs ?? defaultSilenceMs, options.idleMs);
  }

  connect(): Observable<EventBatch> {
    const { open, scheduler, mode, keepsJson = false, onClosed } = this.#options;
    this.#events = false;
    this.#bytes = false;
    this.#clean = false;
    return open(this.#after).pipe(
      timeout({ each: this.#silenceMs, scheduler, with: () => throwError(() => new SilenceError('the connection went silent')) }),
      tap({ next: (chunk) => this.#onBytes(chunk), complete: () => (this.#clean = true) }),
      decodeEvents({ takeLast: mode === 'history', keepsJson }),
      tap((batch) => this.#onBatch(batch)),
      finalize(() => onClosed?.()),
    );
  }

  /** Emits when it is time for the next connection; completes when nobody waits for it; errors when there will be none. */
  next(error: unknown): Observable<unknown> {
    const { scheduler, log, wanted } = this.#options;
    if (!wanted()) return EMPTY;
    const status = statusOf(error);
    if (status !== undefined && finalStatuses.has(status)) return throwError(() => error as Error);
    if (error instanceof SilenceError && this.#isIdle()) {
      return throwError(() => new Error(`no output for ${this.#options.idleMs / 1000} s`));
    }
    const failed = !this.#clean;
    if (failed && this.#waitedMs >= (this.#options.budgetMs ?? defaultBudgetMs)) {
      return throwError(() => new Error(`stream failed after ${this.#failures} attempts: ${describe(error)}`));
    }
    const delayMs = this.#delayMs(error);
    log(`event stream: ${describe(error)}; reconnecting behind event ${this.#after} in ${Math.round(delayMs)} ms`);
    if (failed) this.#waitedMs += delayMs;
    return timer(delayMs, scheduler);
  }

  #isIdle(): boolean {
    this.#silentMs += this.#silenceMs;
    return this.#silentMs >= this.#options.idleMs;
  }

  /** A clean end behind events is no failure: the server closes idle streams by design. */
  #delayMs(error: unknown): number {
    const asked = isApiError(error) ? (error.fault.retryAfterMs ?? 0) : 0;
    if (this.#clean && this.#events) return this.#retryMs;
    if (this.#clean && this.#bytes) return Math.max(firstDelayMs, this.#retryMs);
    const base = Math.min(firstDelayMs * 2 ** this.#failures, longestDelayMs);
    this.#failures += 1;
    return Math.max(base * (1 + this.#options.random() / 4), asked, this.#retryMs);
  }

  #onBytes(chunk: Uint8Array): void {
    this.#options.onHeard?.();
    if (chunk.length === 0) return;
    this.#bytes = true;
    this.#silentMs = 0;
  }

  #onBatch({ events, retryMs, notes }: EventBatch): void {
    if (retryMs !== undefined) this.#retryMs = Math.min(retryMs, longestDelayMs);
    for (const note of notes) this.#options.log(note);
    if (events.length === 0) return;
    this.#events = true;
    this.#failures = 0;
    this.#waitedMs = 0;
    for (const { id } of events) if (id !== undefined && id > this.#after) this.#after = id;
  }
}
