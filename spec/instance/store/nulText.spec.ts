import { expect } from 'chai';
import fc from 'fast-check';
import { decodeNul, encodeNul } from '../../../lib/instance/store/nulText.ts';

describe('encodeNul', () => {
  it('should hold no NUL and give the same text back', () => {
    const texts = fc.array(fc.constantFrom('\u0000', '\u0001', '0', '1', 'a', '😀')).map((parts) => parts.join(''));
    fc.assert(
      fc.property(texts, (text) => {
        expect(encodeNul(text)).to.not.include('\u0000');
        expect(decodeNul(encodeNul(text))).to.equal(text);
      }),
    );
  });

  it('should leave an ordinary text as it is', () => {
    expect(encodeNul('plain \u0001 text')).to.equal('plain \u0001 text');
  });
});
