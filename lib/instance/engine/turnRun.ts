import type { ConversationRecord } from './conversationRecord.ts';
import { wordsOf } from './context.ts';
import type { HarnessHost, ModelEvent } from './harnessHost.ts';
import { endingOf, failedFor, interrupted } from './openTurn.ts';
import type { OpenTurn, TurnEnding } from './openTurn.ts';
import type { Sandbox } from './sandbox.ts';
import { environmentOf } from './variables.ts';

/** What a turn runs on. */
export interface TurnRun {
  readonly record: ConversationRecord;
  readonly harness: HarnessHost;
  readonly sandbox: Sandbox;
  /** Returns the model that the harness refused since the last call; null for none. */
  readonly refusedModel: () => ModelEvent | null;
}

/** Runs a turn that has been published as started, and returns how it ended. Never rejects. */
export async function runTurn(turn: OpenTurn, run: TurnRun): Promise<TurnEnding> {
  let ending: TurnEnding;
  try {
    const harness = await openHarness(turn, run);
    const input = { text: turn.row.prompt, images: turn.images };
    ending = isUnwanted(turn) ? interrupted : endingOf(await harness.prompt(input));
  } catch (error) {
    ending = failedFor(wordsOf(error));
  }
  return turn.isInterrupting ? interrupted : ending;
}

async function openHarness(turn: OpenTurn, { record, harness: host, sandbox, refusedModel }: TurnRun): ReturnType<HarnessHost['ensure']> {
  await record.refreshAgent();
  record.checkAdmission();
  turn.agentPolicy = record.row.agent.permission_policy;
  const variables = await record.variables(turn.row.id);
  const environment = await environmentOf(record.context.store, record.row);
  const network = environment?.networking_type !== 'limited';
  if (isUnwanted(turn)) throw new Error('the turn was ended before its agent was started');
  refusedModel();
  const harness = await host.ensure({ row: record.row, sandbox, variables, network });
  const refused = refusedModel();
  if (refused !== null) {
    // The next turn asks again: the agent's configuration may be another one by then.
    await host.stop();
    throw new Error(`the agent refused the model ${refused.requested}: ${refused.detail ?? 'it gave no reason'}`);
  }
  if (harness.runtimeSessionId !== record.row.runtime_session_id) {
    const reset = harness.start === 'session_gone' ? record.forgetSession('session_gone', turn.row.id) : [];
    await record.commit([...reset, record.change({ runtime_session_id: harness.runtimeSessionId })]);
  }
  return harness;
}

/** Somebody ended the turn while something was awaited. */
function isUnwanted(turn: OpenTurn): boolean {
  return turn.isInterrupting || turn.hasEnded;
}
