import { expect } from 'chai';
import { maxClientLineBytes, shortened, shortenedBytes, shortenLines } from '../../lib/operators/shortenLines.ts';
import type { JsonObject } from '../../lib/protocol/jsonrpc.ts';
import { itFollowsItsSource } from '../support/mirrored.ts';
import { questionLine, saidLine, stored, updateLine } from '../support/serverEvents.ts';
import { marbles } from '../support/testScheduler.ts';

interface Read {
  readonly params: { readonly sessionId: string; readonly update: JsonObject & { readonly _meta: JsonObject; readonly content: JsonObject } };
}

function read(text: string): Read {
  return JSON.parse(text) as Read;
}

describe('shortenLines', () => {
  it('should treat every message of a chunk', marbles(({ cold, expectObservable }) => {
    const a = stored(saidLine('x'.repeat(5_000)));
    const b = stored(saidLine('x'));
    expectObservable(cold('-a-|', { a: [a, b] }).pipe(shortenLines(4_000))).toBe('-a-|', { a: [...shortened(a, 4_000), b] });
  }));

  itFollowsItsSource(() => shortenLines(), [stored(saidLine('x'))]);

  it('should keep lines below the ten million bytes of the narrowest client, line end included', () => {
    const fits = stored(saidLine('x'.repeat(maxClientLineBytes - saidLine('').length - 1)));
    expect(shortened(fits, maxClientLineBytes)).to.deep.equal([fits]);
    expect(Buffer.byteLength(`${fits.text}\n`)).to.equal(9_999_999);
    const tooLong = shortened(stored(saidLine('x'.repeat(12_000_000))), maxClientLineBytes);
    expect(Buffer.byteLength(`${tooLong[0]!.text}\n`)).to.be.below(10_000_000);
  });
});

describe('shortened', () => {
  it('should leave a message that fits as it is, byte for byte', () => {
    const message = stored('{"jsonrpc":"2.0", "method":"session/update","params":{"update":{"n":1.0}}}');
    expect(shortened(message, 200)).to.deep.equal([message]);
  });

  it('should measure bytes and not characters', () => {
    const message = stored(saidLine('é'.repeat(600)));
    expect(message.text.length).to.be.below(1_000);
    expect(shortened(message, 1_000)[0]!.text).not.to.equal(message.text);
  });

  it('should cut the longest strings only, tell how long they were, and mark the message', () => {
    const message = stored(updateLine('tool_call_update', { toolCallId: 'c', title: 'make test', rawOutput: { out: 'y'.repeat(30_000), code: 0 }, _meta: { x: 1 } }));
    const { update } = read(shortened(message, 20_000)[0]!.text).params;
    expect(update).to.include({ toolCallId: 'c', title: 'make test' });
    expect(update['rawOutput']).to.deep.equal({ out: `${'y'.repeat(10_000)}… [30000 characters]`, code: 0 });
    expect(update._meta).to.deep.equal({ x: 1, [shortenedBytes]: Buffer.byteLength(message.text) });
  });

  it('should not cut a character in two', () => {
    const message = stored(saidLine(`x${'💡'.repeat(8_000)}`));
    const { content } = read(shortened(message, 20_000)[0]!.text).params.update;
    expect((content['text'] as string).isWellFormed()).to.equal(true);
  });

  it('should put words in the place of an image that is too large', () => {
    const message = stored(updateLine('agent_message_chunk', { content: { type: 'image', mimeType: 'image/png', data: 'A'.repeat(30_000) } }));
    expect(read(shortened(message, 20_000)[0]!.text).params.update.content).to.deep.equal({ type: 'text', text: '[image/png, too large to show]' });
  });

  it("should mark a permission request's tool call", () => {
    const message = stored(questionLine('7', [{ optionId: 'go', name: 'n'.repeat(30_000), kind: 'allow_once' }]));
    const [short] = shortened(message, 20_000);
    expect(short).to.include({ method: 'session/request_permission', requestId: '7' });
    const { params } = JSON.parse(short!.text) as { params: { toolCall: JsonObject } };
    expect(params.toolCall['_meta']).to.deep.equal({ [shortenedBytes]: Buffer.byteLength(message.text) });
  });

  it('should leave a message out when cutting its strings is not enough', () => {
    expect(shortened(stored(updateLine('plan', { entries: Array.from({ length: 1_000 }, (_, index) => index) })), 1_000)).to.deep.equal([]);
  });
});
