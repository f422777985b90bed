import { expect } from 'chai';
import { normalizeTitles, withNormalTitle } from '../../lib/operators/normalizeTitles.ts';
import { itFollowsItsSource } from '../support/mirrored.ts';
import { saidLine, stored } from '../support/serverEvents.ts';
import { marbles } from '../support/testScheduler.ts';

function line(update: string): string {
  return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"h","update":${update}}}`;
}

function info(rest: string): string {
  return line(`{"sessionUpdate":"session_info_update"${rest}}`);
}

describe('normalizeTitles', () => {
  it('should treat every message of a chunk', marbles(({ cold, expectObservable }) => {
    const a = stored(info(',"title":" x "'));
    const b = stored(saidLine(' x '));
    expectObservable(cold('-a-|', { a: [a, b] }).pipe(normalizeTitles())).toBe('-a-|', { a: [withNormalTitle(a), b] });
  }));

  itFollowsItsSource(normalizeTitles, [stored(saidLine('x'))]);
});

describe('withNormalTitle', () => {
  const cases: readonly [string, string, string][] = [
    ['collapse a title', ',"title":" Fix\\n\\u0000 login ","n":1.0', ',"title":"Fix login","n":1.0'],
    ['make a blank title null', ',"title":" \\u0000\\t"', ',"title":null'],
    ['make an empty title null', ',"title":""', ',"title":null'],
    ['leave a title out when it is no string', ',"title":7,"n":1.0', ',"n":1.0'],
    ['treat a title that is repeated', ',"title":"a","title":" b "', ',"title":"b","title":"b"'],
    ['leave a normal title', ',"title" : "Fix \\u0061 login"', ',"title" : "Fix \\u0061 login"'],
    ['leave null', ',"title":null', ',"title":null'],
    ['leave a title that is omitted', ',"updatedAt":"2026-09-03T08:30:00Z"', ',"updatedAt":"2026-09-03T08:30:00Z"'],
  ];
  for (const [name, before, after] of cases) it(`should ${name}`, () => expect(withNormalTitle(stored(info(before))).text).to.equal(info(after)));

  it('should cut to 120 characters', () => {
    const { text } = withNormalTitle(stored(info(`,"title":"${'é'.repeat(500)}"`)));
    expect(text).to.equal(info(`,"title":"${'é'.repeat(120)}"`));
  });

  it('should leave the title of any other kind of update', () => {
    const text = line('{"sessionUpdate":"tool_call","title":"  make  test "}');
    expect(withNormalTitle(stored(text)).text).to.equal(text);
  });
});
