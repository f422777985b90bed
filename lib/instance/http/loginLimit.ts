const hourMs = 3_600_000;

/**
 * Returns a counter of attempts: called with an address it returns 0, or the seconds until that address may try again.
 *
 * @param attempts - Allowed per address and hour; 0 is any number.
 * @see Fountain HTTP and SSE contract, section 1.4
 */
export function loginLimit(attempts: number): (address: string) => number {
  const since = new Map<string, { startedAt: number; count: number }>();
  return (address) => {
    const now = Date.now();
    for (const [known, { startedAt }] of since) if (now - startedAt >= hourMs) since.delete(known);
    const window = since.get(address) ?? { startedAt: now, count: 0 };
    since.set(address, window);
    window.count += 1;
    return attempts > 0 && window.count > attempts ? Math.ceil((window.startedAt + hourMs - now) / 1000) : 0;
  };
}
