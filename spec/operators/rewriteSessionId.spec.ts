import { expect } from 'chai';
import fc from 'fast-check';
import { rewriteSessionId, withSessionId } from '../../lib/operators/rewriteSessionId.ts';
import { setMember } from '../../lib/protocol/jsonText.ts';
import type { StoredMessage } from '../../lib/protocol/stored.ts';
import { writtenObjects, writtenValues } from '../support/jsonTexts.ts';
import { itFollowsItsSource } from '../support/mirrored.ts';
import { holds } from '../support/properties.ts';
import { harnessSession, questionLine, saidLine, stored } from '../support/serverEvents.ts';
import { marbles } from '../support/testScheduler.ts';

const mine = 'c0ffee00-0000-4000-8000-000000000001';

/** The start that has a short way, and starts that nearly have it. */
const starts = fc.constantFrom(
  '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":',
  '{"jsonrpc":"2.0","method":"session/update","params":{ "sessionId":',
  '{"jsonrpc": "2.0","method":"session/update","params":{"sessionId" :',
  '{"method":"session/update","jsonrpc":"2.0","params":{"x":1,"sessionId":',
);
const ids = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', 'a"b', 'ends in \\', '\\"', 'h"sessionId":"x"')).map((id) => JSON.stringify(id));
const lines = fc
  .tuple(starts, ids, fc.constantFrom('sessionId', 'other'), writtenValues, writtenObjects)
  .map(([start, id, key, value, { text }]) => `${start}${id},"update":${text},"${key}":${value}}}`);

function message(text: string): StoredMessage {
  return { text, method: 'session/update', params: {} };
}

describe('rewriteSessionId', () => {
  it('should address each message of a chunk, and no other', marbles(({ cold, expectObservable }) => {
    const [a, b, c] = [stored(saidLine('one')), stored(questionLine('7')), stored(saidLine('three'))] as [StoredMessage, StoredMessage, StoredMessage];
    const message$ = cold('-a--b-|', { a: [a, b], b: [c] });
    const expected = '     -a--b-|';
    expectObservable(message$.pipe(rewriteSessionId(mine))).toBe(expected, { a: [withSessionId(a, mine), withSessionId(b, mine)], b: [withSessionId(c, mine)] });
  }));

  itFollowsItsSource(() => rewriteSessionId(mine), [stored(saidLine('one'))]);
});

describe('withSessionId', () => {
  it('should change the id and nothing else', () => {
    const text = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"h","update":{"n":1.0,"sessionUpdate":"plan"}}}';
    expect(withSessionId(message(text), mine).text).to.equal(text.replace('"h"', `"${mine}"`));
  });

  it('should put the id in where there is none', () => {
    expect(withSessionId(message('{"method":"session/update","params":{}}'), mine).text).to.equal(`{"method":"session/update","params":{"sessionId":"${mine}"}}`);
  });

  it("should leave no trace of the harness's id in what a parser reads", () => {
    for (const line of [saidLine('hello'), questionLine('7')]) {
      expect(JSON.stringify(JSON.parse(withSessionId(stored(line), mine).text))).to.contain(mine).and.not.contain(harnessSession);
    }
  });

  it('should do the same the short way and the long way, whatever the message', () => {
    holds(
      fc.property(lines, fc.constantFrom(mine, 'a "quoted" \\ id'), (text, id) => {
        expect(withSessionId(message(text), id).text).to.equal(setMember(text, ['params'], 'sessionId', JSON.stringify(id)));
      }),
      1000,
    );
  });
});
