import { defer, mergeMap, share, Subject, tap, type Observable, type SchedulerLike } from 'rxjs';
import type { OpenTurn } from './operators/bindTurn.ts';
import { dedupe } from './operators/dedupe.ts';
import { resume, type ResumeOptions } from './operators/resume.ts';
import type { ServerEvent } from './protocol/fountain.ts';
import { endsTurn, readStage, startsTurn } from './protocol/stage.ts';
import type { Instance } from './remote.ts';

/** A prompt that has not been answered yet. */
export interface ActivePrompt {
  /** Whether the client asked to cancel it. */
  cancelled: boolean;
  /** Whether the instance has confirmed the interrupt. */
  interrupted: boolean;
}

/** What a session needs of the world. */
export interface SessionOptions {
  readonly id: string;
  /** The instance, for messages. */
  readonly where: string;
  /** Id of the last event seen; undefined where it is not known how far the conversation has got. */
  readonly after: number | undefined;
  readonly instance$: Observable<Instance>;
  /** Streams that are followed, as a comma list; empty for all. @defaultValue `acp,stage` */
  readonly streams?: string;
  /** Whether each event carries its JSON as it came. */
  readonly keepsJson?: boolean;
  /** Silence after which a followed stream is given up, in milliseconds. */
  readonly streamIdleMs: number;
  readonly scheduler: SchedulerLike;
  readonly random: () => number;
  readonly log: (level: 'debug', message: string) => void;
}

/** A connection that said nothing for longer may be dead, or asleep, in milliseconds: more than a heartbeat. */
const freshMs = 20_000;

/**
 * One conversation that this process holds for its client: how far its events have been read, the one stream that all
 * its prompts share, and the prompt that runs.
 */
export class Session {
  readonly id: string;
  readonly where: string;
  /** Id of the last event seen; undefined where it is not known how far the conversation has got. */
  after: number | undefined;
  /** The turn that is open as far as has been read. */
  openTurn: OpenTurn | undefined;
  /** The prompt that runs; at most one. */
  prompt: ActivePrompt | undefined;
  /**
   * The conversation's events from `after` on, over one connection that all windows share. It outlives its windows until
   * the server closes the idle connection, and is not opened again for nobody.
   */
  readonly event$: Observable<readonly ServerEvent[]>;
  readonly #options: SessionOptions;
  readonly #free$ = new Subject<void>();
  readonly #begun$ = new Subject<void>();
  #windows = 0;
  #heardAt = -Infinity;

  constructor(options: SessionOptions) {
    this.id = options.id;
    this.where = options.where;
    this.after = options.after;
    this.#options = options;
    this.event$ = defer(() => this.#read(options.streams ?? 'acp,stage', 'follow', this.after ?? 0)).pipe(
      tap((events) => this.observe(events)),
      share(),
    );
  }

  /** Emits when a prompt has ended. */
  get free$(): Observable<void> {
    return this.#free$;
  }

  /** Emits when a window begins; a stream that only lingers is its from then on. */
  get begun$(): Observable<void> {
    return this.#begun$;
  }

  /** The stored events of some streams behind an event; complete with the last one. */
  history(streams: string, after: number): Observable<readonly ServerEvent[]> {
    return this.#read(streams, 'history', after);
  }

  /** Whether the shared stream is connected and heard of, so that all that has happened has been read. */
  isLive(): boolean {
    return this.#options.scheduler.now() - this.#heardAt < freshMs;
  }

  /** Takes note of events that were read. */
  observe(events: readonly ServerEvent[]): void {
    for (const event of events) {
      if (event.id !== undefined && event.id > (this.after ?? 0)) this.after = event.id;
      const stage = readStage(event);
      if (stage && startsTurn(stage)) this.openTurn = { id: stage.turnId };
      else if (stage && endsTurn(stage)) this.openTurn = undefined;
    }
  }

  /** Keeps the stream reconnecting until the function that it returns is called. */
  openWindow(): () => void {
    this.#windows += 1;
    this.#begun$.next();
    let open = true;
    return () => {
      if (open) this.#windows -= 1;
      open = false;
    };
  }

  /** Takes the session for one prompt. */
  begin(): ActivePrompt {
    this.prompt = { cancelled: false, interrupted: false };
    return this.prompt;
  }

  /** Frees the session for the next prompt. */
  end(prompt: ActivePrompt): void {
    if (this.prompt !== prompt) return;
    this.prompt = undefined;
    this.#free$.next();
  }

  #read(streams: string, mode: ResumeOptions['mode'], after: number): Observable<readonly ServerEvent[]> {
    const { instance$, streamIdleMs, scheduler, random, log, keepsJson = false } = this.#options;
    const follows = mode === 'follow';
    return resume({
      open: (from) => instance$.pipe(mergeMap((instance) => instance.events(this.id, { streams, wait: follows, after: from }))),
      after,
      mode,
      keepsJson,
      wanted: () => !follows || this.#windows > 0,
      idleMs: streamIdleMs,
      scheduler,
      random,
      log: (message) => log('debug', message),
      ...(follows && { onHeard: () => (this.#heardAt = scheduler.now()), onClosed: () => (this.#heardAt = -Infinity) }),
    }).pipe(dedupe(after));
  }
}
