import fc from 'fast-check';

/** In CI the same cases come each time; elsewhere every run tries others, and a failure tells its seed. */
const fixedSeed = process.env['CI'] === undefined ? undefined : 20_261_201;

/**
 * Checks a property over generated cases.
 *
 * @param runs - How many cases.
 */
export function holds<Ts>(property: fc.IProperty<Ts>, runs = 200): void {
  fc.assert(property, { numRuns: runs, ...(fixedSeed !== undefined && { seed: fixedSeed }) });
}

/** Cuts of a byte sequence into chunks, some of them empty, by where they are made. */
export function chunked(bytes: fc.Arbitrary<Uint8Array>): fc.Arbitrary<{ readonly whole: Uint8Array; readonly chunks: readonly Uint8Array[] }> {
  return bytes.chain((whole) =>
    fc.array(fc.nat(whole.length), { maxLength: 20 }).map((cuts) => {
      const ends = [...cuts.sort((one, other) => one - other), whole.length];
      return { whole, chunks: ends.map((end, index) => whole.subarray(ends[index - 1] ?? 0, end)) };
    }),
  );
}
