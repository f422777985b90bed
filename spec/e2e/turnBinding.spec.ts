import { expect } from 'chai';
import { scene } from '../support/scene.ts';
import { routes } from '../support/scripted/departures.ts';
import { august, dialects, inRows, today } from '../support/scripted/eventFrame.ts';
import { byHand, says } from '../support/scripted/turn.ts';

const withIds = [today, august, inRows];

/** A prompt is bound to its own turn: nobody else's ends it, and nobody else's leaks into it. */
describe('fountain acp: a prompt and its turn', () => {
  for (const dialect of withIds) {
    it(`should wait for its own turn when another one runs first, at ${dialect.name}`, scene({ dialect }, async ({ instance, client }) => {
      instance.scripts.push(byHand);
      const sessionId = await client.open();
      const call = client.prompt(sessionId);
      const ours = await instance.turn();
      const theirs = ours.conversation.foreignTurn({ clientRequestId: 'theirs', origin: 'autonomous' });
      theirs.start();
      theirs.say('THEIRS');
      theirs.done('max_tokens');
      ours.start();
      ours.say('ours');
      ours.done('refusal');
      expect(await call.stopReason()).to.equal('refusal');
      expect(client.text(sessionId)).to.equal('ours');
    }));

    it(`should not end when an older turn's end comes late, at ${dialect.name}`, scene({ dialect }, async ({ instance, client }) => {
      instance.scripts.push(byHand);
      const sessionId = await client.open();
      const older = instance.of(sessionId).past(() => undefined);
      older.status = 'completed';
      const call = client.prompt(sessionId);
      const ours = await instance.turn();
      ours.start();
      ours.say('a');
      older.failed({ reason: 'late' });
      older.say('THEIRS');
      older.interrupted();
      ours.say('b');
      ours.done();
      expect(await call.stopReason()).to.equal('end_turn');
      expect(client.text(sessionId)).to.equal('ab');
    }));
  }

  for (const dialect of dialects) {
    it(`should wait for somebody else's turn that is running when an instance queues its prompt, at ${dialect.name}`, scene({ dialect, queuesPrompts: true }, async ({ instance, client }) => {
      const bound = instance.conversation({ channel: 'c' });
      const theirs = bound.foreignTurn({ clientRequestId: 'theirs' });
      theirs.start();
      theirs.say('THEIRS');
      instance.scripts.push(byHand);
      await client.initialize();
      const sessionId = await client.newSession({ channelId: 'c' });
      const call = client.prompt(sessionId);
      const ours = await instance.turn();
      theirs.say('THEIRS');
      theirs.done('max_tokens');
      ours.start();
      ours.say('ours');
      ours.done('refusal');
      expect(await call.stopReason()).to.equal('refusal');
      expect(client.text(sessionId)).to.equal('ours');
    }));
  }

  it('should take the turn that bears its name when both have one', scene(async ({ instance, client }) => {
    instance.scripts.push(byHand);
    const sessionId = await client.open();
    const call = client.prompt(sessionId, 'x', { clientRequestId: 'mine' });
    const ours = await instance.turn();
    for (const clientRequestId of ['another', null]) {
      const theirs = ours.conversation.foreignTurn({ clientRequestId });
      theirs.start();
      theirs.say('THEIRS');
      theirs.done('max_tokens');
    }
    ours.start();
    ours.say('mine');
    ours.done('refusal');
    expect(await call.stopReason()).to.equal('refusal');
    expect(client.text(sessionId)).to.equal('mine');
  }));

  it('should not take a turn that bears a name when it gave none', scene(async ({ instance, client }) => {
    instance.scripts.push(byHand);
    const sessionId = await client.open();
    const call = client.prompt(sessionId);
    const ours = await instance.turn();
    const theirs = ours.conversation.foreignTurn({ clientRequestId: 'theirs' });
    theirs.start();
    theirs.say('THEIRS');
    theirs.done('max_tokens');
    ours.start();
    ours.done('refusal');
    expect(await call.stopReason()).to.equal('refusal');
    expect(client.text(sessionId)).to.equal('');
  }));

  it('should keep two prompts of one name apart', scene(async ({ instance, client }) => {
    instance.scripts.push(says('first '), says('second'));
    const sessionId = await client.open();
    expect(await client.prompt(sessionId, 'x', { clientRequestId: 'same' }).stopReason()).to.equal('end_turn');
    expect(await client.prompt(sessionId, 'x', { clientRequestId: 'same' }).stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('first second');
    expect(instance.seen(routes.prompts)).to.have.lengthOf(2);
  }));

  for (const dialect of dialects) {
    it(`should end by its own turn when the history holds many ends, at ${dialect.name}`, scene({ dialect }, async ({ instance, client }) => {
      const bound = instance.conversation({ channel: 'c' });
      for (let nth = 0; nth < 20; nth += 1) bound.past(says('OLD'));
      instance.scripts.push(byHand);
      await client.initialize();
      const sessionId = await client.newSession({ channelId: 'c' });
      const call = client.prompt(sessionId);
      const turn = await instance.turn();
      turn.start();
      turn.say('new');
      turn.done('refusal');
      expect(await call.stopReason()).to.equal('refusal');
      expect(client.text(sessionId)).to.equal('new');
    }));

    it(`should take a turn that is announced twice for one, at ${dialect.name}`, scene({ dialect }, async ({ instance, client }) => {
      instance.scripts.push((turn) => {
        turn.start();
        turn.say('a');
        turn.stage('session', 'done', { event: 'reset', reason: 'session_gone' });
        turn.start();
        turn.say('b');
        turn.done('refusal');
      });
      const sessionId = await client.open();
      expect(await client.prompt(sessionId).stopReason()).to.equal('refusal');
      expect(client.text(sessionId)).to.equal('ab');
    }));

    it(`should end by a terminal event when no start was seen, at ${dialect.name}`, scene({ dialect }, async ({ instance, client }) => {
      instance.scripts.push((turn) => {
        turn.say('x');
        turn.failed({ reason: 'before it began' });
      });
      const sessionId = await client.open();
      expect((await client.prompt(sessionId).error()).message).to.contain('before it began');
    }));

    it(`should miss nothing when the turn is over before the prompt is answered, at ${dialect.name}`, scene({ dialect }, async ({ instance, client }) => {
      const sessionId = await client.open();
      const over = instance.condition.until(() => instance.of(sessionId).turns[0]?.status === 'completed', () => 'the turn to end');
      instance.depart(routes.prompts, { carriedOut: true, hold: over });
      instance.scripts.push(says('quick'));
      expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
      expect(client.text(sessionId)).to.equal('quick');
    }));
  }

  it('should say nothing of a turn that ran while it was not attached', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    const conversation = instance.of(sessionId);
    conversation.drop('end');
    await client.caughtUp();
    const theirs = conversation.foreignTurn({ clientRequestId: 'elsewhere' });
    theirs.start();
    theirs.say('THEIRS');
    theirs.done('refusal');
    const asked = client.messages.length;
    instance.scripts.push(says('again'));
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    expect(client.messages.slice(asked).map(({ line }) => line).join('')).to.contain('again').and.not.to.contain('THEIRS');
  }));

  it('should end by a conversation-wide end whoever it meant', scene(async ({ instance, client }) => {
    instance.scripts.push((turn) => {
      turn.start();
      turn.conversation.stage('sandbox', 'done', { event: 'reclaimed', reason: 'max_lifetime' });
    });
    const sessionId = await client.open();
    expect((await client.prompt(sessionId).error()).message).to.contain('max_lifetime');
  }));
});

/** What a prompt costs does not depend on how long the conversation is. */
describe('fountain acp: the head of the log', () => {
  for (const dialect of dialects) {
    it(`should not fetch what was said before to find the end of a resumed log, at ${dialect.name}`, scene({ dialect }, async ({ instance, client }) => {
      const bound = instance.conversation({ channel: 'c' });
      for (let nth = 0; nth < 30; nth += 1) bound.past(says('OLD '.repeat(50)));
      await client.initialize();
      const sessionId = await client.newSession({ channelId: 'c' });
      expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
      expect(client.text(sessionId)).to.equal('hello');
      const streams = instance.requests.filter(({ kind }) => kind !== undefined);
      for (const { kind, query, headers, path } of streams) {
        const from = Number(headers['last-event-id'] ?? query.get('after') ?? 0);
        const harmless = query.get('streams') === 'stage' || from >= (bound.events.at(-4)?.id ?? 0);
        expect(harmless, `${String(kind)} ${path}?${query.toString()} from ${from}`).to.equal(true);
      }
    }));
  }

  it('should go on from the last event it saw when it prompts again', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    await client.prompt(sessionId).result();
    const conversation = instance.of(sessionId);
    const seen = conversation.lastEventId;
    conversation.drop('end');
    await client.prompt(sessionId).result();
    expect(client.text(sessionId)).to.equal('hellohello');
    const last = instance.seen(routes.follow).at(-1);
    expect(Number(last?.headers['last-event-id'])).to.be.at.least(seen);
  }));

  it('should keep ids up to 2^53 exact', scene(async ({ instance, client }) => {
    instance.nextEventId = Number.MAX_SAFE_INTEGER - 20;
    instance.scripts.push(byHand);
    const sessionId = await client.open();
    const call = client.prompt(sessionId);
    const turn = await instance.turn();
    turn.start();
    turn.say('a');
    await client.said(sessionId, 'a');
    const { conversation } = turn;
    const seen = conversation.lastEventId;
    conversation.drop('end');
    await conversation.followed();
    expect(instance.seen(routes.follow).at(-1)?.headers['last-event-id']).to.equal(String(seen));
    turn.say('b');
    turn.done();
    expect(await call.stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('ab');
  }));
});
