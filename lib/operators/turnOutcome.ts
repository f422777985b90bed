import { endsTurn, reasonOf, type Stage } from '../protocol/stage.ts';

/** How a prompt is answered: with a stop reason of ACP's, or with an error in words. */
export type Outcome =
  | { readonly kind: 'stop'; readonly stopReason: StopReason }
  | { readonly kind: 'failure'; readonly message: string };

const stopReasons = ['end_turn', 'max_tokens', 'max_turn_requests', 'refusal', 'cancelled'] as const;

/** ACP's stop reasons; there are no others. */
export type StopReason = (typeof stopReasons)[number];

/**
 * Returns how a terminal turn event answers its prompt; undefined for any other event.
 *
 * @see Specification, "What streams back"; Fountain HTTP and SSE contract, "Terminal stage"
 */
export function outcomeOfTurn(stage: Stage): Outcome | undefined {
  if (!endsTurn(stage)) return undefined;
  const { stop_reason: reason, exit_code: exitCode } = stage.metadata;
  if (stage.state === 'interrupted') return stop('cancelled');
  if (isStopReason(reason)) return stop(reason);
  if (stage.state === 'failed') return failure(`the turn failed: ${typeof reason === 'string' ? reason : reasonOf(stage)}`);
  if (typeof exitCode === 'number' && exitCode !== 0) return failure(`the turn failed: ${reasonOf(stage)}`);
  return stop('end_turn');
}

/**
 * Returns how an event that ends more than one turn answers the prompt; undefined for any other event.
 *
 * The sandbox has no vocabulary for these, so they are errors and not stop reasons: nothing finished.
 *
 * @param started - Whether the prompt's own turn has begun.
 * @see Specification, "What streams back" and "When something goes wrong"
 */
export function outcomeOfConversation(stage: Stage, started: boolean): Outcome | undefined {
  switch (`${stage.stage}/${stage.state}`) {
    case 'provision/failed':
      return failure(`the sandbox never started: ${reasonOf(stage)}`);
    case 'reattach/failed':
      return failure('could not reattach to the sandbox, prompt again to provision a fresh one');
    case 'terminate/done':
      return failure('the conversation was terminated');
    case 'sandbox/done':
      return outcomeOfSandbox(stage, started);
    default:
      return undefined;
  }
}

/** The error of a turn that a restart of the server cost. */
export const orphaned: Outcome = failure('the turn was lost when the server restarted, prompt again to go on');

function outcomeOfSandbox(stage: Stage, started: boolean): Outcome {
  switch (stage.metadata['event']) {
    case 'suspended':
      return started ? stop('end_turn') : failure('the sandbox was suspended before the prompt was started, send it again');
    case 'at_capacity':
    case 'admission_refused':
      return failure(`the prompt was not started: ${reasonOf(stage)}; it may be sent again shortly`);
    default:
      return failure(`the sandbox was reclaimed mid-turn: ${reasonOf(stage)}`);
  }
}

function isStopReason(value: unknown): value is StopReason {
  return stopReasons.some((reason) => reason === value);
}

function stop(stopReason: StopReason): Outcome {
  return { kind: 'stop', stopReason };
}

function failure(message: string): Outcome {
  return { kind: 'failure', message };
}
