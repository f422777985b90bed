import { expect } from 'chai';
import { of } from 'rxjs';
import { addressToClient } from '../../lib/operators/addressToClient.ts';
import type { JsonObject } from '../../lib/protocol/jsonrpc.ts';
import { itFollowsItsSource } from '../support/mirrored.ts';
import { saidLine, stored, updateLine } from '../support/serverEvents.ts';

/** Returns the lines for the client; the operator takes no time. */
function addressed(lines: readonly string[], capabilities: JsonObject = {}): string[] {
  const texts: string[] = [];
  of(lines.map(stored))
    .pipe(addressToClient('mine', () => capabilities))
    .subscribe((messages) => texts.push(...messages.map(({ text }) => text)));
  return texts;
}

describe('addressToClient', () => {
  it('should make every change that the machine boundary asks for, in one message too', () => {
    const call = { toolCallId: 'c', locations: [{ path: '/a' }], content: [{ type: 'terminal', terminalId: 't' }] };
    const lines = [updateLine('tool_call', call), updateLine('session_info_update', { title: ' A  b ' }), updateLine('notice')];
    const [toolCall, title] = addressed(lines).map((line) => JSON.parse(line) as unknown);
    expect(toolCall).to.have.nested.property('params.sessionId', 'mine');
    expect(toolCall).to.have.nested.property('params.update').that.deep.equals({
      sessionUpdate: 'tool_call',
      toolCallId: 'c',
      content: [],
      _meta: { 'fountain.sandboxLocations': call.locations, 'fountain.sandboxTerminals': call.content },
    });
    expect(title).to.have.nested.property('params.update.title', 'A b');
  });

  it('should leave out what the client may not get', () => {
    expect(addressed([updateLine('notice')])).to.have.lengthOf(0);
    expect(addressed([updateLine('notice')], { session: { notices: {} } })).to.have.lengthOf(1);
  });

  it('should pass anything else byte for byte, but for the session id', () => {
    const text = '{"jsonrpc":"2.0", "method":"session/update","params":{"sessionId":"h","x":1.0,"update":{"sessionUpdate":"a_kind_of_tomorrow","n":1e400,"2":0,"1":0}}}';
    expect(addressed([text])).to.deep.equal([text.replace('"h"', '"mine"')]);
  });

  itFollowsItsSource(() => addressToClient('mine', () => ({})), [stored(saidLine('x'))]);
});
