import { expect } from 'chai';
import type { JsonObject } from '../../../lib/protocol/jsonrpc.ts';
import { contentOf, nameOf } from '../support/eventReader.ts';
import { cleanUp, TestInstance } from '../support/testInstance.ts';
import { until } from '../support/until.ts';

describe('PermissionRequests', () => {
  afterEach(cleanUp);

  it('should store the question under an id of its own, then say that it waits, when the verdict is ask', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation({ permission_policy: { execute: 'ask' } });
    await test.prompt(id, [{ say: 'may I?' }, { ask: { title: 'make test', kind: 'execute' } }, { say: ' thanks' }]);
    const started = await test.event(id, 'request/started');
    const line = contentOf((await test.events(id)).filter(({ stream }) => stream === 'acp').at(-1)!);
    expect(line['method']).to.equal('session/request_permission');
    expect(line['id']).to.match(/^0\.[0-9a-f]{16}$/);
    expect(started.turn_id).to.match(/^[0-9a-f-]{36}$/);
    const { request_id: requestId, ...rest } = contentOf(started);
    expect(requestId).to.equal(line['id']);
    expect(rest).to.deep.equal({ tool: 'make test', options: (line['params'] as JsonObject)['options'], timeout_ms: 300000 });
    expect(((await test.show(id))['pending_requests'] as JsonObject[])[0]).to.include({ request_id: requestId });

    const wrong = await answer(test, id, requestId, 'maybe');
    expect(wrong.status).to.equal(422);
    expect(wrong.body['error']).to.equal('unknown_option');
    expect((await test.post(`/api/conversations/${id}/requests/${String(requestId)}`, {})).status).to.equal(422);
    const right = await answer(test, id, requestId, 'yes');
    expect(right.status).to.equal(200);
    expect(right.body).to.deep.equal({ ok: true });
    const late = await answer(test, id, requestId, 'no');
    expect(late.status).to.equal(409);
    expect(late.body['error']).to.equal('permission_request_resolved');

    await test.terminal(id);
    expect(await test.said(id)).to.equal('may I?asked:selected:yes thanks');
    expect(contentOf(await test.event(id, 'request/done'))).to.deep.equal({ request_id: requestId, outcome: 'answered', option_id: 'yes' });
    expect((await test.names(id)).slice(2)).to.deep.equal(['turn/started', 'acp', 'acp', 'request/started', 'request/done', 'acp', 'acp', 'turn/done']);
  });

  it('should let the first of many answers win', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation({ permission_policy: { default: 'ask' } });
    await test.prompt(id, [{ ask: {} }]);
    const requestId = contentOf(await test.event(id, 'request/started'))['request_id'];
    const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => answer(test, id, requestId, index % 2 === 0 ? 'yes' : 'no')));
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array<number>(9).fill(409)]);
    await test.terminal(id);
    expect((await test.names(id)).filter((name) => name === 'request/done')).to.have.length(1);
  });

  it('should deny when nobody answers in time, and the turn goes on', async () => {
    const test = await TestInstance.start({ permissionTimeoutSeconds: 0.1 });
    const id = await test.conversation({ permission_policy: { default: 'ask' } });
    const end = await test.turn(id, [{ ask: {} }]);
    expect(end.state).to.equal('done');
    expect(await test.said(id)).to.equal('asked:selected:no');
    expect(contentOf(await test.event(id, 'request/done'))).to.include({ outcome: 'timeout', option_id: null });
  });

  it('should end the request before the turn when the turn is interrupted', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation({ permission_policy: { default: 'ask' } });
    await test.prompt(id, [{ ask: {} }, { wait: 1 }]);
    const requestId = contentOf(await test.event(id, 'request/started'))['request_id'];
    await test.post(`/api/conversations/${id}/interrupt`);
    const stages = (await test.events(id)).filter(({ kind }) => kind === 'stage').map(nameOf);
    expect(stages.slice(-2)).to.deep.equal(['request/done', 'turn/interrupted']);
    expect(contentOf(await test.event(id, 'request/done'))['outcome']).to.equal('turn_ended');
    expect((await answer(test, id, requestId, 'yes')).status).to.equal(409);
  });

  it('should hold two requests at once', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation({ permission_policy: { default: 'ask' } });
    await test.prompt(id, [{ askAside: { title: 'a' } }, { ask: { title: 'b' } }, { sleep: 30 }]);
    const started = await until(async () => {
      const found = (await test.events(id)).filter((event) => nameOf(event) === 'request/started');
      return found.length === 2 && found;
    }, 'two requests');
    expect(started.map((event) => contentOf(event)['tool'])).to.deep.equal(['a', 'b']);
    for (const event of started.reverse()) expect((await answer(test, id, contentOf(event)['request_id'], 'yes')).status).to.equal(200);
    await test.terminal(id);
    expect((await test.names(id)).filter((name) => name === 'request/done')).to.have.length(2);
  });

  it('should end the request when the harness withdraws it', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation({ permission_policy: { default: 'ask' } });
    await test.prompt(id, [{ askAside: {} }, { sleep: 100 }, { withdraw: 1 }, { wait: 1 }]);
    expect(contentOf(await test.event(id, 'request/done'))['outcome']).to.equal('turn_ended');
  });

  for (const [policy, kind, said] of [
    [{}, 'execute', 'yes'],
    [{ default: 'auto_deny' }, 'execute', 'no'],
    [{ execute: 'auto_deny' }, 'read', 'yes'],
    [{ execute: 'auto_deny' }, 'execute', 'no'],
  ] as const) {
    it(`should answer ${said} and store nothing when the policy is ${JSON.stringify(policy)} and the kind ${kind}`, async () => {
      const test = await TestInstance.start();
      const id = await test.conversation({ permission_policy: policy });
      await test.turn(id, [{ ask: { kind } }]);
      expect(await test.said(id)).to.equal(`asked:selected:${said}`);
      expect((await test.names(id)).filter((name) => name === 'acp' || name.startsWith('request/'))).to.deep.equal(['acp']);
    });
  }

  it('should obey an agent that was made stricter while its conversation goes on', async () => {
    const test = await TestInstance.start();
    const agentId = await test.agent();
    const id = await test.conversation({ agent_id: agentId });
    await test.turn(id, [{ ask: {} }]);
    await test.call('PATCH', `/api/agents/${agentId}`, { permission_policy: { execute: 'auto_deny' } });
    await test.turn(id, [{ ask: {} }]);
    expect(await test.said(id)).to.equal('asked:selected:yesasked:selected:no');
  });

  it('should keep the rules of an agent that was deleted', async () => {
    const test = await TestInstance.start();
    const agentId = await test.agent();
    const id = await test.conversation({ agent_id: agentId });
    await test.turn(id, 'under the old rules');
    await test.call('PATCH', `/api/agents/${agentId}`, { permission_policy: { execute: 'auto_deny' } });
    await test.call('DELETE', `/api/agents/${agentId}`);
    expect(await test.show(id)).to.include({ agent_id: null });
    await test.turn(id, [{ ask: {} }]);
    expect(await test.said(id)).to.match(/asked:selected:no$/);
  });

  it('should not let the agent answer for itself', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation({ permission_policy: { default: 'ask' } });
    await test.prompt(id, [{ env: 'FOUNTAIN_CONVERSATION_ID' }, { ask: {} }]);
    const requestId = contentOf(await test.event(id, 'request/started'))['request_id'];
    const key = await test.instance.mintKey('sprite');
    const { status, body } = await test.call('POST', `/api/conversations/${id}/requests/${String(requestId)}`, { option_id: 'yes' }, { authorization: `Bearer ${key}` });
    expect(status).to.equal(403);
    expect(body['error']).to.equal('sprite_may_not_answer');
    expect(await test.said(id)).to.equal(`FOUNTAIN_CONVERSATION_ID=${id}`);
  });
});

function answer(test: TestInstance, id: string, requestId: unknown, optionId: string): ReturnType<TestInstance['post']> {
  return test.post(`/api/conversations/${id}/requests/${encodeURIComponent(String(requestId))}`, { option_id: optionId });
}
