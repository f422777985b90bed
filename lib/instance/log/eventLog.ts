import type { NewEvent, Store, StoredEvent, Write } from '../store/store.ts';

/** Receives events of one conversation, ascending; each was committed before. */
export type EventListener = (events: readonly StoredEvent[]) => void;

interface Pending {
  readonly writes: readonly Write[];
  readonly resolve: (events: readonly StoredEvent[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The one writer of the events of all conversations.
 *
 * What arrives in one turn of the event loop becomes one transaction. Transactions follow each other, so ids are in the
 * order of the calls, and an event is published only when its transaction is done: nobody sees what a crash could undo.
 *
 * @see Fountain HTTP and SSE contract, section 5.4
 */
export class EventLog {
  readonly #store: Store;
  readonly #listeners = new Map<string, Set<EventListener>>();
  #queue: Pending[] = [];
  #flushing = false;
  #idle: (() => void)[] = [];

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Commits events together with other writes, as one transaction, and returns the events with their ids.
   *
   * Errors: rejects with what the store says; nothing of this call was written then.
   */
  commit(writes: readonly Write[]): Promise<readonly StoredEvent[]> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ writes, resolve, reject });
      if (this.#flushing) return;
      this.#flushing = true;
      setImmediate(() => void this.#flush());
    });
  }

  /** Calls the listener with every later event of a conversation, until the returned function is called. */
  subscribe(conversationId: string, listener: EventListener): () => void {
    const listeners = this.#listeners.get(conversationId) ?? new Set();
    this.#listeners.set(conversationId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(conversationId) === listeners) this.#listeners.delete(conversationId);
    };
  }

  /** Resolves once everything that was asked for so far is committed and published. */
  settled(): Promise<void> {
    if (!this.#flushing) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle.push(resolve);
    });
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      await this.#commitBatch(batch);
    }
    this.#flushing = false;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }

  async #commitBatch(batch: readonly Pending[]): Promise<void> {
    let ids: readonly (number | null)[];
    try {
      ids = await this.#store.commit(batch.flatMap((pending) => pending.writes));
    } catch (error) {
      if (batch.length === 1) batch[0]?.reject(error);
      // One refused write must not take the others of its transaction with it.
      else for (const pending of batch) await this.#commitBatch([pending]);
      return;
    }
    this.#publish(batch, ids);
  }

  #publish(batch: readonly Pending[], ids: readonly (number | null)[]): void {
    const byConversation = new Map<string, StoredEvent[]>();
    let next = 0;
    for (const { writes, resolve } of batch) {
      const events: StoredEvent[] = [];
      for (const write of writes) {
        if (write.kind !== 'event') continue;
        const id = ids[next++] ?? null;
        if (id !== null) events.push({ ...write.event, id });
      }
      for (const event of events) append(byConversation, event);
      resolve(events);
    }
    for (const [conversationId, events] of byConversation) {
      for (const listener of this.#listeners.get(conversationId) ?? []) listener(events);
    }
  }
}

function append(byConversation: Map<string, StoredEvent[]>, event: StoredEvent): void {
  const events = byConversation.get(event.conversationId);
  if (events === undefined) byConversation.set(event.conversationId, [event]);
  else events.push(event);
}

/** Returns the write of an event. */
export function eventWrite(event: NewEvent): Write {
  return { kind: 'event', event };
}
