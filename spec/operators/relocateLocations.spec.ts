import { expect } from 'chai';
import fc from 'fast-check';
import { relocateLocations, sandboxLocations, withRelocatedLocations } from '../../lib/operators/relocateLocations.ts';
import type { JsonObject } from '../../lib/protocol/jsonrpc.ts';
import type { StoredMessage } from '../../lib/protocol/stored.ts';
import { itFollowsItsSource } from '../support/mirrored.ts';
import { holds } from '../support/properties.ts';
import { harnessSession, saidLine, stored, updateLine } from '../support/serverEvents.ts';
import { marbles } from '../support/testScheduler.ts';

const locations = [{ path: '/home/sprite/app/a.ts', line: 3 }];

function textOf(text: string): string {
  return withRelocatedLocations(stored(text)).text;
}

function line(update: string): string {
  return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"h","update":${update}}}`;
}

function question(toolCall: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id: '1.a', method: 'session/request_permission', params: { sessionId: harnessSession, toolCall, options: [] } });
}

/** Returns the tool call that a client reads. */
function toolCallIn(text: string): JsonObject {
  const { params } = JSON.parse(text) as { params: { update?: JsonObject; toolCall?: JsonObject } };
  return params.update ?? params.toolCall ?? {};
}

describe('relocateLocations', () => {
  it('should move the locations of every message of a chunk', marbles(({ cold, expectObservable }) => {
    const [a, b] = [stored(updateLine('tool_call', { locations })), stored(saidLine('x'))] as [StoredMessage, StoredMessage];
    expectObservable(cold('-a--b-|', { a: [a, b], b: [b] }).pipe(relocateLocations())).toBe('-a--b-|', { a: [withRelocatedLocations(a), b], b: [b] });
  }));

  itFollowsItsSource(relocateLocations, [stored(saidLine('x'))]);
});

describe('withRelocatedLocations', () => {
  const cases: readonly [string, string, string][] = [
    ['of a tool call', '{"sessionUpdate":"tool_call","locations":[1.0]}', '{"sessionUpdate":"tool_call","_meta":{"fountain.sandboxLocations":[1.0]}}'],
    ['of an update of one', '{"locations":[],"sessionUpdate":"tool_call_update"}', '{"sessionUpdate":"tool_call_update","_meta":{"fountain.sandboxLocations":[]}}'],
    ['beside other keys of _meta', '{"sessionUpdate":"tool_call","_meta":{"x":1e2},"locations":[1]}', '{"sessionUpdate":"tool_call","_meta":{"x":1e2,"fountain.sandboxLocations":[1]}}'],
    ['in place of a _meta that is null', '{"sessionUpdate":"tool_call","_meta":null,"locations":[1]}', '{"sessionUpdate":"tool_call","_meta":{"fountain.sandboxLocations":[1]}}'],
    ['that are repeated', '{"sessionUpdate":"tool_call","locations":[1],"locations":[2]}', '{"sessionUpdate":"tool_call","_meta":{"fountain.sandboxLocations":[2]}}'],
    ['that are no list', '{"sessionUpdate":"tool_call","locations":{"path":"/a"}}', '{"sessionUpdate":"tool_call","_meta":{"fountain.sandboxLocations":{"path":"/a"}}}'],
  ];
  for (const [name, before, after] of cases) it(`should move locations ${name}`, () => expect(textOf(line(before))).to.equal(line(after)));

  it("should move the locations of a permission request's tool call", () => {
    expect(toolCallIn(textOf(question({ toolCallId: 'c', locations })))).to.deep.equal({ toolCallId: 'c', _meta: { [sandboxLocations]: locations } });
  });

  const untouched: readonly [string, string][] = [
    ['another kind of update has them', line('{"sessionUpdate":"plan","locations":[1]}')],
    ['there are none', line('{ "sessionUpdate" : "tool_call" }')],
    ['they are null', line('{"sessionUpdate":"tool_call","locations":null}')],
    ['only its content has them', line('{"sessionUpdate":"tool_call","content":[{"locations":[1]}],"rawInput":{"locations":[2]}}')],
    ['another instance moved them already', line('{"sessionUpdate":"tool_call","_meta":{"fountain.sandboxLocations":[1]}}')],
  ];
  for (const [name, text] of untouched) it(`should leave a message as it is when ${name}`, () => expect(textOf(text)).to.equal(text));

  it('should lose locations nowhere, and nothing else, whatever the tool call', () => {
    const call = fc.record(
      { title: fc.string(), locations: fc.oneof(fc.array(fc.record({ path: fc.string(), line: fc.nat() })), fc.jsonValue()), rawInput: fc.jsonValue(), _meta: fc.oneof(fc.constant(null), fc.dictionary(fc.string(), fc.jsonValue())) },
      { requiredKeys: [] },
    );
    const messages = fc.oneof(
      fc.tuple(call, fc.constantFrom('tool_call', 'tool_call_update')).map(([one, sessionUpdate]) => [{ ...one, sessionUpdate }, line(JSON.stringify({ ...one, sessionUpdate }))] as const),
      call.map((one) => [one, question(one)] as const),
    );
    holds(
      fc.property(messages, ([before, text]) => {
        const { _meta: meta, locations: left, ...rest } = toolCallIn(textOf(text)) as JsonObject & { _meta?: JsonObject; locations?: unknown };
        const { _meta: metaBefore, locations: named, ...restBefore } = JSON.parse(JSON.stringify(before)) as JsonObject & { _meta?: JsonObject; locations?: unknown };
        expect(left ?? null).to.equal(null);
        expect(rest).to.deep.equal(restBefore);
        if ((named ?? null) === null) expect(meta).to.deep.equal(metaBefore);
        else expect(meta).to.deep.equal({ ...metaBefore, [sandboxLocations]: named });
      }),
      500,
    );
  });
});
