import { expect } from 'chai';
import type { JsonObject } from '../../lib/protocol/jsonrpc.ts';
import type { AcpClient, Call, Question } from '../support/acpClient.ts';
import { scene } from '../support/scene.ts';
import { routes } from '../support/scripted/departures.ts';
import { dialects } from '../support/scripted/eventFrame.ts';
import { byHand, usualOptions, type HeldRequest, type PermissionRequest, type ScriptedTurn } from '../support/scripted/turn.ts';
import type { ScriptedInstance } from '../support/scriptedInstance.ts';

interface Asked {
  readonly sessionId: string;
  readonly call: Call;
  readonly turn: ScriptedTurn;
  readonly held: HeldRequest;
  readonly question: Question;
}

/** A turn that waits on a question which the client has. */
async function ask(instance: ScriptedInstance, client: AcpClient, request?: PermissionRequest, opened?: string): Promise<Asked> {
  const sessionId = opened ?? (await client.open());
  const nth = client.questions.length + 1;
  instance.of(sessionId).scripts.push(byHand);
  const call = client.prompt(sessionId);
  const turn = await instance.condition.until(() => instance.of(sessionId).turns.findLast(({ status }) => status === 'pending'), () => 'the turn');
  turn.start();
  const held = turn.ask(request);
  return { sessionId, call, turn, held, question: await client.question(nth) };
}

const withdrawals = (client: AcpClient): number => client.notifications('$/cancel_request').length;

/** The agent's own question with the agent's own options goes to the client, and the client's choice goes back. */
describe('fountain acp: permission prompts', () => {
  for (const dialect of dialects) {
    it(`should ask with the agent's options alone and carry the choice back, at ${dialect.name}`, scene({ dialect }, async ({ instance, client }) => {
      const toolCall = { toolCallId: 't', title: 'Write', kind: 'edit', rawInput: { big: 1 }, locations: [{ path: '/w/x', line: 2 }], _meta: { own: 1 } };
      const options = [...usualOptions, { optionId: 'odd', name: 'Odd', kind: 'kind_of_tomorrow', extra: { x: 1 } }];
      const { sessionId, call, turn, question } = await ask(instance, client, { toolCall, options });
      const { locations, ...rest } = toolCall;
      expect(question.params).to.deep.equal({ sessionId, toolCall: { ...rest, _meta: { own: 1, 'fountain.sandboxLocations': locations } }, options });
      await question.choose('odd');
      expect(await turn.conversation.answer()).to.deep.equal({ requestId: '1.c0ffee00c0ffee00', optionId: 'odd' });
      turn.say('went on');
      turn.done();
      expect(await call.stopReason()).to.equal('end_turn');
      expect(client.text(sessionId)).to.equal('went on');
      expect(withdrawals(client)).to.equal(0);
    }));
  }

  const ids: readonly [unknown, string][] = [
    ['0.a1/b c#d?e%', '0.a1%2Fb%20c%23d%3Fe%25'],
    ['żółć', '%C5%BC%C3%B3%C5%82%C4%87'],
    [7, '7'],
    ['7', '7'],
  ];
  for (const [id, segment] of ids) {
    it(`should answer the request ${JSON.stringify(id)} under ${segment}, and ask under an id of its own`, scene(async ({ instance, client }) => {
      const { call, turn, question } = await ask(instance, client, { id });
      expect(question.message.id).to.be.a('number');
      await question.choose('run-it');
      await turn.conversation.answer();
      turn.done();
      await call.result();
      expect(instance.seen(routes.answers).map(({ path, body }) => [path.split('/').at(-1), body])).to.deep.equal([[segment, { option_id: 'run-it' }]]);
    }));
  }

  it('should address the answer by the id as it was written when it is a number', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    instance.scripts.push(byHand);
    const call = client.prompt(sessionId);
    const turn = await instance.turn();
    turn.start();
    const ids = ['0', '1.50', '12345678901234567890', '-3'];
    for (const id of ids) {
      turn.line(`{"jsonrpc":"2.0","id":${id},"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t","title":"T"},"options":${JSON.stringify(usualOptions)}}}`);
    }
    for (const [at] of ids.entries()) await (await client.question(at + 1)).choose('always');
    await instance.request(routes.answers, ids.length);
    expect(instance.seen(routes.answers).map(({ path }) => path.split('/').at(-1))).to.have.members(ids);
    turn.done();
    await call.result();
  }));

  it('should go on streaming while a question is open', scene(async ({ instance, client }) => {
    const { sessionId, call, turn, question } = await ask(instance, client);
    turn.say('meanwhile');
    await client.said(sessionId, 'meanwhile');
    expect(call.answer).to.equal(undefined);
    await question.choose('run-it');
    await turn.conversation.answer();
    turn.done();
    expect(await call.stopReason()).to.equal('end_turn');
  }));

  it('should keep two questions of one turn, and those of two sessions, apart', scene(async ({ instance, client }) => {
    const first = await ask(instance, client);
    const secondHeld = first.turn.ask({ id: '1.second' });
    const second = await client.question(2);
    const other = await ask(instance, client, undefined, await client.newSession());
    expect(new Set(client.questions.map(({ message }) => message.id)).size).to.equal(3);
    await other.question.choose('never');
    await second.choose('skip-it');
    await first.question.choose('always');
    await first.turn.conversation.answer(2);
    await other.turn.conversation.answer();
    expect(first.turn.conversation.answers).to.have.deep.members([
      { requestId: secondHeld.id, optionId: 'skip-it' },
      { requestId: first.held.id, optionId: 'always' },
    ]);
    expect(other.turn.conversation.answers).to.deep.equal([{ requestId: other.held.id, optionId: 'never' }]);
    first.turn.done();
    other.turn.done('refusal');
    expect([await first.call.stopReason(), await other.call.stopReason()]).to.deep.equal(['end_turn', 'refusal']);
  }));
});

/** Every outcome but a choice among the offered options is a denial, with an option that the agent offered. */
describe('fountain acp: permission denials', () => {
  const outcomes: readonly [string, JsonObject][] = [
    ['dismissed', { result: { outcome: { outcome: 'cancelled' } } }],
    ['answered with an option that was not offered', { result: { outcome: { outcome: 'selected', optionId: 'allow_everything' } } }],
    ['answered with an option of another type', { result: { outcome: { outcome: 'selected', optionId: 0 } } }],
    ['answered in an older shape', { result: { outcome: 'selected', optionId: 'run-it' } }],
    ['answered with a misnamed option', { result: { outcome: { outcome: 'selected', id: 'run-it' } } }],
    ['answered with an unknown outcome', { result: { outcome: { outcome: 'approved', optionId: 'run-it' } } }],
    ['answered with nothing', { result: {} }],
    ['answered with null', { result: null }],
    ['answered with a string', { result: 'run-it' }],
    ['refused as unknown', { error: { code: -32601, message: 'Method not found' } }],
    ['failed', { error: { code: -32603, message: 'boom' } }],
    ['answered with an error and a result', { result: { outcome: { outcome: 'selected', optionId: 'run-it' } }, error: { code: 1, message: 'x' } }],
  ];
  it('should deny with the first rejecting option whatever else comes back', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    for (const [name, answer] of outcomes) {
      const { call, turn, question } = await ask(instance, client, {}, sessionId);
      const already = turn.conversation.answers.length;
      await question.reply(answer);
      expect(await turn.conversation.answer(already + 1), name).to.include({ optionId: 'skip-it' });
      turn.say('on');
      turn.done();
      expect(await call.stopReason(), name).to.equal('end_turn');
    }
  })).timeout(30_000);

  it('should take the rejecting option in the order of the agent', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    const option = (optionId: string, kind: string): JsonObject => ({ optionId, name: optionId, kind });
    for (const options of [
      [option('n', 'reject_always'), option('y', 'allow_once'), option('o', 'reject_once')],
      [option('y', 'allow_always'), option('n', 'reject_with_note'), option('o', 'reject_always')],
    ]) {
      const { call, turn, question } = await ask(instance, client, { options }, sessionId);
      const already = turn.conversation.answers.length;
      await question.dismiss();
      expect(await turn.conversation.answer(already + 1)).to.include({ optionId: 'n' });
      turn.done();
      await call.result();
    }
  }));

  const hopeless: readonly [string, readonly JsonObject[] | undefined][] = [
    ['there is no list of options', undefined],
    ['there are no options', []],
    ['all options allow', [{ optionId: 'y', name: 'Y', kind: 'allow_once' }]],
  ];
  for (const [name, options] of hopeless) {
    it(`should send nothing, and say so, when ${name}`, scene(async ({ instance, client }) => {
      const sessionId = await client.open();
      instance.scripts.push(byHand);
      const call = client.prompt(sessionId);
      const turn = await instance.turn();
      turn.start();
      if (options) turn.ask({ options });
      else turn.line('{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t","title":"T"}}}');
      if (options && options.length > 0) await (await client.question()).dismiss();
      else await client.process.until(() => client.questions.length > 0 || client.stderr !== '', 'a question or a note');
      for (const question of client.questions) await question.dismiss();
      await client.caughtUp();
      turn.done();
      expect(await call.stopReason()).to.equal('end_turn');
      expect(instance.seen(routes.answers)).to.deep.equal([]);
      expect(client.stderr).not.to.equal('');
    }));
  }

  const failures: readonly [string, object][] = [
    ['is cut off', { breaks: 'reset' }],
    ['meets a fault of the instance', { status: 500, text: 'boom' }],
    ['is forbidden', { status: 403, json: { error: 'sprite_may_not_answer' } }],
    ['comes too late', { status: 409, json: { error: 'permission_request_resolved' } }],
  ];
  for (const [name, departure] of failures) {
    it(`should go on with the turn when the answer ${name}`, scene(async ({ instance, client }) => {
      instance.depart(routes.answers, departure);
      const { sessionId, call, turn, question } = await ask(instance, client);
      await question.choose('run-it');
      await instance.request(routes.answers);
      await client.caughtUp();
      turn.say('on');
      turn.done();
      expect(await call.stopReason()).to.equal('end_turn');
      expect(client.text(sessionId)).to.equal('on');
      await client.caughtUp();
    }));
  }

  it('should cancel a turn that waits on a question, whatever the client makes of it', scene(async ({ instance, client }) => {
    const { sessionId, call, question } = await ask(instance, client);
    await client.cancel(sessionId);
    await question.dismiss();
    expect(await call.stopReason()).to.equal('cancelled');
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
  }));

  it('should not let a late answer harm the next turn', scene(async ({ instance, client }) => {
    const { sessionId, call, turn, question } = await ask(instance, client);
    turn.done();
    expect(await call.stopReason()).to.equal('end_turn');
    await question.choose('run-it');
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    expect(turn.conversation.answers).to.deep.equal([]);
  }));

  it('should take the first answer of a client that answers twice', scene(async ({ instance, client }) => {
    const { call, turn, question } = await ask(instance, client);
    await question.choose('never');
    await question.choose('run-it');
    await client.caughtUp();
    await turn.conversation.answer();
    turn.done();
    await call.result();
    expect(turn.conversation.answers.map(({ optionId }) => optionId)).to.deep.equal(['never']);
  }));

  it('should deny open questions when stdin ends', scene(async ({ instance, client }) => {
    const { turn } = await ask(instance, client);
    client.process.endInput();
    expect(await turn.conversation.answer()).to.include({ optionId: 'skip-it' });
    expect((await client.process.exit()).code).to.equal(0);
  }));

  it('should deny open questions when it is told to stop', scene(async ({ instance, client }) => {
    const { turn } = await ask(instance, client);
    client.process.signal('SIGTERM');
    expect(await turn.conversation.answer()).to.include({ optionId: 'skip-it' });
    await client.process.exit();
    expect(instance.seen(routes.interrupt)).to.deep.equal([]);
  }));
});

/** A question that no longer waits is withdrawn, at the clients that take it. */
describe('fountain acp: withdrawn questions', () => {
  const ends: readonly [string, (asked: Asked) => void][] = [
    ['it was answered elsewhere', ({ turn, held }) => turn.conversation.closeRequests('answered', held, 'run-it')],
    ['it timed out', ({ turn, held }) => turn.conversation.closeRequests('timeout', held)],
    ['its turn ended', ({ turn }) => turn.done()],
    ['its turn was interrupted', ({ turn }) => turn.interrupted()],
    ['the conversation was terminated', ({ turn }) => turn.stage('terminate', 'done')],
  ];
  for (const [name, end] of ends) {
    it(`should withdraw a question once when ${name}, and ignore an answer after that`, scene(async ({ instance, client }) => {
      const asked = await ask(instance, client);
      end(asked);
      await client.withdrawn(asked.question);
      await asked.question.choose('run-it');
      await client.caughtUp();
      expect(withdrawals(client)).to.equal(1);
      if (asked.turn.status === 'running') asked.turn.done();
      await asked.call.answered();
      expect(asked.turn.conversation.answers).to.deep.equal([]);
    }));
  }

  it('should withdraw a question whose answer lost the race', scene(async ({ instance, client }) => {
    const { call, turn, held, question } = await ask(instance, client);
    held.close();
    await question.choose('run-it');
    await turn.conversation.answer();
    turn.done();
    expect(await call.stopReason()).to.equal('end_turn');
  }));

  it('should not send a withdrawal to a client that shows it as an error', scene(async ({ instance, client }) => {
    await client.initialize({}, { name: 'agentic.nvim', version: '0.1.0' });
    const { call, turn } = await ask(instance, client, {}, await client.newSession());
    turn.done();
    await call.result();
    await client.caughtUp();
    expect(withdrawals(client)).to.equal(0);
  }));

  it('should ask one question once when the stream is cut and replayed', scene(async ({ instance, client }) => {
    const { turn, call, question } = await ask(instance, client);
    for (const how of ['reset', 'end', 'close'] as const) {
      turn.conversation.drop(how);
      await turn.conversation.followed();
    }
    await client.caughtUp();
    expect(client.questions).to.have.lengthOf(1);
    await question.choose('run-it');
    await turn.conversation.answer();
    turn.done();
    await call.result();
  }));
});
