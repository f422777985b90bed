/**
 * Conversation titles as the adapter shows and the instance stores them.
 *
 * @see Specification, "Conversation titles from the harness"
 */

/** The longest title, in extended grapheme clusters: what a reader calls characters. */
export const maxTitleGraphemes = 120;

/** The longest title in storage, in code points. */
export const maxTitleCodePoints = 255;

/** Unicode White_Space; `\s` differs from it by U+FEFF, which is no white space, and U+0085, which is. */
const whiteSpace = /[\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/gu;

let segmenter: Intl.Segmenter | undefined;

/** Made with the first title: to make one takes as long as starting half of the program. */
function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return segmenter.segment(text);
}

/**
 * Returns the title in its normal form, or null where nothing is left of it.
 *
 * NULs go, each run of white space becomes one space, both ends are trimmed, and whole graphemes are dropped from the
 * end until at most 120 graphemes and 255 code points are left. A lone surrogate, which UTF-8 cannot carry, becomes U+FFFD.
 *
 * @see Specification, "Conversation titles from the harness"
 */
export function normalizeTitle(title: string): string | null {
  const flat = collapse(title);
  let kept = '';
  let count = 0;
  let codePoints = 0;
  for (const { segment } of graphemesOf(flat)) {
    codePoints += Array.from(segment).length;
    if (count === maxTitleGraphemes || codePoints > maxTitleCodePoints) break;
    kept += segment;
    count += 1;
  }
  return trimEnd(kept) || null;
}

/**
 * Whether an explicit title, already collapsed, fits as it is. An explicit title is refused rather than cut.
 */
export function titleFits(title: string): boolean {
  return Array.from(title).length <= maxTitleCodePoints && Array.from(graphemesOf(title)).length <= maxTitleGraphemes;
}

/** Returns the title without NULs, its white space collapsed and both ends trimmed, at whatever length. */
export function collapse(title: string): string {
  return trimEnd(title.toWellFormed().replaceAll('\u0000', '').replace(whiteSpace, ' ')).replace(/^ /, '');
}

function trimEnd(text: string): string {
  return text.endsWith(' ') ? text.slice(0, -1) : text;
}
