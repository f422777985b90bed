/** Begins a stored text in which U+0000 and U+0001 are written otherwise. */
const mark = '\u0001';

/**
 * Returns a text in a form without U+0000, which databases cut a text at or refuse; nearly every text is its own.
 */
export function encodeNul(text: string): string {
  if (!text.includes('\u0000') && !text.startsWith(mark)) return text;
  return `${mark}${text.replaceAll(mark, `${mark}1`).replaceAll('\u0000', `${mark}0`)}`;
}

/** Returns the text that {@link encodeNul} was given. */
export function decodeNul(stored: string): string {
  if (!stored.startsWith(mark)) return stored;
  return stored.slice(1).replaceAll(`${mark}0`, '\u0000').replaceAll(`${mark}1`, mark);
}
