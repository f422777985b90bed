import { expect } from 'chai';
import { scene } from '../support/scene.ts';
import { routes } from '../support/scripted/departures.ts';
import { bare, dialects } from '../support/scripted/eventFrame.ts';
import type { Script, ScriptedTurn } from '../support/scripted/turn.ts';

const started = (end: (turn: ScriptedTurn) => void): Script => (turn) => {
  turn.start();
  end(turn);
};

interface Ending {
  readonly when: string;
  readonly script: Script;
  readonly stopReason?: string;
  readonly words?: readonly (RegExp | string)[];
  readonly not?: RegExp;
  /** The conversation does not live on. */
  readonly last?: boolean;
}

const endings: readonly Ending[] = [
  { when: 'the turn is done without a stop reason', script: started((turn) => turn.ends('done')), stopReason: 'end_turn' },
  ...['end_turn', 'max_tokens', 'max_turn_requests', 'refusal', 'cancelled'].flatMap((reason): Ending[] => [
    { when: `the turn is done with ${reason}`, script: started((turn) => turn.done(reason)), stopReason: reason },
    { when: `the turn failed with the stop reason ${reason}`, script: started((turn) => turn.failed({ stop_reason: reason })), stopReason: reason },
  ]),
  { when: 'the turn was interrupted elsewhere', script: started((turn) => turn.interrupted()), stopReason: 'cancelled' },
  { when: 'the turn ended by process exit 0', script: started((turn) => turn.ends('done', { exit_code: 0 })), stopReason: 'end_turn' },
  { when: 'the turn failed with a reason', script: started((turn) => turn.failed({ reason: 'disk quota reached' })), words: ['the turn failed', 'disk quota reached'] },
  { when: 'the turn failed with an error', script: started((turn) => turn.failed({ error: 'harness vanished' })), words: ['the turn failed', 'harness vanished'] },
  { when: 'the turn failed with an exit code', script: started((turn) => turn.failed({ exit_code: 137 })), words: ['the turn failed', '137'] },
  { when: 'the turn failed without a word', script: started((turn) => turn.failed({})), words: ['the turn failed'], not: /undefined|null|\[object/ },
  { when: 'the turn failed before it started', script: (turn) => turn.failed({ reason: 'no harness' }), words: ['no harness'] },
  { when: 'provisioning failed', script: (turn) => turn.stage('provision', 'failed', { reason: 'no capacity in the region' }), words: ['the sandbox never started: no capacity in the region'], last: true },
  { when: 'provisioning failed with an error', script: (turn) => turn.stage('provision', 'failed', { error: 'image pull' }), words: ['the sandbox never started: image pull'], last: true },
  { when: 'reattaching failed', script: (turn) => turn.stage('reattach', 'failed', { reason: 'not_found', retryable: false }), words: ['could not reattach to the sandbox, prompt again to provision a fresh one'] },
  { when: 'the conversation was terminated', script: started((turn) => turn.stage('terminate', 'done')), words: ['terminated'], last: true },
  { when: 'the conversation was terminated and its turn interrupted by that', script: started((turn) => {
    turn.stage('terminate', 'done', { event: 'released' });
    turn.interrupted();
  }), words: ['terminated'], last: true },
  { when: 'the sandbox was reclaimed', script: started((turn) => turn.stage('sandbox', 'done', { event: 'reclaimed', reason: 'max_lifetime' })), words: ['reclaimed', 'max_lifetime'] },
  { when: 'the sandbox was reclaimed and its turn failed by that', script: started((turn) => {
    turn.stage('sandbox', 'done', { event: 'reclaimed', reason: 'idle', message: 'parked' });
    turn.failed({ reason: 'gone' });
  }), words: ['reclaimed'] },
  { when: 'the sandbox was reset by another conversation', script: started((turn) => turn.stage('sandbox', 'done', { event: 'reset', reason: 'reset_by_owner', by: 'another_conversation' })), words: ['reset_by_owner'] },
  { when: 'the sandbox was suspended before the turn started', script: (turn) => turn.stage('sandbox', 'done', { event: 'suspended', reason: 'idle' }), words: [/again/], not: /reclaimed/ },
  { when: 'the sandbox was suspended after the turn started', script: started((turn) => turn.stage('sandbox', 'done', { event: 'suspended' })), stopReason: 'end_turn' },
  { when: 'the sandbox had no room', script: (turn) => turn.stage('sandbox', 'done', { event: 'at_capacity', reason: 'sandbox_at_capacity' }), words: [/not started/, /again/], not: /reclaimed/ },
  { when: 'the sandbox was not admitted', script: (turn) => turn.stage('sandbox', 'done', { event: 'admission_refused', reason: 'sandbox_unavailable' }), words: [/not started/, /again/], not: /reclaimed/ },
];

/** A stop reason comes from the sandbox; what it has no word for is an error in words, and never a finished turn. */
describe('fountain acp: the end of a turn', () => {
  for (const dialect of dialects) {
    it(`should answer with the stop reason or in words, whatever ends a turn, at ${dialect.name}`, scene({ dialect }, async ({ instance, client }) => {
      let sessionId = await client.open();
      for (const { when, script, stopReason, words = [], not, last } of endings) {
        instance.scripts.push(script);
        const { result, error } = await client.prompt(sessionId).answered();
        if (stopReason !== undefined) expect(result, `${when}: ${JSON.stringify(error)}`).to.deep.equal({ stopReason });
        else {
          expect(error?.code, `${when}: ${JSON.stringify(result)}`).to.equal(-32603);
          for (const word of words) expect(error?.message, when).to[typeof word === 'string' ? 'contain' : 'match'](word as never);
          if (not) expect(error?.message, when).not.to.match(not);
        }
        if (last === true) sessionId = await client.newSession();
      }
    })).timeout(30_000);
  }

  it('should tell which conversation an error is about, for programs', scene(async ({ instance, client }) => {
    instance.scripts.push(started((turn) => turn.failed({ reason: 'r' })));
    const sessionId = await client.open();
    const { data } = await client.prompt(sessionId).error();
    if (data !== undefined) expect(JSON.stringify(data).length).to.be.lessThan(2000);
  }));

  it('should not take a stop reason that ACP does not have for one', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    for (const reason of ['exploded', 5, '', null]) {
      instance.scripts.push(started((turn) => turn.ends('done', { stop_reason: reason })));
      const { result, error } = await client.prompt(sessionId).answered();
      if (error === undefined) expect(result, String(reason)).to.deep.equal({ stopReason: 'end_turn' });
      else expect(error.message).to.contain(String(reason));
    }
  }));

  it('should note a refused model on stderr and go on with the turn', scene(async ({ instance, client }) => {
    instance.scripts.push(started((turn) => {
      turn.stage('model', 'failed', { requested: 'openai/gpt-moon', detail: 'not in your plan' });
      turn.say('with another');
      turn.done();
    }));
    const sessionId = await client.open();
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('with another');
    await client.noted('openai/gpt-moon');
  }));

  it('should not end a turn over stages that end nothing', scene(async ({ instance, client }) => {
    instance.scripts.push((turn) => {
      turn.stage('provision', 'started');
      turn.stage('clone', 'failed', { reason: 'x' });
      turn.stage('setup', 'failed', { exit_code: 1 });
      turn.stage('checkpoint_restore', 'failed', { reason: 'x' });
      turn.stage('provision', 'done');
      turn.stage('session', 'done', { event: 'reset', reason: 'fresh_sandbox' });
      turn.stage('reattach', 'done', { outcome: 'no_running_turn' });
      turn.start();
      turn.stage('connection', 'done', { reason: 'runner_disconnected' });
      turn.stage('terminate', 'started');
      turn.stage('turn', 'waiting');
      turn.stage('request', 'done', { request_id: 'r', outcome: 'timeout' });
      turn.stage('unheard_of', 'failed', { reason: 'x' });
      turn.conversation.announce({ kind: 'stage', stage: 'server', state: 'failed', data: '{"reason":"crash"}' });
      turn.say('still here');
      turn.done('max_tokens');
    });
    const sessionId = await client.open();
    expect(await client.prompt(sessionId).stopReason()).to.equal('max_tokens');
    expect(client.text(sessionId)).to.equal('still here');
  }));

  it('should report a turn that was lost when the server restarted, and not wait for ever', scene(async ({ instance, client }) => {
    instance.scripts.push(started((turn) => {
      turn.stage('reattach', 'started', { sprite_name: 's' });
      turn.stage('reattach', 'interrupted', { outcome: 'turn_orphaned', turn_id: turn.id, turn_number: turn.number, reason: 'attach_failed' });
      turn.status = 'interrupted';
    }));
    const sessionId = await client.open();
    const error = await client.prompt(sessionId).error();
    expect(error.message).to.match(/lost|restart|orphan/);
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
  }));

  it('should answer once when a turn ends twice', scene({ dialect: bare }, async ({ instance, client }) => {
    instance.scripts.push(started((turn) => {
      turn.interrupted();
      turn.done('end_turn');
      turn.stage('sandbox', 'done', { event: 'suspended' });
    }));
    const sessionId = await client.open();
    const call = client.prompt(sessionId);
    expect(await call.stopReason()).to.equal('cancelled');
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    expect(client.answersTo(call.id)).to.have.lengthOf(1);
    expect(instance.seen(routes.prompts)).to.have.lengthOf(2);
  }));
});
