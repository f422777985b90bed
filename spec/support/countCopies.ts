/**
 * Runs something and returns how many bytes `Buffer.concat` copied for it: work is counted and not timed, so that a
 * quadratic reader is caught on any machine.
 */
export function countCopies<T>(run: () => T): { readonly result: T; readonly copied: number } {
  const concat = Buffer.concat.bind(Buffer);
  const original = Object.getOwnPropertyDescriptor(Buffer, 'concat');
  let copied = 0;
  Buffer.concat = (parts, length) => {
    const joined = concat(parts, length);
    copied += joined.length;
    return joined;
  };
  try {
    const result = run();
    return { result, copied };
  } finally {
    if (original) Object.defineProperty(Buffer, 'concat', original);
  }
}
