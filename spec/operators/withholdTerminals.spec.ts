import { expect } from 'chai';
import { withholdTerminals, withoutTerminals } from '../../lib/operators/withholdTerminals.ts';
import { itFollowsItsSource } from '../support/mirrored.ts';
import { saidLine, stored } from '../support/serverEvents.ts';
import { marbles } from '../support/testScheduler.ts';

const terminal = '{"type":"terminal","terminalId":"t1"}';
const text = '{"type":"content","content":{"type":"text", "text":"terminal"}}';

function line(update: string): string {
  return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"h","update":${update}}}`;
}

function textOf(given: string): string {
  return withoutTerminals(stored(given)).text;
}

describe('withholdTerminals', () => {
  it('should treat every message of a chunk', marbles(({ cold, expectObservable }) => {
    const a = stored(line(`{"sessionUpdate":"tool_call","content":[${terminal}]}`));
    const b = stored(saidLine('x'));
    expectObservable(cold('-a-|', { a: [b, a] }).pipe(withholdTerminals())).toBe('-a-|', { a: [b, withoutTerminals(a)] });
  }));

  itFollowsItsSource(withholdTerminals, [stored(saidLine('x'))]);
});

describe('withoutTerminals', () => {
  it('should move terminals to _meta, and keep other content as it is written', () => {
    const before = `{"sessionUpdate":"tool_call_update","content":[ ${text} , ${terminal} ],"_meta":{"x":1.0}}`;
    const after = `{"sessionUpdate":"tool_call_update","content":[${text}],"_meta":{"x":1.0,"fountain.sandboxTerminals":[${terminal}]}}`;
    expect(textOf(line(before))).to.equal(line(after));
  });

  it('should leave an empty list when there was nothing else', () => {
    const before = `{"sessionUpdate":"tool_call","content":[${terminal},${terminal}]}`;
    const after = `{"sessionUpdate":"tool_call","content":[],"_meta":{"fountain.sandboxTerminals":[${terminal},${terminal}]}}`;
    expect(textOf(line(before))).to.equal(line(after));
  });

  it("should look into a permission request's tool call", () => {
    const request = (toolCall: string): string => `{"jsonrpc":"2.0","id":"1","method":"session/request_permission","params":{"toolCall":${toolCall},"options":[]}}`;
    expect(textOf(request(`{"content":[${terminal},${text}]}`))).to.equal(request(`{"content":[${text}],"_meta":{"fountain.sandboxTerminals":[${terminal}]}}`));
  });

  const untouched: readonly [string, string][] = [
    ['there is no terminal', line(`{"sessionUpdate":"tool_call","content":[ ${text} ]}`)],
    ['there is no content', line('{"sessionUpdate":"tool_call"}')],
    ['content is null', line('{"sessionUpdate":"tool_call","content":null}')],
    ['it is no tool call', line(`{"sessionUpdate":"plan","content":[${terminal}]}`)],
  ];
  for (const [name, given] of untouched) it(`should leave a message as it is when ${name}`, () => expect(textOf(given)).to.equal(given));
});
