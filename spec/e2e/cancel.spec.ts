import { expect } from 'chai';
import { scene } from '../support/scene.ts';
import { Signal } from '../support/condition.ts';
import { routes } from '../support/scripted/departures.ts';
import { dialects } from '../support/scripted/eventFrame.ts';
import { byHand, says } from '../support/scripted/turn.ts';

/** A cancel interrupts the turn that runs, and the prompt tells what became of it; it is no failure and is not remembered. */
describe('fountain acp: session/cancel', () => {
  for (const dialect of dialects) {
    it(`should interrupt the turn once and answer "cancelled", at ${dialect.name}`, scene({ dialect }, async ({ instance, client }) => {
      instance.scripts.push(byHand);
      const sessionId = await client.open();
      const call = client.prompt(sessionId);
      const turn = await instance.turn();
      turn.start();
      turn.say('working');
      await client.said(sessionId, 'working');
      await client.cancel(sessionId);
      expect(await call.stopReason()).to.equal('cancelled');
      expect(instance.seen(routes.interrupt)).to.have.lengthOf(1);
      expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    }));
  }

  it('should cancel a prompt by the id of its request', scene(async ({ instance, client }) => {
    instance.scripts.push(byHand);
    const sessionId = await client.open();
    const call = client.prompt(sessionId);
    const turn = await instance.turn();
    turn.start();
    turn.say('working');
    await client.said(sessionId, 'working');
    await client.notify('$/cancel_request', { requestId: call.id });
    expect(await call.stopReason(2000)).to.equal('cancelled');
    expect(instance.seen(routes.interrupt)).to.have.lengthOf(1);
  }));

  it('should interrupt once when a client cancels twice', scene(async ({ instance, client }) => {
    instance.scripts.push(byHand);
    const sessionId = await client.open();
    const call = client.prompt(sessionId);
    const turn = await instance.turn();
    turn.onInterrupt = () => undefined;
    turn.start();
    turn.say('working');
    await client.said(sessionId, 'working');
    await client.cancel(sessionId);
    await client.cancel(sessionId);
    await client.notify('$/cancel_request', { requestId: call.id });
    await instance.request(routes.interrupt);
    await client.caughtUp();
    turn.interrupted();
    expect(await call.stopReason()).to.equal('cancelled');
    expect(turn.interrupts).to.equal(1);
    expect(client.answersTo(call.id)).to.have.lengthOf(1);
  }));

  it('should reach a turn that starts after the cancel', scene(async ({ instance, client }) => {
    instance.scripts.push(byHand);
    const sessionId = await client.open();
    const call = client.prompt(sessionId);
    const turn = await instance.turn();
    await client.cancel(sessionId);
    await client.caughtUp();
    turn.start();
    turn.say('too late');
    expect(await call.stopReason()).to.equal('cancelled');
    expect(turn.status).to.equal('interrupted');
  }));

  it('should reach a turn whose prompt was not even answered when the cancel came', scene(async ({ instance, client }) => {
    const cancelled = new Signal();
    instance.depart(routes.prompts, { hold: cancelled.given }, { nth: [1] });
    instance.scripts.push((turn) => turn.start());
    const sessionId = await client.open();
    const call = client.prompt(sessionId);
    await instance.request(routes.prompts);
    await client.cancel(sessionId);
    await client.caughtUp();
    cancelled.give();
    expect(await call.stopReason()).to.equal('cancelled');
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
  }));

  it('should report what the turn did when it was over before the interrupt', scene(async ({ instance, client }) => {
    instance.depart(routes.interrupt, { status: 409, json: { error: 'no_turn_running' } });
    instance.scripts.push(byHand);
    const sessionId = await client.open();
    const call = client.prompt(sessionId);
    const turn = await instance.turn();
    turn.start();
    turn.say('x');
    await client.said(sessionId, 'x');
    await client.cancel(sessionId);
    await instance.request(routes.interrupt);
    turn.done('max_tokens');
    expect(await call.stopReason()).to.equal('max_tokens');
  }));

  const failures: readonly [string, object][] = [
    ['meets a fault', { status: 500, json: { error: 'oops' } }],
    ['is cut off', { breaks: 'reset' }],
    ['meets an unknown conversation', { status: 404, json: { error: 'not_running' } }],
  ];
  for (const [name, departure] of failures) {
    it(`should say on stderr that the interrupt ${name}, and report what the turn does`, scene(async ({ instance, client }) => {
      instance.depart(routes.interrupt, departure);
      instance.scripts.push(byHand);
      const sessionId = await client.open();
      const call = client.prompt(sessionId);
      const turn = await instance.turn();
      turn.start();
      turn.say('x');
      await client.said(sessionId, 'x');
      await client.cancel(sessionId);
      await instance.request(routes.interrupt);
      if (name !== 'meets an unknown conversation') await client.noted('interrupt');
      turn.say('y');
      turn.done();
      expect(await call.stopReason()).to.equal('end_turn');
      expect(client.text(sessionId)).to.equal('xy');
    }));
  }

  it('should remember nothing for the next prompt when there was nothing to cancel', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    await client.cancel(sessionId);
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    await client.cancel(sessionId);
    await client.caughtUp();
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    expect(instance.of(sessionId).turns.map(({ status }) => status)).to.deep.equal(['completed', 'completed']);
  }));

  it('should keep silent on stdout when there is nobody to cancel', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    const before = client.messages.length;
    await client.cancel('nope');
    for (const params of [undefined, {}, { sessionId: 5 }, { sessionId: null }, [], 'x']) await client.notify('session/cancel', params);
    await client.caughtUp();
    expect(client.messages).to.have.lengthOf(before + 1);
    expect(instance.seen(routes.interrupt).filter(({ path }) => !path.includes(sessionId))).to.deep.equal([]);
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
  }));

  it('should cancel one session and leave the other alone', scene(async ({ instance, client }) => {
    const first = await client.open();
    const second = await client.newSession();
    for (const id of [first, second]) instance.of(id).scripts.push((turn) => {
      turn.start();
      turn.say('on it');
    });
    const calls = [client.prompt(first), client.prompt(second)];
    await client.said(first, 'on it');
    await client.said(second, 'on it');
    await client.cancel(first);
    expect(await calls[0]?.stopReason()).to.equal('cancelled');
    expect(calls[1]?.answer).to.equal(undefined);
    instance.of(second).runningTurn?.done('refusal');
    expect(await calls[1]?.stopReason()).to.equal('refusal');
  }));

  it('should pass on what the agent says while it stops, before the answer', scene(async ({ instance, client }) => {
    instance.scripts.push(byHand);
    const sessionId = await client.open();
    const call = client.prompt(sessionId);
    const turn = await instance.turn();
    turn.onInterrupt = () => {
      turn.say(' last words');
      turn.interrupted();
    };
    turn.start();
    turn.say('first');
    await client.said(sessionId, 'first');
    await client.cancel(sessionId);
    expect(await call.stopReason()).to.equal('cancelled');
    expect(client.text(sessionId)).to.equal('first last words');
    expect(client.updates().at(-1)?.index).to.be.lessThan(call.answer?.index ?? 0);
  }));

  it('should answer -32800, or what came of it, when another request is cancelled by its id', scene(async ({ instance, client }) => {
    const hold = new Signal();
    instance.depart(routes.create, { hold: hold.given }, { nth: [1] });
    await client.initialize();
    const call = client.call('session/new', { cwd: '/', mcpServers: [] });
    await instance.request(routes.create);
    await client.notify('$/cancel_request', { requestId: call.id });
    await client.caughtUp();
    hold.give();
    const { error, result } = await call.answered();
    if (error) expect(error.code).to.equal(-32800);
    else expect(result).to.have.property('sessionId');
    expect(await client.newSession()).not.to.equal('');
  }));
});

/** Never two turns of one session at once: a prompt waits behind a cancel, and is refused beside a running turn. */
describe('fountain acp: a second prompt', () => {
  it('should be queued behind a cancel that is on its way', scene(async ({ instance, client }) => {
    instance.scripts.push(byHand, says('second'));
    const sessionId = await client.open();
    const first = client.prompt(sessionId);
    const turn = await instance.turn();
    const stopped = new Signal();
    turn.onInterrupt = () => void stopped.given.then(() => turn.interrupted());
    turn.start();
    turn.say('first ');
    await client.said(sessionId, 'first ');
    await client.cancel(sessionId);
    const second = client.prompt(sessionId);
    await instance.request(routes.interrupt);
    stopped.give();
    expect(await first.stopReason()).to.equal('cancelled');
    expect(await second.stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('first second');
    expect(instance.of(sessionId).turns.map(({ status }) => status)).to.deep.equal(['interrupted', 'completed']);
  }));

  it('should be refused in words beside a running turn, which it does not harm', scene(async ({ instance, client }) => {
    instance.scripts.push(byHand, says('second'));
    const sessionId = await client.open();
    const first = client.prompt(sessionId);
    const turn = await instance.turn();
    turn.start();
    turn.say('first');
    await client.said(sessionId, 'first');
    const second = client.prompt(sessionId);
    const refused = await client.process.until(() => second.answer ?? instance.seen(routes.prompts)[1], 'the second prompt to be refused or sent');
    expect(refused).to.have.property('jsonrpc');
    expect(second.answer?.error?.message).to.match(/turn|running|busy/);
    turn.done('refusal');
    expect(await first.stopReason()).to.equal('refusal');
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
  }));

  it('should be answered in words when somebody else has a turn running', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    const theirs = instance.of(sessionId).foreignTurn({ clientRequestId: 'theirs' });
    theirs.start();
    theirs.say('THEIRS');
    expect((await client.prompt(sessionId).error()).message).to.match(/busy|running/);
    theirs.done();
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    expect(client.text(sessionId).endsWith('hello')).to.equal(true);
  }));
});
