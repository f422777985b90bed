import type { JsonObject } from '../../protocol/jsonrpc.ts';
import { update } from '../store/store.ts';
import type { NewEvent, StoredEvent, Write } from '../store/store.ts';
import { eventTime } from '../time.ts';
import { eventWrite } from './eventLog.ts';
import type { EventLog } from './eventLog.ts';
import { redactMessages, redactText } from './redactedOutput.ts';
import type { RedactedOutput } from './redactedOutput.ts';
import type { Redactor } from './redactor.ts';

/** Where an output event belongs. */
export interface OutputPlace {
  readonly stage: string;
  readonly turnId: string | null;
}

/** The log of one conversation and its bounds. */
export interface ConversationLogOptions {
  readonly conversationId: string;
  readonly log: EventLog;
  /** Bytes of output that are stored already. */
  readonly outputBytes: number;
  /** Bytes of output at which storing ends. */
  readonly outputLimit: number;
  /** Receives the error of an output that could not be stored; nobody waits for output. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Writes the events of one conversation: redacted before they are stored, output up to a limit, stages without one.
 *
 * @see Fountain HTTP and SSE contract, sections 5.6, 5.7 and 5.9
 */
export class ConversationLog {
  readonly #options: ConversationLogOptions;
  readonly #startedAt = new Map<string, number>();
  #redactor: Redactor;
  #streams: Record<'stdout' | 'stderr' | 'acp', RedactedOutput>;
  #bytes: number;

  constructor(options: ConversationLogOptions, redactor: Redactor) {
    this.#options = options;
    this.#bytes = options.outputBytes;
    this.#redactor = redactor;
    this.#streams = streamsOf(redactor);
  }

  /** The values that are kept out of this log. */
  get redactor(): Redactor {
    return this.#redactor;
  }

  /** Registers other values. What was held back under the old ones is stored first. */
  redactWith(redactor: Redactor, place: OutputPlace): void {
    this.#send(this.drain(place));
    this.#redactor = redactor;
    this.#streams = streamsOf(redactor);
  }

  /** Stores output soon, in order with everything else of the conversation. */
  output(stream: 'stdout' | 'stderr' | 'acp', text: string, place: OutputPlace): void {
    this.#send(this.outputWrites(stream, text, place));
  }

  /** Returns the writes of a piece of output. */
  outputWrites(stream: 'stdout' | 'stderr' | 'acp', text: string, place: OutputPlace): Write[] {
    return this.#streams[stream].push(text).flatMap((piece) => this.#outputWrite(stream, piece, place));
  }

  /** Returns the writes of a stored question: the limit of output does not count for it, since an answer is waited for. */
  questionWrites(line: string, place: OutputPlace): Write[] {
    const data = this.#redactor.message(line);
    const event = this.#event({ kind: 'output', stream: 'acp', data, stage: place.stage, state: '', durationMs: null, turnId: place.turnId });
    return [...this.drain(place), eventWrite(event)];
  }

  /** Returns the writes of all output that was held back for redaction; an end of a turn stores it first. */
  drain(place: OutputPlace): Write[] {
    const streams = ['acp', 'stdout', 'stderr'] as const;
    return streams.flatMap((stream) => this.#streams[stream].end().flatMap((piece) => this.#outputWrite(stream, piece, place)));
  }

  /** Returns the write of a stage event. Its duration is the time since the same stage started. */
  stage(stage: string, state: 'started' | 'done' | 'failed' | 'interrupted', metadata: JsonObject = {}, turnId: string | null = null): Write {
    const startedAt = this.#startedAt.get(stage);
    if (state === 'started') this.#startedAt.set(stage, Date.now());
    else this.#startedAt.delete(stage);
    const durationMs = state === 'started' || startedAt === undefined ? null : Date.now() - startedAt;
    const data = JSON.stringify(this.#redactor.json(metadata));
    return eventWrite(this.#event({ kind: 'stage', stream: '', data, stage, state, durationMs, turnId }));
  }

  /** Commits writes of this conversation as one transaction and returns the events among them, published. */
  commit(writes: readonly Write[]): Promise<readonly StoredEvent[]> {
    return this.#options.log.commit(writes);
  }

  #outputWrite(stream: 'stdout' | 'stderr' | 'acp', data: string, { stage, turnId }: OutputPlace): Write[] {
    const { outputLimit, conversationId } = this.#options;
    if (this.#bytes >= outputLimit) return [];
    this.#bytes += Buffer.byteLength(data);
    const event = { kind: 'output', stage, state: '', durationMs: null, turnId } as const;
    if (this.#bytes < outputLimit) return [eventWrite(this.#event({ ...event, stream, data }))];
    const marker = `the limit of ${outputLimit} bytes of output is reached; later output of this conversation is not stored\n`;
    this.#bytes = outputLimit;
    // The stored count says after a restart that the marker is there.
    return [update('conversations', conversationId, { output_bytes: outputLimit }), eventWrite(this.#event({ ...event, stream: 'stderr', data: marker }))];
  }

  #event(event: Omit<NewEvent, 'conversationId' | 'ts'>): NewEvent {
    return { ...event, conversationId: this.#options.conversationId, ts: eventTime() };
  }

  #send(writes: readonly Write[]): void {
    if (writes.length > 0) this.commit(writes).catch(this.#options.onFailure);
  }
}

function streamsOf(redactor: Redactor): Record<'stdout' | 'stderr' | 'acp', RedactedOutput> {
  return { stdout: redactText(redactor), stderr: redactText(redactor), acp: redactMessages(redactor) };
}
