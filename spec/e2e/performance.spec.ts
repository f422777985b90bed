import { expect } from 'chai';
import { scene } from '../support/scene.ts';
import { byHand } from '../support/scripted/turn.ts';
import type { AcpClient } from '../support/acpClient.ts';

/** Peak memory in MiB; a generous bound where the system does not tell. */
const peak = (client: AcpClient): number => client.process.peakMemoryMiB() ?? 0;

/** Small versions of what must hold at any size: quick to start, linear in a line, and in memory that the length does not change. */
describe('fountain acp: speed and memory', () => {
  it('should answer the handshake fast', scene(async ({ client }) => {
    await client.initialize();
    expect(performance.now() - client.process.startedAt).to.be.lessThan(2000);
  }));

  it('should read a prompt of 20 MB that comes in small pieces in linear time', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    const data = 'QUJD'.repeat(5_000_000);
    const line = JSON.stringify({ jsonrpc: '2.0', id: 'big', method: 'session/prompt', params: { sessionId, prompt: [{ type: 'image', mimeType: 'image/png', data }] } });
    const from = performance.now();
    await client.process.writeInPieces(`${line}\n`, 16_384);
    expect(await client.callWritten('big').stopReason(15_000)).to.equal('end_turn');
    expect(performance.now() - from).to.be.lessThan(6000);
    expect(instance.of(sessionId).turns).to.have.lengthOf(1);
  })).timeout(20_000);

  it('should replay a long history in order and in little memory', scene(async ({ instance, client }) => {
    const old = instance.conversation();
    const turn = old.foreignTurn();
    const count = 20_000;
    for (let nth = 0; nth < count; nth += 1) turn.say(`${nth} ${'h'.repeat(1000)}`);
    await client.initialize();
    await client.load(old.id).result(20_000);
    const seen = client.updates(old.id);
    expect(seen).to.have.lengthOf(count);
    expect(seen.every(({ update }, at) => (update['content'] as { text: string }).text.startsWith(`${at} `))).to.equal(true);
    expect(peak(client)).to.be.lessThan(200);
  })).timeout(30_000);

  it('should hold little, serve a cancel and lose nothing while the client does not read', scene(async ({ instance, client }) => {
    const old = instance.conversation();
    const past = old.foreignTurn();
    const count = 40_000;
    for (let nth = 0; nth < count; nth += 1) past.say(`${nth} ${'s'.repeat(1000)}`);
    instance.scripts.push(byHand);
    const busy = await client.open();
    const prompt = client.prompt(busy);
    const running = await instance.turn();
    running.start();
    client.process.stopReading();
    const load = client.load(old.id);
    await client.cancel(busy);
    await instance.condition.until(() => running.status === 'interrupted', () => 'the interrupt');
    const whileBlocked = peak(client);
    client.process.readAgain();
    expect(await prompt.stopReason(20_000)).to.equal('cancelled');
    await load.result(20_000);
    expect(client.updates(old.id)).to.have.lengthOf(count);
    expect(Math.max(whileBlocked, peak(client))).to.be.lessThan(200);
  })).timeout(45_000);

  // A small young generation, so that what is left over shows soon.
  it('should not grow with the number of prompts', scene({ env: () => ({ NODE_OPTIONS: '--max-semi-space-size=1' }) }, async ({ client }) => {
    const sessionId = await client.open();
    const prompts = async (count: number): Promise<void> => {
      for (let nth = 0; nth < count; nth += 1) expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    };
    await prompts(150);
    const before = peak(client);
    await prompts(350);
    expect(peak(client) - before).to.be.lessThan(40);
    expect(client.stderr).not.to.match(/MaxListeners|leak/);
  })).timeout(45_000);
});
