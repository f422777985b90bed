import os from 'node:os';
import type { Write } from '../store/store.ts';
import { wordsOf } from './context.ts';
import type { ConversationRecord } from './conversationRecord.ts';
import { provision } from './provision.ts';
import type { Sandbox } from './sandbox.ts';
import { hasSandboxFolder } from './sandboxFolder.ts';
import { environmentOf } from './variables.ts';

/** How a conversation gets its machine: made anew, or taken up again. */
export interface WakePlan {
  readonly kind: 'provision' | 'reattach';
  readonly sandbox: Sandbox;
  /** Writes that make the plan true, such as the row of a new machine. */
  readonly writes: readonly Write[];
}

/** How waking ended: the machine is ready, it is not and these writes say so, or nobody wants it any more. */
export type WakeOutcome =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly reason: string; readonly writes: readonly Write[] }
  | { readonly kind: 'unwanted' };

/** The conversation that waits for its machine. */
export interface Waiting {
  readonly record: ConversationRecord;
  readonly abort: AbortController;
  /** Whether the conversation still waits. */
  readonly isWanted: () => boolean;
}

const unwanted: WakeOutcome = { kind: 'unwanted' };

/**
 * Gets a conversation its machine and publishes how that goes. Never rejects for what can go wrong with a machine.
 *
 * @see Fountain HTTP and SSE contract, sections 5.9 and 6.5
 */
export function wake({ kind, sandbox }: WakePlan, waiting: Waiting): Promise<WakeOutcome> {
  return kind === 'provision' ? provisionMachine(sandbox, waiting) : reattachMachine(sandbox, waiting);
}

async function provisionMachine(sandbox: Sandbox, { record, abort, isWanted }: Waiting): Promise<WakeOutcome> {
  const { context, log } = record;
  const { provisionSeconds } = context.config;
  const deadline = setTimeout(() => abort.abort(new Error(`it took longer than ${provisionSeconds} s`)), provisionSeconds * 1000);
  try {
    await record.commit([sandbox.change('starting'), log.stage('provision', 'started')]);
    record.checkAdmission();
    const environment = await environmentOf(context.store, record.row);
    const variables = await record.variables(null);
    await provision({ context, row: record.row, sandbox, environment, variables, log, signal: abort.signal, isWanted });
    if (!isWanted()) return unwanted;
    const forgotten = record.forgetSession('fresh_sandbox', null);
    await record.commit([sandbox.change('ready'), ...forgotten, record.change({ status: 'idle' }), log.stage('provision', 'done')]);
    return { kind: 'ready' };
  } catch (error) {
    const reason = wordsOf(error);
    if (!isWanted()) return unwanted;
    return { kind: 'failed', reason, writes: [sandbox.change('failed'), log.stage('provision', 'failed', { reason })] };
  } finally {
    clearTimeout(deadline);
  }
}

async function reattachMachine(sandbox: Sandbox, { record, isWanted }: Waiting): Promise<WakeOutcome> {
  const { log } = record;
  const node = os.hostname();
  await record.commit([log.stage('reattach', 'started', { sprite_name: sandbox.row.sprite_name, node })]);
  const isThere = await hasSandboxFolder(sandbox.folder);
  if (!isWanted()) return unwanted;
  if (!isThere) {
    const failed = log.stage('reattach', 'failed', { reason: 'not_found', retryable: false, node });
    return { kind: 'failed', reason: 'the sandbox is gone', writes: [sandbox.change('failed'), failed] };
  }
  const resumed = sandbox.row.status === 'ready' ? [] : [sandbox.change('ready')];
  await record.commit([...resumed, log.stage('reattach', 'done', { outcome: 'no_running_turn' })]);
  return { kind: 'ready' };
}
