import { expect } from 'chai';
import { blocksOf } from '../../../lib/instance/log/blocks.ts';

function acp(update: unknown): Parameters<typeof blocksOf>[0] {
  return { kind: 'output', stream: 'acp', data: JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's', update } }) };
}

describe('blocksOf', () => {
  it('should show text and thinking', () => {
    expect(blocksOf(acp({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'hi' } }))).to.deep.equal([{ kind: 'text', body: 'hi' }]);
    expect(blocksOf(acp({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'hm' } }))).to.deep.equal([{ kind: 'thinking', body: 'hm' }]);
  });

  it('should show a tool call, its first location or a preview of its input', () => {
    const call = { sessionUpdate: 'tool_call', toolCallId: 't', title: 'Read', kind: 'read', status: 'pending' };
    expect(blocksOf(acp({ ...call, locations: [{ path: '/a' }] }))).to.deep.equal([{ kind: 'tool_use', id: 't', name: 'Read', summary: '/a', body: '' }]);
    const [block] = blocksOf(acp({ ...call, title: '', rawInput: { command: 'x'.repeat(100), n: 1, rest: 'y'.repeat(100) } }));
    expect(block).to.include({ name: 'read' });
    expect(block!['summary']).to.equal(`command=${'x'.repeat(40)} n=1 rest=${'y'.repeat(40)}`);
    expect(blocksOf(acp({ ...call, kind: undefined, title: undefined }))[0]).to.include({ name: 'tool' });
  });

  it('should show a result only when the call has ended', () => {
    const update = { sessionUpdate: 'tool_call_update', toolCallId: 't', content: [{ type: 'content', content: { type: 'text', text: 'out' } }] };
    expect(blocksOf(acp({ ...update, status: 'in_progress' }))).to.deep.equal([]);
    expect(blocksOf(acp({ ...update, status: 'completed' }))).to.deep.equal([{ kind: 'tool_result', tool_id: 't', body: 'out', error: false }]);
    expect(blocksOf(acp({ ...update, status: 'failed' }))[0]).to.include({ error: true });
  });

  it('should show a question, and what it does not know as it is', () => {
    const data = JSON.stringify({ id: '1.a', method: 'session/request_permission', params: { toolCall: { title: 'rm' }, options: [{ optionId: 'o' }] } });
    expect(blocksOf({ kind: 'output', stream: 'acp', data })).to.deep.equal([{ kind: 'permission_request', request_id: '1.a', name: 'rm', summary: '', options: [{ optionId: 'o' }] }]);
    expect(blocksOf({ kind: 'output', stream: 'acp', data: 'no json' })[0]).to.include({ kind: 'raw', body: 'no json' });
    expect(blocksOf({ kind: 'output', stream: 'stderr', data: 'x' })).to.deep.equal([{ kind: 'raw', body: 'x', summary: 'stderr' }]);
    expect(blocksOf({ kind: 'stage', stream: '', data: '{}' })).to.deep.equal([]);
  });
});
