/** Returns a boolean of a query; what is neither true nor false is the default. Contract, section 0.3. */
export function isTrue(text: string | undefined, fallback: boolean): boolean {
  if (text === 'true' || text === '1') return true;
  return text === 'false' || text === '0' ? false : fallback;
}

/** Returns the integer that a text starts with; 0 where there is none. */
export function leadingInteger(text: string | undefined): number {
  const digits = /^\s*(\d{1,15})/.exec(text ?? '')?.[1];
  return digits === undefined ? 0 : Number(digits);
}
