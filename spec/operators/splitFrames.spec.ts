import { expect } from 'chai';
import fc from 'fast-check';
import { from, map } from 'rxjs';
import { splitFrames } from '../../lib/operators/splitFrames.ts';
import { readFrame, type Frame } from '../../lib/protocol/frames.ts';
import { countCopies } from '../support/countCopies.ts';
import { itFollowsItsSource } from '../support/mirrored.ts';
import { chunked, holds } from '../support/properties.ts';
import { marbles } from '../support/testScheduler.ts';

const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const pong = '{"jsonrpc":"2.0","id":2,"method":"pong","params":{"text":"é💡\\n"}}';

function bytes(text: string): Uint8Array {
  return Buffer.from(text);
}

/** Returns all frames of these chunks; the source is synchronous, so no time passes. */
function framesOf(chunks: readonly (string | Uint8Array)[], limit?: number): Frame[] {
  const all: Frame[] = [];
  from(chunks)
    .pipe(map((chunk) => (typeof chunk === 'string' ? bytes(chunk) : chunk)), splitFrames(limit))
    .subscribe((frames) => all.push(...frames));
  return all;
}

/** Lines of a client, good and bad, with any line end. */
const lines = fc.oneof(
  fc.constantFrom(ping, pong, '', ' \t', 'noise', '{"broken"', '[1]', '\u2028', `${ping}\u2029`, '\u0000'),
  fc.tuple(fc.integer(), fc.string({ unit: 'grapheme' })).map(([id, text]) => JSON.stringify({ jsonrpc: '2.0', id, method: 'm', params: { text } })),
  fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, '')),
);
const inputs = fc
  .tuple(fc.array(fc.tuple(lines, fc.constantFrom('\n', '\r\n')), { maxLength: 8 }), lines)
  .map(([all, last]) => bytes(all.map(([line, end]) => line + end).join('') + last));
const anyBytes = fc.oneof(inputs, fc.uint8Array({ maxLength: 200 }), fc.array(fc.constantFrom(0x0a, 0x0d, 0x20, 0x7b, 0x7d, 0x22, 0xc3, 0xa9, 0xff), { maxLength: 60 }).map((all) => Uint8Array.from(all)));

describe('splitFrames', () => {
  it('should emit the frames of a chunk together, and those of a line when it is whole', marbles(({ cold, expectObservable, expectSubscriptions }) => {
    const [p, q] = [readFrame(ping), readFrame(pong)];
    const chunk$ = cold('-a--b--c--d-|', { a: bytes(`${ping}\n${pong}\n${ping.slice(0, 9)}`), b: bytes(ping.slice(9)), c: bytes('\r'), d: bytes(`\n${pong}\n`) });
    const expected = '   -a--------d-|';
    expectObservable(chunk$.pipe(splitFrames())).toBe(expected, { a: [p, q], d: [p, q] });
    expectSubscriptions(chunk$.subscriptions).toBe('^-----------!');
  }));

  it('should take a last line without a line end, when the source is complete', marbles(({ cold, expectObservable }) => {
    const chunk$ = cold('-a--|    ', { a: bytes(ping) });
    expectObservable(chunk$.pipe(splitFrames())).toBe('----(a|)', { a: [readFrame(ping)] });
  }));

  itFollowsItsSource(() => splitFrames(), bytes(`${ping}\n`));

  it('should lose what was no whole line when the source fails', marbles(({ cold, expectObservable }) => {
    expectObservable(cold('-a-#', { a: bytes(ping) }).pipe(splitFrames())).toBe('---#');
  }));

  it('should begin anew with each subscriber', marbles(({ cold, expectObservable }) => {
    const result$ = cold('-a|', { a: bytes(`${ping}\n{`) }).pipe(splitFrames());
    const values = { a: [readFrame(ping)], b: [readFrame('{')] };
    expectObservable(result$).toBe('-a(b|)', values);
    expectObservable(result$, '--^---').toBe('---a(b|)', values);
  }));

  it('should skip blank lines, and take other line ends of Unicode for text', () => {
    expect(framesOf(['\n\r\n  \n', `${ping}\r\n`, '\n'])).to.deep.equal([readFrame(ping)]);
    const text = '{"jsonrpc":"2.0","method":"m","params":{"text":"a\u2028b\u2029c\u0085d"}}';
    expect(framesOf([`${text}\n`])).to.deep.equal([readFrame(text)]);
  });

  it('should skip a byte order mark before the first line, and before it alone', () => {
    expect(framesOf([`\ufeff${ping}\n`])).to.deep.equal([readFrame(ping)]);
    expect(framesOf([`${ping}\n\ufeff${ping}\n`]).map(({ kind }) => kind)).to.deep.equal(['request', 'invalid']);
  });

  it('should go on behind noise and broken lines', () => {
    expect(framesOf(['hello\n{"a"\n', `${ping}\n`]).map(({ kind }) => kind)).to.deep.equal(['noise', 'invalid', 'request']);
  });

  it('should refuse a line that is not UTF-8, under the id of its request', () => {
    const line = Buffer.concat([bytes('{"jsonrpc":"2.0","id":5,"method":"m","params":{"t":"'), Buffer.from([0xc3, 0x28]), bytes('"}}\n')]);
    expect(framesOf([line, `${ping}\n`])).to.deep.equal([{ kind: 'invalid', id: '5', error: { code: -32700, message: 'this line is not valid UTF-8' } }, readFrame(ping)]);
  });

  it('should give the same frames, however the bytes are cut', () => {
    holds(
      fc.property(chunked(anyBytes), ({ whole, chunks }) => {
        expect(framesOf(chunks)).to.deep.equal(framesOf([whole]));
      }),
      1000,
    );
  });

  it('should give the same frames, byte by byte, of lines that end with LF or CR LF', () => {
    holds(
      fc.property(fc.array(lines, { maxLength: 6 }), (all) => {
        const single = Array.from(bytes(all.join('\r\n')), (byte) => Uint8Array.of(byte));
        const withoutLengths = (found: readonly Frame[]): unknown[] => found.map((frame) => (frame.kind === 'noise' ? frame.kind : frame));
        expect(withoutLengths(framesOf(single))).to.deep.equal(withoutLengths(framesOf([all.join('\n')])));
      }),
    );
  });

  it('should read each line for itself', () => {
    holds(
      fc.property(fc.array(lines, { maxLength: 6 }), (all) => {
        const expected = all.flatMap((line) => (line.trim() === '' ? [] : [readFrame(line)]));
        expect(framesOf([all.map((line) => `${line}\n`).join('')])).to.deep.equal(expected);
      }),
    );
  });

  describe('with a limit', () => {
    const long = `{"jsonrpc":"2.0","id":"big","method":"m","params":{"t":"${'x'.repeat(100)}"}}`;

    it('should answer a line that is too long under its id, and go on behind it', () => {
      const [tooLong, ...rest] = framesOf([`${long}\n${ping}\n`], 100);
      expect(tooLong).to.include({ kind: 'invalid', id: '"big"' }).and.to.have.nested.property('error.code', -32600);
      expect(rest).to.deep.equal([readFrame(ping)]);
    });

    it('should take a line of exactly so many bytes', () => {
      expect(framesOf([`${ping}\n`], ping.length)).to.deep.equal([readFrame(ping)]);
      expect(framesOf([`${ping}\n`], ping.length - 1)).to.have.lengthOf(1).and.to.have.nested.property('[0].kind', 'invalid');
    });

    it('should tell of a last line that is too long', () => {
      expect(framesOf([long], 100)).to.have.lengthOf(1).and.to.have.nested.property('[0].id', '"big"');
    });

    it('should count each line anew', () => {
      expect(framesOf(Array.from({ length: 10 }, () => `${ping}\n`), 50)).to.have.lengthOf(10).and.to.deep.include(readFrame(ping));
    });

    it('should give the same frames, however the bytes are cut', () => {
      const longer = long.replace('x', 'x'.repeat(1_200));
      const some = fc.array(fc.constantFrom(ping, pong, longer, '', 'x'.repeat(1_100)), { maxLength: 6 }).map((all) => bytes(all.join('\n')));
      holds(
        fc.property(chunked(some), fc.integer({ min: 1_024, max: 1_200 }), ({ whole, chunks }, limit) => {
          expect(framesOf(chunks, limit)).to.deep.equal(framesOf([whole], limit));
        }),
        500,
      );
    });

    it('should not keep what it skips', () => {
      const part = bytes('x'.repeat(1_000));
      const { copied } = countCopies(() => framesOf([...Array.from({ length: 2_000 }, () => part), '\n'], 10_000));
      expect(copied).to.be.below(50_000);
    });
  });

  it('should copy each byte once at most, in however many chunks a line comes', () => {
    const part = bytes('x'.repeat(1_000));
    for (const count of [100, 2_000]) {
      const chunks = [bytes('{"jsonrpc":"2.0","method":"m","params":{"t":"'), ...Array.from({ length: count }, () => part), bytes('"}}\n')];
      const { copied, result } = countCopies(() => framesOf(chunks));
      expect(result).to.have.lengthOf(1);
      expect(copied).to.be.at.most(count * 1_000 + 100);
    }
  });
});
