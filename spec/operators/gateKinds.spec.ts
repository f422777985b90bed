import { expect } from 'chai';
import { gated, gateKinds } from '../../lib/operators/gateKinds.ts';
import type { JsonObject } from '../../lib/protocol/jsonrpc.ts';
import { itFollowsItsSource } from '../support/mirrored.ts';
import { questionLine, saidLine, stored, updateLine } from '../support/serverEvents.ts';
import { marbles } from '../support/testScheduler.ts';

const notice = stored(updateLine('notice'));
const said = stored(saidLine('x'));

describe('gateKinds', () => {
  it('should ask for the capabilities with each chunk, since a client may declare them late', marbles(({ cold, expectObservable }) => {
    let capabilities: JsonObject = {};
    const declare = (): JsonObject => {
      const now = capabilities;
      capabilities = { session: { notices: {} } };
      return now;
    };
    const message$ = cold('-a--a-|', { a: [notice] });
    expectObservable(message$.pipe(gateKinds(declare))).toBe('-b--a-|', { a: [notice], b: [] });
  }));

  itFollowsItsSource(() => gateKinds(() => ({})), [said]);
});

describe('gated', () => {
  const gates: readonly [string, JsonObject][] = [
    ['notice', { session: { notices: {} } }],
    ['compaction_update', { session: { compaction: {} } }],
    ['compaction_summary_chunk', { session: { compaction: true } }],
  ];
  for (const [kind, capabilities] of gates) {
    it(`should pass ${kind} when the client declares it, and only then`, () => {
      const message = stored(updateLine(kind));
      expect(gated(message, capabilities)).to.deep.equal([message]);
      for (const none of [{}, { session: {} }, { session: null }, { session: { notices: null, compaction: false } }, { notices: {}, compaction: {} }]) {
        expect(gated(message, none)).to.deep.equal([]);
      }
    });
  }

  for (const message of [said, stored(questionLine('1')), stored(updateLine('a_kind_of_tomorrow')), stored(updateLine('toString')), stored(updateLine('plan'))]) {
    it(`should pass ${message.text.slice(17, 120)}… to every client`, () => expect(gated(message, {})).to.deep.equal([message]));
  }

  const option = '{"id":"m", "type":"select"}';
  const text = (options: string): string => `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"h","update":{"sessionUpdate":"config_option_update","configOptions":${options},"n":1.0}}}`;

  it('should take boolean options out, and leave the others as they are written, when the client does not declare them', () => {
    const message = stored(text(`[ {"id":"b","type":"boolean"} , ${option} ]`));
    expect(gated(message, {}).map((one) => one.text)).to.deep.equal([text(`[${option}]`)]);
    expect(gated(message, { session: { configOptions: { boolean: {} } } })).to.deep.equal([message]);
  });

  it('should leave options without a boolean one as they are', () => {
    const message = stored(text(`[ ${option} ]`));
    expect(gated(message, {})).to.deep.equal([message]);
  });
});
