import { methods } from '@agentclientprotocol/sdk';
import { expect } from 'chai';
import { SdkClient } from '../support/sdkClient.ts';
import { ServedInstance } from '../support/servedInstance.ts';

const echoAgent = new URL('../../fixtures/echo-agent.mjs', import.meta.url).pathname;
const { agent: agentMethods } = methods;

/** The main job, end to end: the protocol SDK's client, the built adapter, the embedded instance, real ACP programs. */
describe('fountain acp, the protocol SDK as its client and fountain serve as its instance', () => {
  const instance = new ServedInstance();
  const clients: SdkClient[] = [];

  function connect(args: readonly string[]): SdkClient {
    const client = new SdkClient(args, instance.env);
    clients.push(client);
    return client;
  }

  async function open(client: SdkClient): Promise<string> {
    await client.agent.request(agentMethods.initialize, { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = await client.agent.request(agentMethods.session.new, { cwd: '/', mcpServers: [] });
    return sessionId;
  }

  const prompt = (client: SdkClient, sessionId: string, text: string): Promise<{ stopReason: string }> =>
    client.agent.request(agentMethods.session.prompt, { sessionId, prompt: [{ type: 'text', text }] });

  before(async () => {
    await instance.ready();
    await instance.agent('echo', `${process.execPath} ${echoAgent}`);
  });
  after(() => instance.stop());
  afterEach(() => clients.splice(0).forEach((client) => client.kill()));

  it('should carry a prompt to an ACP program and its words back', async () => {
    const client = connect(['--agent', 'echo']);
    const sessionId = await open(client);
    expect(await prompt(client, sessionId, 'hi there')).to.deep.equal({ stopReason: 'end_turn' });
    expect(client.text(sessionId)).to.equal('echo: hi there');
    expect(await prompt(client, sessionId, 'and refuse')).to.deep.equal({ stopReason: 'end_turn' });
    expect(await prompt(client, sessionId, 'refuse')).to.deep.equal({ stopReason: 'refusal' });
    expect(client.text(sessionId)).to.equal('echo: hi thereecho: and refuseecho: refuse');
    expect(await client.leave()).to.equal(0);
  });

  it('should carry images', async () => {
    const client = connect(['--agent', 'echo']);
    const sessionId = await open(client);
    await client.agent.request(agentMethods.session.prompt, {
      sessionId,
      prompt: [
        { type: 'text', text: 'see' },
        { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' },
      ],
    });
    expect(client.text(sessionId)).to.contain('see').and.to.contain('<image/png>');
  });

  it('should answer with the failure of the program, and take the next prompt', async () => {
    const client = connect(['--agent', 'echo']);
    const sessionId = await open(client);
    const failure = await prompt(client, sessionId, 'fail').catch((error: unknown) => error as Error);
    expect(failure).to.be.an('error');
    expect((failure as Error).message).to.contain('the turn failed');
    expect(await prompt(client, sessionId, 'again')).to.deep.equal({ stopReason: 'end_turn' });
  });

  for (const [optionId, outcome] of [['go', 'go'], ['stop', 'stop'], ['never offered', 'stop'], [undefined, 'stop']] as const) {
    it(`should ask before a tool where the policy says so, and carry ${optionId ?? 'a dismissal'} to the program as "${outcome}"`, async () => {
      const client = connect(['--agent', 'echo', '--permission', 'ask']);
      if (optionId !== undefined) client.onQuestion = () => ({ outcome: { outcome: 'selected', optionId } });
      const sessionId = await open(client);
      expect(await prompt(client, sessionId, 'ask me')).to.deep.equal({ stopReason: 'end_turn' });
      expect(client.text(sessionId)).to.equal(`echo: ask me; chosen: ${outcome}`);
      expect(client.questions).to.have.lengthOf(1);
      expect(client.questions[0]?.sessionId).to.equal(sessionId);
      expect(client.questions[0]?.toolCall).to.not.have.property('locations');
      expect(client.questions[0]?.toolCall._meta).to.deep.equal({ 'fountain.sandboxLocations': [{ path: '/sandbox/it' }] });
    });
  }

  it('should not ask where the policy decides', async () => {
    for (const [policy, chosen] of [['auto_allow', 'go'], ['auto_deny', 'stop']] as const) {
      const client = connect(['--agent', 'echo', '--permission', policy]);
      const sessionId = await open(client);
      await prompt(client, sessionId, 'ask');
      expect(client.text(sessionId)).to.equal(`echo: ask; chosen: ${chosen}`);
      expect(client.questions).to.deep.equal([]);
    }
  });

  it('should cancel a running turn and go on with the session', async () => {
    const client = connect(['--agent', 'echo']);
    const sessionId = await open(client);
    const running = prompt(client, sessionId, 'wait');
    await client.said(sessionId, 'echo: wait');
    await client.agent.notify(agentMethods.session.cancel, { sessionId });
    expect(await running).to.deep.equal({ stopReason: 'cancelled' });
    expect(await prompt(client, sessionId, 'more')).to.deep.equal({ stopReason: 'end_turn' });
  });

  it('should reopen a conversation in another process, replayed before the answer', async () => {
    const first = connect(['--agent', 'echo']);
    const sessionId = await open(first);
    await prompt(first, sessionId, 'one ');
    await prompt(first, sessionId, 'two ');
    await first.leave();
    const second = connect(['--agent', 'echo']);
    await second.agent.request(agentMethods.initialize, { protocolVersion: 1, clientCapabilities: {} });
    await second.agent.request(agentMethods.session.load, { sessionId, cwd: '/', mcpServers: [] });
    expect(second.text(sessionId)).to.equal('echo: one echo: two ');
    expect(await prompt(second, sessionId, 'three')).to.deep.equal({ stopReason: 'end_turn' });
    expect(second.text(sessionId)).to.equal('echo: one echo: two echo: three');
  });

  it('should let a turn go on when its client leaves, and show the rest to the next one', async () => {
    const first = connect(['--agent', 'echo', '--permission', 'ask']);
    const asked = new Promise<void>((resolve) => {
      first.onQuestion = () => {
        resolve();
        return new Promise(() => undefined);
      };
    });
    const sessionId = await open(first);
    void prompt(first, sessionId, 'ask later').catch(() => undefined);
    await asked;
    first.kill();
    const second = connect(['--agent', 'echo']);
    second.onQuestion = () => ({ outcome: { outcome: 'selected', optionId: 'go' } });
    await second.agent.request(agentMethods.initialize, { protocolVersion: 1, clientCapabilities: {} });
    await second.agent.request(agentMethods.session.load, { sessionId, cwd: '/', mcpServers: [] });
    await second.said(sessionId, 'echo: ask later; chosen: go');
  });

  it('should show every kind of update that the demo agent has', async () => {
    const client = connect(['--agent', 'demo', '--permission', 'ask']);
    client.onQuestion = ({ options }) => ({ outcome: { outcome: 'selected', optionId: options[0]?.optionId ?? '' } });
    const sessionId = await open(client);
    expect(await prompt(client, sessionId, 'Show me')).to.deep.equal({ stopReason: 'end_turn' });
    const kinds = new Set(client.updates.map(({ update }) => update.sessionUpdate));
    expect([...kinds]).to.include.members(['agent_thought_chunk', 'plan', 'tool_call', 'tool_call_update', 'agent_message_chunk', 'session_info_update']);
    expect(client.questions).to.have.lengthOf(1);
    expect(client.updates.every((notification) => notification.sessionId === sessionId)).to.equal(true);
  });

  it('should serve two clients of one conversation, the first answer to a question winning', async () => {
    const first = connect(['--agent', 'echo', '--permission', 'ask']);
    const second = connect(['--agent', 'echo']);
    const silent = new Promise<never>(() => undefined);
    first.onQuestion = () => silent;
    second.onQuestion = () => ({ outcome: { outcome: 'selected', optionId: 'go' } });
    const sessionId = await open(first);
    const running = prompt(first, sessionId, 'ask both');
    await first.condition.until(() => first.questions.length === 1, () => 'the question at the first client');
    await second.agent.request(agentMethods.initialize, { protocolVersion: 1, clientCapabilities: {} });
    await second.agent.request(agentMethods.session.load, { sessionId, cwd: '/', mcpServers: [] });
    expect(await running).to.deep.equal({ stopReason: 'end_turn' });
    expect(first.text(sessionId)).to.equal('echo: ask both; chosen: go');
    await second.said(sessionId, '; chosen: go');
  });
});
