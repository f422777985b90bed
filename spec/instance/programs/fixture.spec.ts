import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fixtureProgram } from '../../../lib/instance/programs/installedPrograms.ts';
import { LineClient } from './lineClient.ts';

const program = '.fountain-acp-fixture.mjs';
const state = '.fountain-acp-fixture';

function promptText(changes: object = {}): string {
  return JSON.stringify({ fixture: 'fountain-acp-fixture/1', scenario: 'write', nonce: randomUUID(), delay_ms: 0, ...changes });
}

describe('fountain-acp-fixture/1', () => {
  let cwd: string;
  let clients: LineClient[];

  beforeEach(() => {
    cwd = mkdtempSync(path.join(tmpdir(), 'fixture-'));
    writeFileSync(path.join(cwd, program), fixtureProgram().text);
    clients = [];
  });

  afterEach(async () => {
    await Promise.all(clients.map((client) => client.leave()));
    rmSync(cwd, { recursive: true, force: true });
  });

  function start(): LineClient {
    const client = new LineClient([program], cwd);
    clients.push(client);
    return client;
  }

  async function open(): Promise<{ client: LineClient; sessionId: string }> {
    const client = start();
    await client.ask('initialize', { protocolVersion: 1 });
    const { result } = await client.ask('session/new', { cwd, mcpServers: [] });
    return { client, sessionId: result!['sessionId'] as string };
  }

  function prompt(client: LineClient, sessionId: string, changes: object): ReturnType<LineClient['ask']> {
    return client.ask('session/prompt', { sessionId, prompt: [{ type: 'text', text: promptText(changes) }] });
  }

  const ended = { stopReason: 'end_turn', usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } };

  it('should print its name and version', () => {
    expect(execFileSync(process.execPath, [program, '--version'], { cwd, encoding: 'utf8' })).to.equal('fountain-acp-fixture/1\n');
  });

  it('should be initialised once, before anything else, with version 1', async () => {
    const client = start();
    expect((await client.ask('session/new', { cwd, mcpServers: [] })).error?.code).to.equal(-32600);
    expect((await client.ask('initialize', { protocolVersion: 2 })).error?.code).to.equal(-32602);
    expect((await client.ask('initialize', { protocolVersion: 1 })).result).to.deep.equal({
      protocolVersion: 1,
      agentInfo: { name: 'fountain-acp-fixture/1', version: '1' },
      authMethods: [],
      agentCapabilities: { sessionCapabilities: { resume: {} } },
    });
    expect((await client.ask('initialize', { protocolVersion: 1 })).error?.code).to.equal(-32600);
    expect((await client.ask('session/load', {})).error?.code).to.equal(-32601);
  });

  it('should offer one model and take no other', async () => {
    const { client, sessionId } = await open();
    const opened = client.lines.at(-1)!['result'] as { models: { currentModelId: string; availableModels: { modelId: string }[] } };
    expect(opened.models.currentModelId).to.equal('fixture/deterministic-v1');
    expect(opened.models.availableModels.map(({ modelId }) => modelId)).to.deep.equal(['fixture/deterministic-v1']);
    expect((await client.ask('session/set_model', { sessionId, modelId: 'fixture/deterministic-v1' })).result).to.deep.equal({});
    expect((await client.ask('session/set_model', { sessionId, modelId: 'other' })).error?.code).to.equal(-32602);
  });

  it('should write an artifact once, and keep its state to its user', async () => {
    const { client, sessionId } = await open();
    const nonce = randomUUID();
    expect((await prompt(client, sessionId, { nonce })).result).to.deep.equal(ended);
    const file = `${state}/${sessionId}-${nonce}.txt`;
    expect(client.updates()).to.deep.equal([
      { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: `fixture:started:write:${nonce}\n` } },
      { sessionUpdate: 'tool_call', toolCallId: nonce, title: 'fixture-artifact', kind: 'edit', status: 'pending' },
      { sessionUpdate: 'tool_call_update', toolCallId: nonce, status: 'completed' },
      { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: `fixture:artifact:${nonce}:writes=1:turns=1:path=${file}\n` } },
    ]);
    expect(readFileSync(path.join(cwd, file), 'utf8')).to.equal(`${nonce}\n`);
    expect(statSync(path.join(cwd, state)).mode & 0o777).to.equal(0o700);
    expect((await prompt(client, sessionId, { nonce })).error?.code).to.equal(-32000);
    expect(JSON.parse(readFileSync(path.join(cwd, state, `${sessionId}.json`), 'utf8'))).to.deep.equal({
      version: 1,
      id: sessionId,
      turns: [
        { scenario: 'write', nonce, status: 'completed' },
        { scenario: 'write', nonce, status: 'failed' },
      ],
      artifacts: { [nonce]: { writes: 1 } },
    });
  });

  it('should say that it started before its delay', async () => {
    const { client, sessionId } = await open();
    const started = Date.now();
    const answer = prompt(client, sessionId, { delay_ms: 300 });
    await client.until(({ method }) => method === 'session/update');
    expect(client.said()).to.match(/^fixture:started:write:[0-9a-f-]{36}\n$/);
    await answer;
    expect(Date.now() - started).to.be.at.least(300);
  });

  it('should read after a restart what was written before, and count every turn', async () => {
    const { client, sessionId } = await open();
    const nonce = randomUUID();
    await prompt(client, sessionId, { nonce });
    expect(await client.leave()).to.equal(0);
    const again = start();
    await again.ask('initialize', { protocolVersion: 1 });
    expect((await again.ask('session/resume', { sessionId: randomUUID(), cwd })).error).to.include({ code: -32002 });
    expect((await again.ask('session/resume', { sessionId: '../../etc/passwd', cwd })).error).to.include({ code: -32002 });
    expect((await again.ask('session/resume', { sessionId, cwd })).result).to.have.keys('models');
    expect((await prompt(again, sessionId, { scenario: 'read', nonce })).result).to.deep.equal(ended);
    expect(again.said()).to.contain(`fixture:artifact:${nonce}:writes=1:turns=2:`);
    expect((await prompt(again, sessionId, { scenario: 'read' })).error?.code).to.equal(-32000);
    writeFileSync(path.join(cwd, state, `${sessionId}-${nonce}.txt`), 'else');
    expect((await prompt(again, sessionId, { scenario: 'read', nonce })).error?.code).to.equal(-32000);
  });

  for (const [name, answer, allowed] of [
    ['allowed', { result: { outcome: { outcome: 'selected', optionId: 'allow-once' } } }, true],
    ['rejected', { result: { outcome: { outcome: 'selected', optionId: 'reject-once' } } }, false],
    ['dismissed', { result: { outcome: { outcome: 'cancelled' } } }, false],
    ['answered with an error', { error: { code: -32601, message: 'no' } }, false],
  ] as const) {
    it(`should ${allowed ? 'write' : 'not write'} when its question is ${name}`, async () => {
      const { client, sessionId } = await open();
      const nonce = randomUUID();
      const outcome = prompt(client, sessionId, { scenario: 'permission', nonce });
      const question = await client.until(({ method }) => method === 'session/request_permission');
      expect(question['id']).to.equal('fixture-permission-1');
      expect((question['params'] as { options: object[] }).options.map((option) => ({ ...option, name: '' }))).to.deep.equal([
        { optionId: 'allow-once', name: '', kind: 'allow_once' },
        { optionId: 'reject-once', name: '', kind: 'reject_once' },
      ]);
      client.send({ id: question['id'], ...answer });
      expect((await outcome).result).to.deep.equal(ended);
      expect(client.updates().at(allowed ? -2 : -1)).to.deep.equal({ sessionUpdate: 'tool_call_update', toolCallId: nonce, status: allowed ? 'completed' : 'failed' });
      expect(client.said().includes(`fixture:permission:denied:${nonce}\n`)).to.equal(!allowed);
      expect(readdirSync(path.join(cwd, state)).filter((file) => file.endsWith('.txt'))).to.have.lengthOf(allowed ? 1 : 0);
    });
  }

  it('should end a wait with "cancelled" when it is cancelled, and run one prompt at a time', async () => {
    const { client, sessionId } = await open();
    const waiting = prompt(client, sessionId, { scenario: 'wait' });
    await client.until(({ method }) => method === 'session/update');
    expect((await prompt(client, sessionId, {})).error).to.include({ code: -32602 });
    client.send({ method: 'session/cancel', params: { sessionId } });
    expect((await waiting).result).to.include({ stopReason: 'cancelled' });
  });

  it('should fail when it is asked to', async () => {
    const { client, sessionId } = await open();
    expect((await prompt(client, sessionId, { scenario: 'fail' })).error).to.include({ code: -32000 });
    expect(client.said()).to.match(/^fixture:started:fail:/);
  });

  it('should refuse everything outside the grammar without counting it', async () => {
    const { client, sessionId } = await open();
    const blocks = [
      [],
      [{ type: 'image', data: '', mimeType: 'image/png' }],
      [{ type: 'text', text: promptText() }, { type: 'text', text: promptText() }],
      ...['hello', '[]', promptText({ extra: 1 }), promptText({ fixture: 'other/1' }), promptText({ scenario: 'dance' }), promptText({ nonce: randomUUID().toUpperCase() })].map((text) => [{ type: 'text', text }]),
      ...[promptText({ nonce: '00000000-0000-1000-8000-000000000000' }), promptText({ delay_ms: 30_001 }), promptText({ delay_ms: 0.5 }), promptText({ delay_ms: -1 }), promptText({ delay_ms: undefined })].map((text) => [{ type: 'text', text }]),
    ];
    for (const block of blocks) expect((await client.ask('session/prompt', { sessionId, prompt: block })).error, JSON.stringify(block)).to.include({ code: -32602 });
    expect(client.updates()).to.deep.equal([]);
    expect((await client.ask('session/prompt', { sessionId: randomUUID(), prompt: [] })).error).to.include({ code: -32002 });
  });

  it('should take fewer than 16 turns in a session', async () => {
    const { client, sessionId } = await open();
    for (let turn = 1; turn < 16; turn += 1) expect((await prompt(client, sessionId, { scenario: 'fail' })).error?.code).to.equal(-32000);
    expect((await prompt(client, sessionId, { scenario: 'fail' })).error?.code).to.equal(-32602);
  });

  it('should survive junk, and end with status 2 when a line is longer than 65536 bytes', async () => {
    const { client } = await open();
    client.send('junk\n\n[]\n');
    await client.until(({ error }) => (error as { code?: number } | undefined)?.code === -32700);
    await client.until(({ error }) => (error as { code?: number } | undefined)?.code === -32600);
    client.send(`${' '.repeat(65_536)}\n`);
    expect((await client.ask('session/nothing', {})).error?.code).to.equal(-32601);
    client.send('x'.repeat(65_537));
    expect(await client.exited).to.equal(2);
  });
});

describe('fixtureProgram', () => {
  it('should give the text with its digest, short enough to be read back whole', () => {
    const { text, sha256 } = fixtureProgram();
    expect(Buffer.byteLength(text)).to.be.below(65_536);
    expect(sha256).to.match(/^[0-9a-f]{64}$/);
    expect(text).not.to.match(/from "\.|require\(/);
  });
});
