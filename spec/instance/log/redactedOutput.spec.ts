import { expect } from 'chai';
import fc from 'fast-check';
import { redactMessages, redactText } from '../../../lib/instance/log/redactedOutput.ts';
import type { RedactedOutput } from '../../../lib/instance/log/redactedOutput.ts';
import { Redactor } from '../../../lib/instance/log/redactor.ts';

const secret = 'top-secret-value';

function all(output: RedactedOutput, pieces: readonly string[]): string[] {
  return [...pieces.flatMap((piece) => output.push(piece)), ...output.end()];
}

/** Cuts a text at any places. */
const cut = (text: string): fc.Arbitrary<string[]> =>
  fc.uniqueArray(fc.integer({ min: 1, max: text.length - 1 })).map((places) => {
    const sorted = [0, ...places.sort((a, b) => a - b), text.length];
    return sorted.slice(1).map((end, index) => text.slice(sorted[index], end));
  });

const text = `before ${secret} top-secret-valve ${secret}${secret} after top`;
const clean = 'before [REDACTED] top-secret-valve [REDACTED][REDACTED] after top';

describe('redactText', () => {
  it('should give the same text however it is cut', () => {
    fc.assert(
      fc.property(cut(text), (pieces) => {
        expect(all(redactText(new Redactor([secret])), pieces).join('')).to.equal(clean);
      }),
    );
  });

  it('should pass pieces on as they are when there are no secrets', () => {
    expect(all(redactText(new Redactor([])), ['a', '', 'b'])).to.deep.equal(['a', '', 'b']);
  });
});

describe('redactMessages', () => {
  const chunk = (words: string, kind = 'agent_message_chunk'): string =>
    JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's', update: { sessionUpdate: kind, content: { type: 'text', text: words } } } });
  const wordsOf = (line: string): string => (JSON.parse(line) as { params: { update: { content: { text: string } } } }).params.update.content.text;

  it('should give the same words however the chunks are cut', () => {
    fc.assert(
      fc.property(cut(text), (pieces) => {
        const lines = all(redactMessages(new Redactor([secret])), pieces.map((piece) => chunk(piece)));
        expect(lines.map(wordsOf).join('')).to.equal(clean);
      }),
    );
  });

  it('should not change a chunk that is none of its business', () => {
    const line = chunk('hello').replace('{"type"', '{ "type"');
    expect(redactMessages(new Redactor([secret])).push(line)).to.deep.equal([line]);
  });

  it('should put what it held back before the next message of another kind', () => {
    const output = redactMessages(new Redactor([secret]));
    expect(output.push(chunk('so: top-'))).to.deep.equal([chunk('so: ')]);
    const other = '{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call"}}}';
    expect(output.push(other)).to.deep.equal([chunk('top-'), other]);
    expect(output.push(chunk('top'))).to.deep.equal([]);
    expect(output.push(chunk('x', 'agent_thought_chunk'))).to.deep.equal([chunk('top'), chunk('x', 'agent_thought_chunk')]);
    expect(output.end()).to.deep.equal([]);
  });
});
