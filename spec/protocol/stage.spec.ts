import { expect } from 'chai';
import type { ServerEvent } from '../../lib/protocol/fountain.ts';
import { endsTurn, readStage, reasonOf, startsTurn } from '../../lib/protocol/stage.ts';

function stageEvent(stage: string, state: string, data: string, turnId: string | null = null): ServerEvent {
  return { kind: 'stage', stream: '', data, stage, state, turn_id: turnId };
}

function read(stage: string, state: string, metadata: object = {}) {
  return readStage(stageEvent(stage, state, JSON.stringify(metadata)))!;
}

describe('readStage', () => {
  it('should return nothing when the event is output', () => {
    expect(readStage({ ...stageEvent('turn', '', '{}'), kind: 'output', stream: 'acp' })).to.equal(undefined);
  });

  it('should take the turn of the metadata, else of the row', () => {
    expect(readStage(stageEvent('turn', 'done', '{"turn_id":"t1"}', 'row'))!.turnId).to.equal('t1');
    expect(readStage(stageEvent('turn', 'done', '{"turn_id":null}', 'row'))!.turnId).to.equal('row');
    expect(readStage(stageEvent('turn', 'done', '{}', 'row'))!.turnId).to.equal('row');
    expect(readStage(stageEvent('turn', 'done', '{}'))!.turnId).to.equal(null);
  });

  for (const data of ['', 'no json', '[]', 'null', '7', '{"a":']) {
    it(`should read no metadata when the data is ${JSON.stringify(data)}`, () => {
      expect(readStage(stageEvent('turn', 'failed', data, 't'))).to.deep.equal({ stage: 'turn', state: 'failed', metadata: {}, turnId: 't' });
    });
  }
});

describe('startsTurn', () => {
  it('should be true for turn/started alone', () => {
    expect(startsTurn(read('turn', 'started'))).to.equal(true);
    expect([read('turn', 'done'), read('provision', 'started')].map(startsTurn)).to.deep.equal([false, false]);
  });
});

describe('endsTurn', () => {
  it('should be true for the three terminal states of a turn alone', () => {
    expect(['done', 'failed', 'interrupted', 'started', ''].map((state) => endsTurn(read('turn', state)))).to.deep.equal([true, true, true, false, false]);
    expect(['provision', 'reattach', 'sandbox', 'terminate'].map((stage) => endsTurn(read(stage, 'failed')))).to.deep.equal([false, false, false, false]);
  });
});

describe('reasonOf', () => {
  const cases: readonly [object, string][] = [
    [{ reason: 'quota', error: 'e', exit_code: 2 }, 'quota'],
    [{ reason: null, error: 'no disk', exit_code: 2 }, 'no disk'],
    [{ exit_code: 137 }, '137'],
    [{ exit_code: 0 }, '0'],
    [{ reason: { code: 'x' } }, '{"code":"x"}'],
    [{}, 'no reason given'],
  ];
  for (const [metadata, words] of cases) {
    it(`should say ${words} when the metadata is ${JSON.stringify(metadata)}`, () => expect(reasonOf(read('turn', 'failed', metadata))).to.equal(words));
  }
});
