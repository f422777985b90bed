import { expect } from 'chai';
import fc from 'fast-check';
import { splitLines } from '../../../lib/instance/harness/splitLines.ts';

function lines(chunks: readonly Buffer[], maxBytes = 1000): string[] {
  const found: string[] = [];
  const splitter = splitLines((line) => found.push(line), maxBytes);
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return found;
}

describe('splitLines', () => {
  it('should give the same lines however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'é', '\u2028', '🙂', '\n', '\r\n', '{}'), { maxLength: 40 }), fc.array(fc.nat(60)), (parts, cuts) => {
        const bytes = Buffer.from(parts.join(''));
        const edges = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const chunks = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
        const expected = bytes.toString().split(/\r?\n/);
        if (expected.at(-1) === '') expected.pop();
        expect(lines(chunks)).to.deep.equal(expected);
      }),
    );
  });

  it('should replace bytes that are no UTF-8', () => {
    expect(lines([Buffer.from([0x61, 0xff, 0x0a])])).to.deep.equal(['a\ufffd']);
  });

  it('should throw when a line is longer than the limit', () => {
    expect(() => lines([Buffer.from('12345\n'), Buffer.from('1234'), Buffer.from('56')], 5)).to.throw('longer than 5 bytes');
  });
});
