import { setTimeout as delay } from 'node:timers/promises';

/**
 * Resolves with the first value that is not undefined, null or false.
 *
 * Errors: rejects after the deadline, naming what was waited for.
 *
 * @param withinMs - Milliseconds to wait at most.
 */
export async function until<T>(probe: () => T | Promise<T>, what: string, withinMs = 10_000): Promise<Exclude<T, undefined | null | false>> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) return value as Exclude<T, undefined | null | false>;
    if (Date.now() > deadline) throw new Error(`waited ${withinMs} ms in vain for ${what}`);
    await delay(5);
  }
}
