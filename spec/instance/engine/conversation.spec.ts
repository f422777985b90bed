import { expect } from 'chai';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { contentOf, nameOf } from '../support/eventReader.ts';
import { isAlive } from '../support/isAlive.ts';
import { cleanUp, saidIn, TestInstance } from '../support/testInstance.ts';
import { until } from '../support/until.ts';

describe('Conversation', () => {
  afterEach(cleanUp);

  describe('prompt', () => {
    it('should run a turn and publish its events in order when the conversation is idle', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      await test.event(id, 'provision/done');
      const answer = await test.submit(id, [{ think: 'hm' }, { say: 'one ' }, { say: 'two' }], { client_request_id: 'plan-1' });
      expect(answer.status).to.equal(200);
      expect(answer.body).to.deep.equal({ status: 'queued', client_request_id: 'plan-1' });
      const end = await test.terminal(id);
      const events = await test.events(id);
      expect(events.map(nameOf)).to.deep.equal(['provision/started', 'provision/done', 'turn/started', 'acp', 'acp', 'acp', 'turn/done']);
      expect(saidIn(events)).to.equal('one two');
      const started = events[2]!;
      const turnId = String(started.turn_id);
      expect(contentOf(started)).to.deep.equal({ turn_id: turnId, turn_number: 1, mode: 'run', client_request_id: 'plan-1' });
      expect(contentOf(end)).to.deep.equal({ turn_id: turnId, turn_number: 1, stop_reason: 'end_turn' });
      expect(events.slice(2).every((event) => event.turn_id === turnId)).to.equal(true);
      const { list } = await test.get(`/api/conversations/${id}/turns`);
      expect(list).to.have.length(1);
      expect(list[0]).to.include({ id: turnId, turn_number: 1, status: 'completed', client_request_id: 'plan-1', exit_code: null, image_count: 0 });
      expect(await test.show(id)).to.include({ status: 'idle', turn_count: 1 });
    });

    it('should have turn/started on the log and the row running before it answers', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      await test.event(id, 'provision/done');
      await test.prompt(id, [{ wait: 1 }]);
      expect(await test.names(id)).to.include('turn/started');
      expect((await test.get(`/api/conversations/${id}/turns`)).list[0]).to.include({ status: 'running' });
      expect(await test.show(id)).to.include({ status: 'running' });
    });

    it('should hold one prompt and refuse the next when the sandbox is still provisioned', async () => {
      const test = await TestInstance.start();
      const environment = await test.post('/api/environments', { name: 'slow', setup_script: 'while [ ! -e go ]; do sleep 0.02; done' });
      const agentId = await test.agent({ environment_id: environment.data['id'] });
      const id = await test.conversation({ agent_id: agentId });
      await test.event(id, 'setup/started');
      expect((await test.submit(id, 'first', { client_request_id: 'a' })).status).to.equal(200);
      const second = await test.submit(id, 'second');
      expect(second.status).to.equal(400);
      expect(second.body['error']).to.equal('conversation_busy');
      expect((await test.get(`/api/conversations/${id}/turns`)).list.map((turn) => turn['status'])).to.deep.equal(['pending']);
      const sandbox = String((await test.show(id))['sandbox_id']);
      await writeFile(`${test.instance.dataDir}/sandboxes/${sandbox}/home/go`, '');
      await test.terminal(id);
      expect(await test.names(id)).to.deep.equal(['provision/started', 'setup/started', 'setup/done', 'provision/done', 'turn/started', 'acp', 'turn/done']);
      expect(await test.said(id)).to.equal('echo:first');
    });

    it('should refuse with 400 when a turn is running', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      await test.prompt(id, [{ wait: 1 }]);
      const { status, body } = await test.submit(id, 'again');
      expect(status).to.equal(400);
      expect(body['error']).to.equal('conversation_busy');
    });

    it('should accept exactly one of many prompts that race', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      await test.event(id, 'provision/done');
      const answers = await Promise.all(Array.from({ length: 8 }, () => test.submit(id, [{ wait: 1 }])));
      expect(answers.filter(({ status }) => status === 200)).to.have.length(1);
      expect(answers.filter(({ status }) => status === 400)).to.have.length(7);
    });

    it('should accept the next prompt as soon as the terminal event is seen', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      const reader = test.follow(id, '?streams=stage');
      for (let turn = 1; turn <= 20; turn += 1) {
        await test.prompt(id, 'x');
        await until(() => reader.frames.filter((frame) => nameOf(frame) === 'turn/done').length === turn, `turn ${turn}`);
      }
      const modes = reader.frames.filter((frame) => nameOf(frame) === 'turn/started').map((frame) => contentOf(frame)['mode']);
      expect(modes).to.deep.equal(['run', ...Array<string>(19).fill('continue')]);
    });

    it('should hand images on and keep them', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      const data = Buffer.from('not really a picture').toString('base64');
      await test.turn(id, 'look', { images: [{ data, media_type: 'image/png' }] });
      expect(await test.said(id)).to.equal('images:1echo:look');
      const [turn] = (await test.get(`/api/conversations/${id}/turns`)).list;
      expect(turn).to.include({ image_count: 1 });
      const image = await fetch(`${test.instance.baseUrl}/api/conversations/${id}/turns/${String(turn!['id'])}/images/0`, { headers: { authorization: `Bearer ${test.key}` } });
      expect(image.headers.get('content-type')).to.equal('image/png');
      expect(await image.text()).to.equal('not really a picture');
      expect((await test.get(`/api/conversations/${id}/turns/${String(turn!['id'])}/images/1`)).status).to.equal(404);
    });

    it('should make two turns of two prompts with one client_request_id', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      await test.turn(id, 'x', { client_request_id: 'same' });
      await test.turn(id, 'y', { client_request_id: 'same' });
      expect((await test.get(`/api/conversations/${id}/turns`)).list.map((turn) => turn['client_request_id'])).to.deep.equal(['same', 'same']);
    });
  });

  describe('the agent', () => {
    it("should count the tokens that its program counts", async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      await test.turn(id, [{ use: { inputTokens: 10, outputTokens: 5, cachedReadTokens: 2, totalTokens: 15 } }]);
      await test.turn(id, [{ use: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } }]);
      await test.turn(id, 'no count');
      const usages = (await test.get(`/api/conversations/${id}/turns`)).list.map((turn) => turn['usage']);
      expect(usages).to.deep.equal([{ input: 10, output: 5, cache_read: 2 }, { input: 1, output: 1 }, null]);
      expect((await test.show(id))['usage_total']).to.deep.equal({ input: 11, output: 6 });
    });

    it('should hand its MCP servers to its program, those of a kind that it does not take left out', async () => {
      const test = await TestInstance.start();
      const agentId = await test.agent({ mcp_servers: { files: { command: 'mcp-files', args: ['--ro'], env: { A: 'b' } }, web: { url: 'https://a.test/mcp' }, junk: 1 } });
      const id = await test.conversation({ agent_id: agentId });
      await test.turn(id, [{ mcp: 1 }]);
      expect(await test.said(id)).to.equal('mcp:[{"name":"files","command":"mcp-files","args":["--ro"],"env":[{"name":"A","value":"b"}]}]');
    });
  });

  describe('the end of a turn', () => {
    const endings = [
      { steps: [{ stop: 'refusal' }], state: 'failed', metadata: { stop_reason: 'refusal' }, status: 'failed' },
      { steps: [{ stop: 'cancelled' }], state: 'failed', metadata: { stop_reason: 'cancelled' }, status: 'failed' },
      { steps: [{ stop: 'max_tokens' }], state: 'failed', metadata: { stop_reason: 'max_tokens' }, status: 'failed' },
      { steps: [{ error: 'no luck' }], state: 'failed', metadata: { reason: 'no luck' }, status: 'failed' },
      { steps: [{ exit: 0 }], state: 'done', metadata: { exit_code: 0 }, status: 'completed' },
    ];
    for (const { steps, state, metadata, status } of endings) {
      it(`should be ${state} with ${JSON.stringify(metadata)} when the harness does ${JSON.stringify(steps)}`, async () => {
        const test = await TestInstance.start();
        const id = await test.conversation();
        const end = await test.turn(id, steps);
        expect(end.state).to.equal(state);
        expect(contentOf(end)).to.include(metadata);
        expect((await test.get(`/api/conversations/${id}/turns`)).list[0]).to.include({ status });
        expect((await test.turn(id, 'still there?')).state).to.equal('done');
      });
    }

    it('should say how the process ended and quote it when it dies', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      const end = await test.turn(id, [{ stderr: 'out of cheese\n' }, { exit: 7 }]);
      expect(end.state).to.equal('failed');
      expect(contentOf(end)).to.include({ exit_code: 7 });
      expect(contentOf(end)['reason']).to.match(/exit code 7.*out of cheese/s);
    });

    it('should be a failure with the last output when the harness never starts', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation({}, '--broken');
      const end = await test.turn(id, 'hello');
      expect(end.state).to.equal('failed');
      expect(contentOf(end)['reason']).to.include('cannot find my head');
    });

    it('should be a failure that names the model when the harness refuses it', async () => {
      const test = await TestInstance.start();
      const agentId = await test.agent({ model: 'test/three' }, '--models');
      const id = await test.conversation({ agent_id: agentId });
      const end = await test.turn(id, 'hello');
      expect(end.state).to.equal('failed');
      expect(contentOf(end)['reason']).to.include('test/three');
      const refused = await test.event(id, 'model/failed');
      expect(contentOf(refused)).to.include({ requested: 'test/three', using: 'one', status: 'refused' });
      await test.call('PATCH', `/api/agents/${agentId}`, { model: 'test/two' });
      expect((await test.turn(id, 'hello')).state).to.equal('done');
      expect(contentOf(await test.event(id, 'model/done'))).to.include({ requested_model: 'test/two', effective_model: 'two', status: 'selected' });
    });
  });

  describe('interrupt', () => {
    it('should end the turn as interrupted and keep the harness when it obeys', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      await test.prompt(id, [{ pid: 1 }, { wait: 1 }]);
      await until(async () => (await test.said(id)).includes('pid:'), 'the agent');
      const { status } = await test.post(`/api/conversations/${id}/interrupt`);
      expect(status).to.equal(204);
      expect((await test.names(id)).slice(-1)).to.deep.equal(['turn/interrupted']);
      expect((await test.get(`/api/conversations/${id}/turns`)).list[0]).to.include({ status: 'interrupted' });
      const before = /pid:(\d+)/.exec(await test.said(id))![1];
      await test.turn(id, [{ pid: 1 }]);
      expect((await test.said(id)).match(/pid:\d+/g)).to.deep.equal([`pid:${before}`, `pid:${before}`]);
    });

    it('should stop a harness that does not obey and publish one terminal event', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation({}, '--deaf --stubborn');
      await test.prompt(id, [{ say: 'here' }, { hang: 1 }]);
      await until(async () => (await test.said(id)).includes('here'), 'the agent');
      const answers = await Promise.all([test.post(`/api/conversations/${id}/interrupt`), test.post(`/api/conversations/${id}/interrupt`)]);
      expect(answers.map(({ status }) => status)).to.deep.equal([204, 204]);
      const names = await test.names(id);
      expect(names.filter((name) => name.startsWith('turn/'))).to.deep.equal(['turn/started', 'turn/interrupted']);
    });

    it('should interrupt while the harness starts', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation({}, '--slow-start');
      await test.prompt(id, 'x');
      await test.event(id, 'turn/started');
      expect((await test.post(`/api/conversations/${id}/interrupt`)).status).to.equal(204);
      expect((await test.names(id)).filter((name) => name.startsWith('turn/'))).to.deep.equal(['turn/started', 'turn/interrupted']);
    });

    it('should end a prompt that still waits for its sandbox', async () => {
      const test = await TestInstance.start();
      const environment = await test.post('/api/environments', { name: 'slow', setup_script: 'sleep 60' });
      const id = await test.conversation({ agent_id: await test.agent({ environment_id: environment.data['id'] }) });
      await test.prompt(id, 'x', { client_request_id: 'held' });
      expect((await test.post(`/api/conversations/${id}/interrupt`)).status).to.equal(204);
      expect((await test.names(id)).slice(-2)).to.deep.equal(['turn/started', 'turn/interrupted']);
      expect((await test.submit(id, 'another')).status).to.equal(200);
    });

    it('should refuse with 409 when there is nothing to stop', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      await test.event(id, 'provision/done');
      const parked = await test.post(`/api/conversations/${id}/interrupt`);
      expect(parked.status).to.equal(409);
      expect(parked.body['error']).to.equal('not_running');
      await test.turn(id, 'x');
      const idle = await test.post(`/api/conversations/${id}/interrupt`);
      expect(idle.status).to.equal(409);
      expect(idle.body['error']).to.equal('no_turn_running');
    });
  });

  describe('terminate', () => {
    it('should say so before the end of the turn and leave nothing of the sandbox', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      await test.prompt(id, [{ spawn: 60 }, { wait: 1 }]);
      await until(async () => (await test.said(id)).includes('pid:'), 'the agent');
      const pid = Number(/pid:(\d+)/.exec(await test.said(id))![1]);
      const sandboxId = String((await test.show(id))['sandbox_id']);
      expect((await test.post(`/api/conversations/${id}/terminate`)).status).to.equal(204);
      expect((await test.names(id)).slice(-2)).to.deep.equal(['terminate/done', 'turn/interrupted']);
      expect((await test.get(`/api/sandboxes/${sandboxId}`)).data['status']).to.equal('terminated');
      expect(isAlive(pid)).to.equal(false);
      expect(existsSync(`${test.instance.dataDir}/sandboxes/${sandboxId}`)).to.equal(false);
      const { status, body } = await test.submit(id, 'x');
      expect(status).to.equal(410);
      expect(body['error']).to.equal('conversation_terminated');
      expect((await test.post(`/api/conversations/${id}/terminate`)).status).to.equal(204);
      expect((await test.names(id)).filter((name) => name === 'terminate/done')).to.have.length(1);
    });

    it('should answer the open permission request first', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation({ permission_policy: { default: 'ask' } });
      await test.prompt(id, [{ ask: {} }]);
      await test.event(id, 'request/started');
      await test.post(`/api/conversations/${id}/terminate`);
      expect((await test.names(id)).slice(-3)).to.deep.equal(['request/done', 'terminate/done', 'turn/interrupted']);
    });

    it('should end provisioning and the prompt that waits for it', async () => {
      const test = await TestInstance.start();
      const environment = await test.post('/api/environments', { name: 'slow', setup_script: 'sleep 60' });
      const id = await test.conversation({ agent_id: await test.agent({ environment_id: environment.data['id'] }), prompt: 'x' });
      await test.event(id, 'setup/started');
      expect((await test.post(`/api/conversations/${id}/terminate`)).status).to.equal(204);
      const names = await test.names(id);
      expect(names.slice(-3)).to.deep.equal(['turn/started', 'terminate/done', 'turn/interrupted']);
      expect(await test.show(id)).to.include({ status: 'terminated' });
    });
  });

  describe('delete', () => {
    it('should leave nothing of a running conversation', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      await test.prompt(id, [{ wait: 1 }]);
      expect((await test.call('DELETE', `/api/conversations/${id}`)).status).to.equal(204);
      for (const part of ['', '/turns', '/events', '/stream', '/tree']) expect((await test.get(`/api/conversations/${id}${part}`)).status).to.equal(404);
      expect((await test.call('DELETE', `/api/conversations/${id}`)).status).to.equal(404);
    });
  });

  describe('output', () => {
    it('should store lines that are no messages and stderr as such', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      await test.turn(id, [{ stdout: 'plain words\n' }, { stderr: 'grumble\n' }, { say: 'done' }]);
      const events = await test.events(id);
      expect(events.find((event) => event.stream === 'stdout')!.data).to.equal('plain words\n');
      expect(events.find((event) => event.stream === 'stderr')!.data).to.equal('grumble\n');
    });

    it('should pass updates of unknown kinds on unchanged', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      const update = { sessionUpdate: 'brand_new', number: 1.5, nested: { list: [null, true] } };
      await test.turn(id, [{ update }]);
      const [event] = (await test.events(id)).filter(({ stream }) => stream === 'acp');
      expect((contentOf(event!)['params'] as { update: unknown }).update).to.deep.equal(update);
    });

    it('should take a title that comes after the turn without storing it', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      await test.turn(id, [{ title: 'First' }, { after: [{ title: 'Second' }] }]);
      await until(async () => (await test.show(id))['title'] === 'Second', 'the second title');
      expect((await test.names(id)).filter((name) => name === 'acp')).to.have.length(1);
      expect((await test.names(id)).at(-1)).to.equal('turn/done');
    });

    it('should store other output that comes after the turn as noise', async () => {
      const test = await TestInstance.start();
      const id = await test.conversation();
      await test.turn(id, [{ after: [{ say: 'by the way' }] }]);
      const late = await until(async () => (await test.events(id)).find(({ stream }) => stream === 'stdout'), 'the noise');
      expect(late.data).to.include('by the way');
      expect(late.turn_id).to.equal(null);
    });
  });
});
