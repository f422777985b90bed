import { Refusal } from '../refusal.ts';
import type { ConversationStatus } from '../store/rows.ts';
import type { Write } from '../store/store.ts';
import type { OpenTurn } from './openTurn.ts';

/**
 * Where a conversation stands in this process:
 * parked (no machine; the next prompt wakes it), preparing (its machine is made or resumed, and one prompt may wait for
 * that), ready (the next prompt runs at once), in a turn, or over.
 */
export type State = { readonly name: 'parked' | 'ready' | 'over' } | Preparing | { readonly name: 'turn'; readonly turn: OpenTurn };

/** A conversation whose machine is made or resumed. */
export interface Preparing {
  readonly name: 'preparing';
  readonly abort: AbortController;
  /** The prompt that waits. */
  held: OpenTurn | null;
  /** Whether a prompt waits, or is just being accepted. */
  claimed: boolean;
}

/** No machine. */
export const parked: State = { name: 'parked' };

/** A machine and no turn. */
export const ready: State = { name: 'ready' };

/** Ended, or leaving with the server. */
export const over: State = { name: 'over' };

/** What ends something from outside: the events that say why, and what becomes of the conversation. */
export interface Cause {
  readonly writes: readonly Write[];
  readonly state: State;
  readonly status: ConversationStatus;
}

/** Returns the start of preparing, with the prompt that waits already, or that is being accepted. */
export function preparing(held: OpenTurn | null, claimed = held !== null): Preparing {
  return { name: 'preparing', abort: new AbortController(), held, claimed };
}

/**
 * Returns why a prompt cannot be taken in a state; null where it can.
 *
 * @see Fountain HTTP and SSE contract, section 4.5
 */
export function promptRefusal(state: State): Refusal | null {
  if (state.name === 'over') return new Refusal(410, 'conversation_terminated', { message: 'this conversation is over; start a new one' });
  if (state.name !== 'turn' && !(state.name === 'preparing' && state.claimed)) return null;
  return new Refusal(400, 'conversation_busy', { message: 'a turn is running in this conversation; wait for its end or interrupt it' });
}

/** Returns the refusal of an interrupt where nothing can be stopped. */
export function nothingToStop(isProcessRunning: boolean): Refusal {
  return isProcessRunning
    ? new Refusal(409, 'no_turn_running', { message: 'no turn is running in this conversation' })
    : new Refusal(409, 'not_running', { message: 'nothing is running in this conversation' });
}

/** Returns the refusal of a prompt on a machine that another conversation's turn has. */
export function atCapacity(): Refusal {
  return new Refusal(409, 'sandbox_at_capacity', { message: 'another conversation is running a turn on this sandbox' });
}
