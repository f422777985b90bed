import { expect } from 'chai';
import { closeSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { scene, type Scene } from '../support/scene.ts';
import { routes } from '../support/scripted/departures.ts';
import { byHand, type ScriptedTurn } from '../support/scripted/turn.ts';
import type { AcpClient, Call } from '../support/acpClient.ts';

interface Running {
  readonly call: Call;
  readonly turn: ScriptedTurn;
}

/** A turn of which the client has heard the first word. */
async function run({ instance }: Scene, client: AcpClient): Promise<Running> {
  instance.scripts.push(byHand);
  const sessionId = await client.open();
  const call = client.prompt(sessionId);
  const turn = await instance.turn();
  turn.start();
  turn.say('a');
  await client.said(sessionId, 'a');
  return { call, turn };
}

/** The time that a client which leaves is given is fixed, so this one wait is real. */
const afterTheGrace = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2300));

const written = (id: number, method: string, params: object): string => `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;

/** The process is a window onto the conversation: its end ends nothing on the instance, and nothing written is lost. */
describe('fountain acp: end of input', () => {
  it('should end with 0 at once when nothing is in flight', scene(async ({ client }) => {
    await client.open();
    client.process.endInput();
    const { code, afterMs } = await client.process.exit();
    expect(code).to.equal(0);
    expect(afterMs).to.be.lessThan(1500);
  }));

  it('should end with 0 when stdin ends before anything was said', scene(async ({ client }) => {
    client.process.endInput();
    expect((await client.process.exit()).code).to.equal(0);
    expect(client.messages).to.deep.equal([]);
    expect(client.stderr).to.equal('');
  }));

  it('should end soon when its stream lingers after a turn', scene(async ({ client }) => {
    const sessionId = await client.open();
    await client.prompt(sessionId).result();
    client.process.endInput();
    const { code, afterMs } = await client.process.exit();
    expect(code).to.equal(0);
    expect(afterMs).to.be.lessThan(1500);
  }));

  it('should answer what it can within two seconds, and interrupt nothing, when a turn is running', scene(async (stage) => {
    const { client, instance } = stage;
    const { turn } = await run(stage, client);
    client.process.endInput();
    const { code, afterMs } = await client.process.exit();
    expect(code).to.equal(0);
    expect(afterMs).to.be.lessThan(3000);
    expect(instance.seen(routes.interrupt)).to.deep.equal([]);
    expect(turn.status).to.equal('running');
  }));

  it('should answer a prompt that ends within that time', scene(async (stage) => {
    const { client } = stage;
    const { call, turn } = await run(stage, client);
    client.process.endInput();
    turn.say('b');
    turn.done('refusal');
    expect((await client.process.exit()).code).to.equal(0);
    expect(call.answer?.result).to.deep.equal({ stopReason: 'refusal' });
  }));

  it('should answer everything first when it is told to drain', scene({ args: ['--agent', 'coder', '--drain'] }, async (stage) => {
    const { client, instance } = stage;
    const { call, turn } = await run(stage, client);
    client.process.endInput();
    await afterTheGrace();
    turn.say('b');
    turn.done();
    expect((await client.process.exit()).code).to.equal(0);
    expect(call.answer?.result).to.deep.equal({ stopReason: 'end_turn' });
    expect(instance.seen(routes.interrupt)).to.deep.equal([]);
  }));

  it('should answer everything first when stdin is a file', scene(async ({ instance, client, home, launch, write }) => {
    client.process.endInput();
    await client.process.exit();
    const bound = instance.conversation({ channel: 'f' });
    write('in.ndjson', [
      written(1, 'initialize', { protocolVersion: 1 }),
      written(2, 'session/new', { cwd: '/', mcpServers: [], _meta: { channelId: 'f' } }),
      written(3, 'session/load', { sessionId: bound.id, cwd: '/', mcpServers: [] }),
      written(4, 'spec/none', {}).trimEnd(),
    ].join(''));
    const stdin = openSync(path.join(home, 'in.ndjson'), 'r');
    const reader = launch(undefined, { stdin });
    closeSync(stdin);
    expect((await reader.process.exit()).code).to.equal(0);
    expect([1, 2, 3, 4].map((id) => reader.callWritten(id).answer !== undefined)).to.deep.equal([true, true, true, true]);
  }));

  it('should answer everything first when stdout is a file', scene(async ({ instance, client, home, launch }) => {
    client.process.endInput();
    await client.process.exit();
    const bound = instance.conversation({ channel: 'f' });
    bound.scripts.push(byHand);
    const file = path.join(home, 'out.ndjson');
    const stdout = openSync(file, 'w');
    const writer = launch(undefined, { stdout });
    closeSync(stdout);
    await writer.process.write(written(1, 'initialize', { protocolVersion: 1 }) + written(2, 'session/load', { sessionId: bound.id, cwd: '/', mcpServers: [] }));
    await instance.request(routes.history);
    await writer.process.write(written(3, 'session/prompt', { sessionId: bound.id, prompt: [{ type: 'text', text: 'x' }] }));
    const turn = await instance.turn();
    turn.start();
    writer.process.endInput();
    await afterTheGrace();
    turn.say('in the file');
    turn.done();
    expect((await writer.process.exit()).code).to.equal(0);
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as { id?: number; result?: object });
    expect(lines.at(-1)).to.deep.equal({ jsonrpc: '2.0', id: 3, result: { stopReason: 'end_turn' } });
  }));
});

describe('fountain acp: stopping', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`should end within a second, whole lines written and nothing interrupted, on ${signal}`, scene(async (stage) => {
      const { client, instance } = stage;
      const { turn } = await run(stage, client);
      client.process.signal(signal);
      const { code, signal: by, afterMs } = await client.process.exit();
      expect(code === 0 || code === 143 || code === 130 || by === signal, `code ${String(code)}, ${String(by)}`).to.equal(true);
      expect(afterMs).to.be.lessThan(2000);
      expect(instance.seen(routes.interrupt)).to.deep.equal([]);
      expect(turn.status).to.equal('running');
      expect(client.stderr).not.to.match(/ {4}at /);
    }));

    it(`should end with 0 on ${signal} when it is idle`, scene(async ({ client }) => {
      await client.initialize();
      client.process.signal(signal);
      expect((await client.process.exit()).code).to.equal(0);
    }));
  }

  it('should end by itself, without a stack trace, when the client closes its end', scene(async (stage) => {
    const { client } = stage;
    const { turn } = await run(stage, client);
    client.process.closeOutput();
    const talk = setInterval(() => turn.say('x'), 10);
    const { code } = await client.process.exit();
    clearInterval(talk);
    expect(code).to.be.oneOf([0, 1]);
    expect(client.stderr).not.to.match(/ {4}at |Unhandled|node:events|throw er/);
  }));

  it('should end by itself when the client closed its end before a word', scene(async ({ client }) => {
    client.process.closeOutput();
    await client.send({ id: 1, method: 'initialize', params: { protocolVersion: 1 } });
    expect((await client.process.exit()).code).to.be.oneOf([0, 1]);
    expect(client.stderr).not.to.match(/ {4}at |Unhandled|node:events/);
  }));

  it('should end at once on a second signal', scene(async (stage) => {
    const { client } = stage;
    await run(stage, client);
    client.process.signal('SIGTERM');
    client.process.signal('SIGTERM');
    expect((await client.process.exit()).afterMs).to.be.lessThan(1500);
  }));

  it('should live on when nobody reads its diagnostics', scene({ args: ['--agent', 'coder', '--log-level', 'debug'] }, async ({ client }) => {
    await client.initialize();
    client.process.closeDiagnostics();
    const sessionId = await client.newSession();
    for (let nth = 0; nth < 3; nth += 1) expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
  }));

  it('should keep quiet on stderr while all goes well', scene(async ({ client }) => {
    const sessionId = await client.open();
    for (let nth = 0; nth < 3; nth += 1) await client.prompt(sessionId).result();
    client.process.endInput();
    await client.process.exit();
    expect(client.stderr.length).to.be.lessThan(1000);
  }));
});
