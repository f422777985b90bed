import { expect } from 'chai';
import fc from 'fast-check';
import { collapse, maxTitleCodePoints, maxTitleGraphemes, normalizeTitle, titleFits } from '../../lib/protocol/titles.ts';
import { holds } from '../support/properties.ts';

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
const family = '👨‍👩‍👧‍👦';
const zalgo = `z${'\u0301'.repeat(20)}`;

/** All of Unicode's White_Space. */
const whiteSpace = [0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0x85, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000].map(
  (code) => String.fromCodePoint(code),
);

function graphemes(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

const parts = fc.oneof(
  fc.constantFrom('a', 'Fix', 'ü', 'e\u0301', family, '🇩🇪', '👍🏽', zalgo, '\u0000', '\r\n', '\ud83d', '\udca1', '\u200d', '\ufe0f', ...whiteSpace),
  fc.string({ unit: 'grapheme', maxLength: 3 }),
  fc.string({ unit: 'binary', maxLength: 3 }),
);
const titles = fc.array(parts, { maxLength: 300, size: 'max' }).map((all) => all.join(''));

describe('normalizeTitle', () => {
  const cases: readonly [string, string, string | null][] = [
    ['leave a normal title', 'Fix login redirect', 'Fix login redirect'],
    ['collapse and trim white space', ' \t Fix \n\n login\u00a0 redirect\u3000', 'Fix login redirect'],
    ['remove NULs without leaving a gap', 'Fi\u0000x', 'Fix'],
    ['collapse white space that a NUL stood in', 'a \u0000 b', 'a b'],
    ['return null when nothing is left', ' \u0000\u2028 ', null],
    ['return null for an empty title', '', null],
    ['cut to 120 graphemes', 'é'.repeat(121), 'é'.repeat(120)],
    ['trim again when the cut ends in a space', `${'x'.repeat(119)} yz`, 'x'.repeat(119)],
    ['drop whole graphemes for storage', family.repeat(40), family.repeat(36)],
    ['return null when one grapheme alone is too long', `a${'\u0301'.repeat(255)}`, null],
    ['keep a grapheme of exactly 255 code points', `a${'\u0301'.repeat(254)}`, `a${'\u0301'.repeat(254)}`],
    ['make a lone surrogate something that UTF-8 carries', 'a\ud83db', 'a\ufffdb'],
  ];
  for (const [name, title, normal] of cases) it(`should ${name}`, () => expect(normalizeTitle(title)).to.equal(normal));

  for (const space of whiteSpace) {
    it(`should take U+${space.charCodeAt(0).toString(16).padStart(4, '0')} for white space`, () => {
      expect(normalizeTitle(`${space}a${space}${space}b${space}`)).to.equal('a b');
    });
  }

  for (const code of ['\ufeff', '\u200b', '\u180e', '\u2060']) {
    it(`should not take U+${code.charCodeAt(0).toString(16)} for white space`, () => expect(normalizeTitle(`a${code}b`)).to.equal(`a${code}b`));
  }

  it('should be idempotent', () => {
    holds(
      fc.property(titles, (title) => {
        const normal = normalizeTitle(title);
        if (normal !== null) expect(normalizeTitle(normal)).to.equal(normal);
      }),
    );
  });

  it('should stay within both limits, well-formed, without NULs or runs of white space', () => {
    holds(
      fc.property(titles, (title) => {
        const normal = normalizeTitle(title) ?? 'x';
        expect(graphemes(normal).length).to.be.within(1, maxTitleGraphemes);
        expect(Array.from(normal).length).to.be.within(1, maxTitleCodePoints);
        expect(normal.isWellFormed()).to.equal(true);
        expect(normal).not.to.match(/\u0000|\p{White_Space}{2}|^\p{White_Space}|\p{White_Space}$|[^\P{White_Space} ]/u);
      }),
    );
  });

  it('should keep whole graphemes of the collapsed title, as many as fit', () => {
    holds(
      fc.property(titles, (title) => {
        const all = graphemes(collapse(title));
        const kept = normalizeTitle(title) ?? '';
        const count = graphemes(kept).length;
        const next = all.slice(0, count + 1).join('');
        expect(all.slice(0, count).join('')).to.equal(kept);
        const spaceWasTrimmed = all[count] === ' ';
        if (count < all.length && !spaceWasTrimmed) expect(titleFits(next)).to.equal(false);
      }),
    );
  });
});

describe('titleFits', () => {
  it('should count what a reader calls characters, and what storage holds', () => {
    expect(titleFits('é'.repeat(120))).to.equal(true);
    expect(titleFits('é'.repeat(121))).to.equal(false);
    expect(titleFits(family.repeat(36))).to.equal(true);
    expect(titleFits(family.repeat(37))).to.equal(false);
  });
});

describe('collapse', () => {
  it('should leave the length alone', () => {
    expect(collapse(`\n${'x '.repeat(300)}`)).to.equal(`${'x '.repeat(299)}x`);
  });
});
