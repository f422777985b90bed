import { expect } from 'chai';
import { TestScheduler, type RunHelpers } from 'rxjs/testing';

/** What a marble spec works with: RxJS's helpers, and the scheduler for what takes one. */
export interface Marbles extends RunHelpers {
  readonly scheduler: TestScheduler;
}

/**
 * Returns a spec's body in virtual time: minutes cost nothing, and what the marbles say is compared when it has run.
 *
 * @see https://rxjs.dev/guide/testing/marble-testing
 */
export function marbles(body: (marbles: Marbles) => void): () => void {
  return () => {
    const scheduler = createTestScheduler();
    scheduler.run((helpers) => body({ ...helpers, scheduler }));
  };
}

/** Returns a scheduler that compares with chai, errors by what they say and not by where they were made. */
export function createTestScheduler(): TestScheduler {
  return new TestScheduler((actual, expected) => {
    expect(comparable(actual)).to.deep.equal(comparable(expected));
  });
}

/** Returns what counts of an error: its name, its words, and its facts but for the cause. */
export function faceOf(error: Error): object {
  return { ...Object.fromEntries(Object.entries(error)), name: error.name, message: error.message };
}

function comparable(value: unknown): unknown {
  if (value instanceof Error) return faceOf(value);
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, comparable(inner)]));
}
