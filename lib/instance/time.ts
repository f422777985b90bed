let lastMs = 0;
let lastSecond = '';
let step = 0;

/** Returns the time now as ISO 8601 UTC with seconds, as rows carry it. */
export function rowTime(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}

/**
 * Returns the time now as ISO 8601 UTC with microseconds, as events carry it.
 *
 * The clock gives milliseconds; events of one millisecond are told apart by counting on.
 */
export function eventTime(): string {
  const now = Date.now();
  if (now === lastMs) step = Math.min(step + 1, 999);
  else {
    lastMs = now;
    lastSecond = new Date(now).toISOString().slice(0, 23);
    step = 0;
  }
  return `${lastSecond}${String(step).padStart(3, '0')}Z`;
}
