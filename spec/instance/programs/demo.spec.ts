import { client, ndJsonStream, type ClientConnection, type RequestPermissionRequest, type SessionNotification } from '@agentclientprotocol/sdk';
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { demoProgram } from '../../../lib/instance/programs/installedPrograms.ts';

interface Connected {
  readonly connection: ClientConnection;
  readonly leave: () => void;
  readonly exited: Promise<number | null>;
}

describe('the demo agent', () => {
  let cwd: string;
  let updates: SessionNotification['update'][];
  let questions: RequestPermissionRequest[];
  let answer: string | null;
  let open: Connected[];

  beforeEach(() => {
    cwd = mkdtempSync(path.join(tmpdir(), 'demo-'));
    [updates, questions, answer, open] = [[], [], 'allow', []];
  });

  afterEach(async () => {
    for (const { connection, exited } of open) {
      connection.close();
      await exited;
    }
    rmSync(cwd, { recursive: true, force: true });
  });

  /** Starts the program under the protocol library's own client. */
  async function start(delayMs = 0): Promise<ClientConnection> {
    const child = spawn(process.execPath, [demoProgram()], { cwd, env: { ...process.env, FOUNTAIN_DEMO_DELAY_MS: String(delayMs) }, stdio: ['pipe', 'pipe', 'ignore'] });
    const connection = client()
      .onNotification('session/update', ({ params }) => void updates.push(params.update))
      .onRequest('session/request_permission', ({ params }) => {
        questions.push(params);
        return { outcome: answer === null ? { outcome: 'cancelled' as const } : { outcome: 'selected' as const, optionId: answer } };
      })
      .connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>));
    void connection.closed.then(() => child.kill());
    open.push({ connection, leave: () => child.stdin.end(), exited: new Promise((resolve) => child.once('close', (code) => resolve(code))) });
    await connection.agent.request('initialize', { protocolVersion: 1, clientCapabilities: {} });
    return connection;
  }

  async function session(connection: ClientConnection): Promise<string> {
    return (await connection.agent.request('session/new', { cwd, mcpServers: [] })).sessionId;
  }

  async function prompt(connection: ClientConnection, sessionId: string, text: string): Promise<string> {
    return (await connection.agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] })).stopReason;
  }

  function said(): string {
    return updates.map((update) => (update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text' ? update.content.text : '')).join('');
  }

  it("should show a client's whole surface around its answer", async () => {
    const connection = await start();
    const sessionId = await session(connection);
    expect(await prompt(connection, sessionId, 'Where does the login redirect go wrong?')).to.equal('end_turn');
    const kinds = new Set(updates.map(({ sessionUpdate }) => sessionUpdate));
    expect([...kinds]).to.have.members(['available_commands_update', 'session_info_update', 'agent_thought_chunk', 'plan', 'tool_call', 'tool_call_update', 'agent_message_chunk']);
    expect(updates).to.deep.include({ sessionUpdate: 'session_info_update', title: 'Where does the login redirect go wrong?' });
    expect(updates.filter(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk')).to.have.length.above(5);
    expect(said()).to.contain('You asked: Where does the login redirect go wrong?').and.to.contain('This is turn 1');
    const plans = updates.flatMap((update) => (update.sessionUpdate === 'plan' ? [update.entries.map(({ status }) => status).join(' ')] : []));
    expect(plans[0]).to.equal('in_progress pending pending pending');
    expect(plans.at(-1)).to.equal('completed completed completed completed');
  });

  it('should really write the file of its diff, once it may', async () => {
    const connection = await start();
    const file = path.join(cwd, 'demo-notes.md');
    await prompt(connection, await session(connection), 'first');
    const { toolCall, options } = questions[0]!;
    expect(toolCall).to.deep.include({ kind: 'edit', locations: [{ path: file, line: 3 }] });
    expect(toolCall.content).to.deep.equal([{ type: 'diff', path: file, oldText: null, newText: readFileSync(file, 'utf8') }]);
    expect(options.map(({ kind }) => kind)).to.deep.equal(['allow_once', 'allow_always', 'reject_once']);
    expect(updates).to.deep.include({ sessionUpdate: 'tool_call_update', toolCallId: 'edit-1', status: 'completed' });
  });

  for (const denial of ['reject', null, 'never offered']) {
    it(`should write nothing and go on when the answer is ${denial ?? 'a dismissal'}`, async () => {
      answer = denial;
      const connection = await start();
      expect(await prompt(connection, await session(connection), 'first')).to.equal('end_turn');
      expect(existsSync(path.join(cwd, 'demo-notes.md'))).to.equal(false);
      expect(updates.some((update) => update.sessionUpdate === 'tool_call_update' && update.toolCallId === 'edit-1' && update.status === 'failed')).to.equal(true);
      expect(said()).to.contain('not allowed to write');
    });
  }

  it('should mention the images it got, and take a prompt of images alone', async () => {
    const connection = await start();
    const sessionId = await session(connection);
    await connection.agent.request('session/prompt', { sessionId, prompt: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] });
    expect(said()).to.contain('an image, image/png, 3 bytes');
  });

  it('should remember its turns across processes, and tell them again when it is loaded', async () => {
    const first = await start();
    const sessionId = await session(first);
    await prompt(first, sessionId, 'one');
    const answered = said();
    first.close();
    const second = await start();
    updates = [];
    await second.agent.request('session/load', { sessionId, cwd, mcpServers: [] });
    expect(updates.slice(0, 2)).to.deep.equal([
      { sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'one' } },
      { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: answered } },
    ]);
    await second.agent.request('session/resume', { sessionId, cwd });
    await prompt(second, sessionId, 'two');
    expect(said()).to.contain('This is turn 2');
    expect(updates.some(({ sessionUpdate }) => sessionUpdate === 'session_info_update')).to.equal(false);
  });

  it('should not know a session that is not in its folder', async () => {
    const connection = await start();
    const unknown = '00000000-0000-4000-8000-000000000000';
    for (const method of ['session/load', 'session/resume', 'session/prompt'] as const) {
      const error: unknown = await connection.agent.request<unknown, object>(method as string, { sessionId: unknown, cwd, mcpServers: [], prompt: [{ type: 'text', text: 'x' }] }).catch((reason: unknown) => reason);
      expect(error).to.deep.include({ code: -32002, data: { sessionId: unknown } });
    }
  });

  it('should end promptly with "cancelled" when it is cancelled, and be ready for the next prompt', async () => {
    const connection = await start();
    const sessionId = await session(connection);
    const slow = prompt(connection, sessionId, 'slow 600');
    while (!said()) await new Promise((resolve) => setTimeout(resolve, 5));
    const before = Date.now();
    await connection.agent.notify('session/cancel', { sessionId });
    expect(await slow).to.equal('cancelled');
    expect(Date.now() - before).to.be.below(1000);
    expect(await prompt(connection, sessionId, 'help')).to.equal('end_turn');
  });

  it('should know its words, with and without a slash', async () => {
    const connection = await start();
    const sessionId = await session(connection);
    await prompt(connection, sessionId, 'long 250');
    expect(said()).to.match(/^1 of 250\n/).and.to.match(/\n250 of 250\n$/);
    expect(updates.filter(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk')).to.have.lengthOf(250);
    await prompt(connection, sessionId, '/help');
    for (const word of ['long N', 'slow SECONDS', 'ask', 'fail', 'refuse', 'crash']) expect(said()).to.contain(`\`${word}\``);
    answer = 'always';
    await prompt(connection, sessionId, 'Ask');
    expect(questions.at(-1)?.toolCall.kind).to.equal('execute');
    expect(said()).to.contain('You chose: Allow always.');
    expect(await prompt(connection, sessionId, 'refuse')).to.equal('refusal');
    const error: unknown = await prompt(connection, sessionId, 'fail').catch((reason: unknown) => reason);
    expect(error).to.include({ code: -32603, message: 'the demo agent was asked to fail' });
    prompt(connection, sessionId, 'crash').catch(() => undefined);
    expect(await open[0]!.exited).to.equal(3);
  });

  it('should stream at its pace', async () => {
    const connection = await start(20);
    const sessionId = await session(connection);
    const before = Date.now();
    await prompt(connection, sessionId, 'long 10');
    expect(Date.now() - before).to.be.at.least(200);
  });

  it('should end by itself when the client leaves', async () => {
    const connection = await start();
    const sessionId = await session(connection);
    prompt(connection, sessionId, 'slow 600').catch(() => undefined);
    while (!said()) await new Promise((resolve) => setTimeout(resolve, 5));
    const { leave, exited } = open[0]!;
    leave();
    expect(await exited).to.equal(0);
  });
});
