import { expect } from 'chai';
import { orphaned, outcomeOfConversation, outcomeOfTurn, type Outcome } from '../../lib/operators/turnOutcome.ts';
import { readStage } from '../../lib/protocol/stage.ts';
import { stage } from '../support/serverEvents.ts';

type Case = readonly [name: string, metadata: Readonly<Record<string, unknown>>, outcome: Outcome | undefined];

function read(name: string, metadata: Readonly<Record<string, unknown>>) {
  return readStage(stage(1, name, metadata))!;
}

function stop(stopReason: 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled'): Outcome {
  return { kind: 'stop', stopReason };
}

function failure(message: string): Outcome {
  return { kind: 'failure', message };
}

function titleOf([name, metadata, outcome]: Case): string {
  const result = outcome === undefined ? 'nothing' : outcome.kind === 'stop' ? outcome.stopReason : JSON.stringify(outcome.message);
  return `should return ${result} when ${name} says ${JSON.stringify(metadata)}`;
}

describe('outcomeOfTurn', () => {
  const cases: readonly Case[] = [
    ['turn/done', {}, stop('end_turn')],
    ['turn/done', { stop_reason: 'end_turn' }, stop('end_turn')],
    ['turn/done', { stop_reason: 'max_tokens' }, stop('max_tokens')],
    ['turn/done', { stop_reason: 'max_turn_requests' }, stop('max_turn_requests')],
    ['turn/done', { stop_reason: 'refusal' }, stop('refusal')],
    ['turn/done', { stop_reason: 'a reason of tomorrow' }, stop('end_turn')],
    ['turn/done', { stop_reason: null }, stop('end_turn')],
    ['turn/done', { exit_code: 0 }, stop('end_turn')],
    ['turn/done', { exit_code: 3 }, failure('the turn failed: 3')],
    ['turn/failed', { stop_reason: 'refusal' }, stop('refusal')],
    ['turn/failed', { stop_reason: 'cancelled' }, stop('cancelled')],
    ['turn/failed', { stop_reason: 'max_tokens' }, stop('max_tokens')],
    ['turn/failed', { reason: 'the agent died' }, failure('the turn failed: the agent died')],
    ['turn/failed', { error: 'no model' }, failure('the turn failed: no model')],
    ['turn/failed', { exit_code: 137 }, failure('the turn failed: 137')],
    ['turn/failed', { reason: 'killed', exit_code: 137 }, failure('the turn failed: killed')],
    ['turn/failed', { stop_reason: 'a reason of tomorrow' }, failure('the turn failed: a reason of tomorrow')],
    ['turn/failed', {}, failure('the turn failed: no reason given')],
    ['turn/interrupted', {}, stop('cancelled')],
    ['turn/interrupted', { stop_reason: 'end_turn' }, stop('cancelled')],
    ['turn/started', {}, undefined],
    ['provision/failed', { reason: 'x' }, undefined],
    ['reattach/interrupted', { outcome: 'turn_orphaned' }, undefined],
  ];
  for (const one of cases) it(titleOf(one), () => expect(outcomeOfTurn(read(one[0], one[1]))).to.deep.equal(one[2]));
});

describe('outcomeOfConversation', () => {
  const always: readonly Case[] = [
    ['provision/failed', { reason: 'no capacity' }, failure('the sandbox never started: no capacity')],
    ['provision/failed', {}, failure('the sandbox never started: no reason given')],
    ['reattach/failed', { reason: 'not_found' }, failure('could not reattach to the sandbox, prompt again to provision a fresh one')],
    ['terminate/done', {}, failure('the conversation was terminated')],
    ['terminate/done', { event: 'released' }, failure('the conversation was terminated')],
    ['sandbox/done', { event: 'reclaimed', reason: 'max_lifetime' }, failure('the sandbox was reclaimed mid-turn: max_lifetime')],
    ['sandbox/done', { event: 'reset' }, failure('the sandbox was reclaimed mid-turn: no reason given')],
    ['sandbox/done', { event: 'at_capacity', reason: 'sandbox_at_capacity' }, failure('the prompt was not started: sandbox_at_capacity; it may be sent again shortly')],
    ['sandbox/done', { event: 'admission_refused', reason: 'sandbox_unavailable' }, failure('the prompt was not started: sandbox_unavailable; it may be sent again shortly')],
    ['provision/started', {}, undefined],
    ['provision/done', {}, undefined],
    ['reattach/done', { outcome: 'session_attached' }, undefined],
    ['model/failed', { detail: 'x' }, undefined],
    ['session/done', { event: 'reset' }, undefined],
    ['request/done', {}, undefined],
    ['clone/failed', { reason: 'x' }, undefined],
    ['a stage of tomorrow/failed', { reason: 'x' }, undefined],
  ];
  for (const one of always) {
    it(titleOf(one), () => {
      expect(outcomeOfConversation(read(one[0], one[1]), true)).to.deep.equal(one[2]);
      expect(outcomeOfConversation(read(one[0], one[1]), false)).to.deep.equal(one[2]);
    });
  }

  it('should end the turn when the sandbox is suspended behind it', () => {
    expect(outcomeOfConversation(read('sandbox/done', { event: 'suspended' }), true)).to.deep.equal(stop('end_turn'));
  });

  it('should not report success when the sandbox is suspended before the turn began', () => {
    const outcome = outcomeOfConversation(read('sandbox/done', { event: 'suspended' }), false);
    expect(outcome).to.have.property('kind', 'failure');
    expect(outcome).to.have.property('message').that.matches(/before the prompt was started.*again/);
  });
});

describe('orphaned', () => {
  it('should be a failure that asks to prompt again', () => {
    expect(orphaned).to.have.property('kind', 'failure');
    expect(orphaned).to.have.property('message').that.matches(/lost when the server restarted.*prompt again/);
  });
});
