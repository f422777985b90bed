import { expect } from 'chai';
import { scene } from '../support/scene.ts';
import { routes } from '../support/scripted/departures.ts';
import { dialects } from '../support/scripted/eventFrame.ts';
import { byHand, sandboxSessionId, says } from '../support/scripted/turn.ts';

const counted = (count: number): string[] => Array.from({ length: count }, (_, at) => `${at} `);

/** A loaded session is the stored conversation: all of it, in order, and only then the answer. */
describe('fountain acp: session/load', () => {
  for (const dialect of dialects) {
    it(`should replay the whole history and then answer, at ${dialect.name}`, scene({ dialect }, async ({ instance, client }) => {
      const old = instance.conversation();
      for (const words of counted(400)) old.past(says(words));
      await client.initialize();
      const call = client.load(old.id);
      const { models } = (await call.result()) as { models: { currentModelId: string; availableModels: unknown[] } };
      expect(client.text(old.id)).to.equal(counted(400).join(''));
      expect(client.updates(old.id).at(-1)?.index).to.be.lessThan(call.answer?.index ?? 0);
      expect(models.availableModels).to.have.lengthOf(1);
      expect(models.currentModelId).to.equal(instance.agents[0]?.model);
      expect(client.messages.map(({ line }) => line).join('')).not.to.contain(sandboxSessionId);
      expect(client.questions).to.deep.equal([]);
    }));

    it(`should answer a load of a running conversation at once and then follow it to its end, at ${dialect.name}`, scene({ dialect }, async ({ instance, client }) => {
      const old = instance.conversation();
      old.past(says('before '));
      const running = old.foreignTurn();
      running.start();
      running.say('so far ');
      await client.initialize();
      const call = client.load(old.id);
      await call.result();
      expect(client.text(old.id)).to.equal('before so far ');
      await old.followed();
      running.say('and on');
      await client.said(old.id, 'and on');
      running.done();
      expect(await client.prompt(old.id).stopReason()).to.equal('end_turn');
      expect(client.text(old.id)).to.equal('before so far and onhello');
    }));

    it(`should say nothing twice when the history ends in a turn that was never ended, at ${dialect.name}`, scene({ dialect }, async ({ instance, client }) => {
      const old = instance.conversation();
      const lost = old.past((turn) => {
        turn.start();
        turn.say('lost ');
      });
      lost.status = 'failed';
      old.status = 'idle';
      await client.initialize();
      await client.load(old.id).result();
      expect(await client.prompt(old.id).stopReason()).to.equal('end_turn');
      await client.caughtUp();
      expect(client.text(old.id)).to.equal('lost hello');
    }));

    it(`should prompt a loaded session without saying its history again, at ${dialect.name}`, scene({ dialect }, async ({ instance, client }) => {
      const old = instance.conversation();
      for (let nth = 0; nth < 20; nth += 1) old.past(says('o'));
      await client.initialize();
      await client.load(old.id).result();
      instance.scripts.push((turn) => {
        turn.start();
        turn.say('new');
        turn.done('max_tokens');
      });
      expect(await client.prompt(old.id).stopReason()).to.equal('max_tokens');
      expect(await client.prompt(old.id).stopReason()).to.equal('end_turn');
      expect(client.text(old.id)).to.equal(`${'o'.repeat(20)}newhello`);
    }));
  }

  it('should answer with an object when there is no history', scene(async ({ instance, client }) => {
    const old = instance.conversation();
    await client.initialize();
    expect(await client.load(old.id).result()).to.be.an('object').with.property('models');
    expect(client.updates(old.id)).to.deep.equal([]);
    expect(await client.prompt(old.id).stopReason()).to.equal('end_turn');
  }));

  for (const sessionId of ['b2c4b4ee-0000-4000-8000-00000000dead', 'nope', '../agents', 'a b/c?d#e%']) {
    it(`should answer -32002 and name the session when there is no conversation ${sessionId}`, scene(async ({ client }) => {
      await client.initialize();
      const error = await client.load(sessionId).error();
      expect(error.code).to.equal(-32002);
      expect(error.message).to.contain(sessionId);
      expect(error.data).to.deep.include({ sessionId });
      expect(await client.newSession()).not.to.equal('');
    }));
  }

  it('should refuse a load without a session id', scene(async ({ client }) => {
    await client.initialize();
    for (const sessionId of [undefined, null, 5, '']) {
      expect((await client.call('session/load', { sessionId, cwd: '/', mcpServers: [] }).error()).code, String(sessionId)).to.be.oneOf([-32602, -32002]);
    }
  }));

  it('should refuse a transcript that is not ACP, and name its runtime', scene(async ({ instance, client }) => {
    const old = instance.conversation({ acp: false, runtime: 'print-only' });
    old.past((turn) => turn.output('stdout', 'plain'));
    await client.initialize();
    const error = await client.load(old.id).error();
    expect(error.code).to.equal(-32602);
    expect(error.message).to.contain('print-only').and.to.contain('does not speak ACP');
    expect(client.updates()).to.deep.equal([]);
  }));

  it('should load a conversation of any agent, deleted ones included, and of a terminated status', scene(async ({ instance, client }) => {
    await client.initialize();
    for (const facts of [{ agentId: null }, { agentId: '00000000-0000-4000-8000-00000000aaaa' }, { status: 'terminated' }, { status: 'failed' }]) {
      const old = instance.conversation(facts);
      old.past(says('kept'));
      if (facts.status !== undefined) old.status = facts.status;
      expect(await client.load(old.id).result(), JSON.stringify(facts)).to.have.nested.property('models.availableModels');
      expect(client.text(old.id)).to.equal('kept');
    }
  }));

  it('should replay what a replay shares with a live turn: locations, titles, gates', scene(async ({ instance, client }) => {
    const old = instance.conversation();
    old.past((turn) => {
      turn.start();
      turn.update({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'u' }, messageId: 'm' });
      turn.update({ sessionUpdate: 'tool_call', toolCallId: 't', title: 'T', locations: [{ path: '/w' }] });
      turn.update({ sessionUpdate: 'session_info_update', title: '  Two \n words ' });
      turn.update({ sessionUpdate: 'notice', severity: 'info', title: 'n' });
      turn.done();
    });
    await client.initialize();
    await client.load(old.id).result();
    expect(client.updatesOf(old.id)).to.deep.equal([
      { sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'u' }, messageId: 'm' },
      { sessionUpdate: 'tool_call', toolCallId: 't', title: 'T', _meta: { 'fountain.sandboxLocations': [{ path: '/w' }] } },
      { sessionUpdate: 'session_info_update', title: 'Two words' },
    ]);
  }));

  it('should replay first and then prompt when both come at once', scene(async ({ instance, client }) => {
    const old = instance.conversation();
    for (const words of counted(100)) old.past(says(words));
    await client.initialize();
    const load = client.load(old.id);
    const prompt = client.prompt(old.id);
    const { result, error } = await prompt.answered();
    await load.result();
    expect(load.answer?.index).to.be.lessThan(result ? (prompt.answer?.index ?? 0) : Infinity);
    if (result === undefined) expect(error?.code).to.be.oneOf([-32002, -32600, -32602]);
    expect(client.text(old.id)).to.equal(counted(100).join('') + (result ? 'hello' : ''));
  }));

  it('should load a session that is open already, from the start', scene(async ({ instance, client }) => {
    instance.scripts.push(says('once '), says('again'));
    const sessionId = await client.open();
    await client.prompt(sessionId).result();
    await client.load(sessionId).result();
    expect(client.text(sessionId)).to.equal('once once ');
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('once once again');
  }));
});

/** A replay that breaks off is taken up again; one that cannot be had is an error and not half a conversation. */
describe('fountain acp: a replay under faults', () => {
  for (const cutAfter of [0, 1, 7, 29]) {
    it(`should go on with a replay that is cut after ${cutAfter} events`, scene(async ({ instance, client }) => {
      const old = instance.conversation();
      for (const words of counted(10)) old.past(says(words));
      instance.depart(routes.history, { cutAfter }, { nth: [1] });
      await client.initialize();
      await client.load(old.id).result(15_000);
      expect(client.text(old.id)).to.equal(counted(10).join(''));
    }));
  }

  it('should come to the end of a replay that is cut again and again', scene(async ({ instance, client }) => {
    const old = instance.conversation();
    for (const words of counted(40)) old.past(says(words));
    instance.depart(routes.history, { cutAfter: 50 });
    await client.initialize();
    await client.load(old.id).result();
    expect(client.text(old.id)).to.equal(counted(40).join(''));
  }));

  for (const withoutLast of [1, 2]) {
    it(`should take the last event when its body ends ${withoutLast} characters early`, scene(async ({ instance, client }) => {
      const old = instance.conversation();
      const turn = old.foreignTurn();
      for (const words of ['1', '2', '3']) turn.say(words);
      instance.depart(routes.history, { withoutLast });
      await client.initialize();
      await client.load(old.id).result();
      expect(client.text(old.id)).to.equal('123');
    }));
  }

  it('should say in words that a replay cannot be had', scene(async ({ instance, client }) => {
    const old = instance.conversation();
    old.past();
    instance.depart(routes.history, { status: 403, json: { error: 'forbidden', message: 'not for you' } });
    instance.depart(routes.follow, { status: 403, json: { error: 'forbidden', message: 'not for you' } });
    await client.initialize();
    const error = await client.load(old.id).error(20_000);
    expect(error.message).to.contain('not for you');
  })).timeout(25_000);

  it('should ask an open permission request of a running turn again after the load', scene(async ({ instance, client }) => {
    const old = instance.conversation();
    old.past((turn) => {
      turn.start();
      turn.conversation.closeRequests('answered', turn.ask({ id: 'closed.1' }), 'run-it');
      turn.done();
    });
    const running = old.foreignTurn();
    running.start();
    const answered = running.ask({ id: 'closed.2' });
    old.closeRequests('answered', answered, 'run-it');
    const held = running.ask({ id: 'open.3', toolCall: { toolCallId: 'c', title: 'still open' } });
    await client.initialize();
    const call = client.load(old.id);
    await call.result();
    const question = await client.question();
    expect(question.message.index).to.be.greaterThan(call.answer?.index ?? 0);
    expect(question.params).to.have.nested.property('toolCall.title', 'still open');
    expect(client.questions).to.have.lengthOf(1);
    await question.choose('skip-it');
    expect(await old.answer()).to.deep.equal({ requestId: held.id, optionId: 'skip-it' });
    running.say('end');
    await client.said(old.id, 'end');
    running.done();
  }));

  it('should miss and double nothing that is said while the history is replayed', scene(async ({ instance, client }) => {
    const old = instance.conversation();
    const running = old.foreignTurn();
    running.start();
    const words = counted(300);
    for (const word of words.slice(0, 100)) running.say(word);
    await client.initialize();
    const call = client.load(old.id);
    await instance.request(routes.history).catch(() => instance.request(routes.follow));
    for (const word of words.slice(100, 200)) running.say(word);
    await call.result();
    for (const word of words.slice(200)) running.say(word);
    await client.said(old.id, words.at(-1) ?? '');
    expect(client.text(old.id)).to.equal(words.join(''));
  }));

  it('should cancel the running turn of a loaded session', scene(async ({ instance, client }) => {
    const old = instance.conversation();
    const running = old.foreignTurn();
    running.start();
    await client.initialize();
    await client.load(old.id).result();
    await client.cancel(old.id);
    await instance.request(routes.interrupt);
    await instance.condition.until(() => running.status === 'interrupted', () => 'the interrupt');
    expect(await client.prompt(old.id).stopReason()).to.equal('end_turn');
  }));

  it('should serve other requests while a history is replayed', scene(async ({ instance, client }) => {
    const old = instance.conversation();
    old.past();
    instance.depart(routes.history, { stream: ': still coming\n\n', open: true }, { nth: [1] });
    await client.initialize();
    const call = client.load(old.id);
    await instance.request(routes.history);
    const sessionId = await client.newSession();
    instance.scripts.push(byHand);
    const prompt = client.prompt(sessionId);
    const turn = await instance.turn();
    turn.start();
    turn.done();
    expect(await prompt.stopReason()).to.equal('end_turn');
    expect(call.answer).to.equal(undefined);
  }));
});
