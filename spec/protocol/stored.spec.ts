import { expect } from 'chai';
import type { ServerEvent } from '../../lib/protocol/fountain.ts';
import { isMetadata, readStored, toolCallOf, updateKind } from '../../lib/protocol/stored.ts';

function stored(data: string): ServerEvent {
  return { id: 1, kind: 'output', stream: 'acp', data, stage: 'turn', state: '', turn_id: 't' };
}

function update(kind: unknown, more: object = {}): string {
  return JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 'h', update: { sessionUpdate: kind, ...more } } });
}

function request(id: string, params = '{"sessionId":"h","toolCall":{"toolCallId":"c"},"options":[]}'): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"session/request_permission","params":${params}}`;
}

describe('readStored', () => {
  it('should return the text as it came, without the line end around it', () => {
    const text = '{"jsonrpc":"2.0", "method":"session/update", "params":{"n":1.0}}';
    expect(readStored(stored(` ${text}\n`))!.text).to.equal(text);
  });

  it('should put a message on one line when it came on several', () => {
    const message = readStored(stored('{"method":"session/update",\r\n"params":\n{"t":"a\\nb"}}'))!;
    expect(message.text).to.equal('{"method":"session/update", "params": {"t":"a\\nb"}}');
  });

  const ids: readonly [string, string][] = [
    ['"3.9f1c20b7aa54e0d1"', '3.9f1c20b7aa54e0d1'],
    ['7', '7'],
    ['7.50', '7.50'],
    ['12345678901234567890', '12345678901234567890'],
    ['"\\u0061"', 'a'],
    ['null', 'null'],
  ];
  for (const [id, answerId] of ids) {
    it(`should name a permission request ${answerId} for the answer route when its id is ${id}`, () => {
      expect(readStored(stored(request(id)))!.requestId).to.equal(answerId);
    });
  }

  const others: readonly [string, string][] = [
    ['text that is no JSON', 'plain words'],
    ['an array', '[]'],
    ['another method', '{"jsonrpc":"2.0","method":"fs/read_text_file","id":1,"params":{}}'],
    ['an answer', '{"jsonrpc":"2.0","id":1,"result":{}}'],
    ['a permission request without an id', '{"jsonrpc":"2.0","method":"session/request_permission","params":{}}'],
    ['an update that wants an answer', '{"jsonrpc":"2.0","id":4,"method":"session/update","params":{}}'],
    ['params that are no object', '{"jsonrpc":"2.0","method":"session/update","params":[1]}'],
  ];
  for (const [name, data] of others) it(`should return nothing when the line is ${name}`, () => expect(readStored(stored(data))).to.equal(undefined));
});

describe('updateKind', () => {
  it('should return the kind, and nothing for a permission request or where none is told', () => {
    expect(updateKind(readStored(stored(update('plan')))!)).to.equal('plan');
    expect(updateKind(readStored(stored(update(7)))!)).to.equal('');
    expect(updateKind(readStored(stored(request('1', '{"update":{"sessionUpdate":"plan"}}')))!)).to.equal('');
  });
});

describe('isMetadata', () => {
  const kinds: readonly [string, boolean][] = [
    ['session_info_update', true],
    ['available_commands_update', true],
    ['current_mode_update', true],
    ['agent_message_chunk', false],
    ['tool_call', false],
    ['a_kind_of_tomorrow', false],
  ];
  for (const [kind, expected] of kinds) it(`should be ${expected} for ${kind}`, () => expect(isMetadata(readStored(stored(update(kind)))!)).to.equal(expected));
});

describe('toolCallOf', () => {
  it('should find the tool call of both kinds of update and of a permission request', () => {
    expect(toolCallOf(readStored(stored(update('tool_call', { toolCallId: 'c' })))!)!.path).to.deep.equal(['params', 'update']);
    expect(toolCallOf(readStored(stored(update('tool_call_update', { toolCallId: 'c' })))!)!.toolCall).to.include({ toolCallId: 'c' });
    expect(toolCallOf(readStored(stored(request('1')))!)).to.deep.equal({ path: ['params', 'toolCall'], toolCall: { toolCallId: 'c' } });
  });

  it('should return nothing when a message speaks of none', () => {
    expect(toolCallOf(readStored(stored(update('plan')))!)).to.equal(undefined);
    expect(toolCallOf(readStored(stored(request('1', '{"toolCall":null}')))!)).to.equal(undefined);
  });
});
