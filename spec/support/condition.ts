/**
 * Waiting for what sockets and child processes bring about: a condition is looked at again whenever its owner says that
 * something changed, so nothing sleeps and nothing polls.
 */
export class Condition {
  readonly #waiting = new Set<() => void>();

  /** Says that something changed. */
  changed(): void {
    for (const look of [...this.#waiting]) look();
  }

  /**
   * Resolves with the first value of `look` that is neither undefined nor false.
   *
   * @param look - Read again after each change.
   * @param wanted - What is waited for, in words; for the message when the deadline passes.
   * @param withinMs - Deadline in milliseconds.
   */
  async until<T>(look: () => T | undefined | false, wanted: () => string, withinMs = 8000): Promise<T> {
    const here = look();
    if (here !== undefined && here !== false) return here;
    return new Promise((resolve, reject) => {
      const deadline = setTimeout(() => {
        this.#waiting.delete(again);
        reject(new Error(`waited ${withinMs} ms for ${wanted()}`));
      }, withinMs);
      const again = (): void => {
        const found = look();
        if (found === undefined || found === false) return;
        clearTimeout(deadline);
        this.#waiting.delete(again);
        resolve(found);
      };
      this.#waiting.add(again);
    });
  }
}

/** Something that one side does and the other waits for. */
export class Signal {
  readonly given: Promise<void>;
  #give: () => void = () => undefined;

  constructor() {
    this.given = new Promise((resolve) => {
      this.#give = resolve;
    });
  }

  give(): void {
    this.#give();
  }
}
