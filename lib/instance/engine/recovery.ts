import { readdir, readFile } from 'node:fs/promises';
import { signalGroup } from '../harness/processTree.ts';
import { isJsonObject } from '../../protocol/jsonrpc.ts';
import { ConversationLog } from '../log/conversationLog.ts';
import { Redactor } from '../log/redactor.ts';
import type { ConversationRow, TurnRow } from '../store/rows.ts';
import { remove, update } from '../store/store.ts';
import type { Store, Write } from '../store/store.ts';
import { rowTime } from '../time.ts';
import type { EngineContext } from './context.ts';
import { sandboxVariable } from './harnessEnvironment.ts';
import { processIdentity } from './processIdentity.ts';

const reason = 'the server restarted while the turn was running';

/**
 * Puts in order what an earlier run of the server left: no process goes on, no turn is running, no machine is ready.
 *
 * @returns The conversations whose machine was being made; it is made again.
 * @see Fountain HTTP and SSE contract, sections 5.9 and 6.5
 */
export async function recover(context: EngineContext): Promise<readonly ConversationRow[]> {
  const { store } = context;
  await endStaleProcesses(store);
  const turns = await store.find('turns', { status: ['pending', 'running'] });
  for (const turn of turns) await failTurn(context, turn);
  if (turns.length > 0) context.config.log('warn', `an earlier run ended in the middle of ${turns.length} turns; they are marked as failed`);
  const ready = await store.find('sandboxes', { status: 'ready' });
  const stuck = await store.find('conversations', { status: 'running' });
  const pending = await store.find('conversations', { status: 'pending' });
  const wanted = new Set(pending.map((row) => row.sandbox_id));
  // A machine that was being made for a conversation with a history is made anew by its next prompt.
  const unfinished = (await store.find('sandboxes', { status: ['pending', 'starting'] })).filter((row) => !wanted.has(row.id));
  await context.log.commit([
    ...unfinished.map((row) => update('sandboxes', row.id, { status: 'failed', updated_at: rowTime() })),
    ...ready.map((row) => update('sandboxes', row.id, { status: 'suspended', updated_at: rowTime() })),
    ...stuck.map((row) => update('conversations', row.id, { status: 'idle' })),
  ]);
  return pending;
}

async function failTurn(context: EngineContext, turn: TurnRow): Promise<void> {
  const row = await context.store.get('conversations', turn.conversation_id);
  if (row === undefined) return;
  const { onFailure } = context;
  const log = new ConversationLog({ conversationId: row.id, log: context.log, outputBytes: row.output_bytes, outputLimit: 0, onFailure }, new Redactor([]));
  const started = turn.status === 'running';
  const metadata = { turn_id: turn.id, ...(started ? { turn_number: turn.turn_number } : {}), reason };
  const open = started ? await openRequests(context.store, row.id, turn.id) : [];
  const denials = open.map((id) => log.stage('request', 'done', { request_id: id, outcome: 'turn_ended', option_id: null }, turn.id));
  const writes: Write[] = [...denials, update('turns', turn.id, { status: 'failed', ended_at: rowTime() })];
  if (row.status === 'running') writes.push(update('conversations', row.id, { status: 'idle', updated_at: rowTime() }));
  await context.log.commit([...writes, log.stage('turn', 'failed', metadata, turn.id)]);
}

/** Returns the permission requests of a turn that nobody answered, found backwards from the newest stage event. */
async function openRequests(store: Store, conversationId: string, turnId: string): Promise<string[]> {
  const started = new Set<string>();
  const done = new Set<string>();
  const newest = await store.events({ conversationId, after: 0, limit: 1000, stageOnly: true, order: 'newest' });
  for (const event of newest) {
    if (event.stage === 'turn' && event.state === 'started' && event.turnId === turnId) break;
    const id = event.stage === 'request' ? requestIdOf(event.data) : null;
    if (id !== null) (event.state === 'started' ? started : done).add(id);
  }
  return [...started].filter((id) => !done.has(id)).reverse();
}

function requestIdOf(data: string): string | null {
  const metadata = JSON.parse(data) as unknown;
  return isJsonObject(metadata) && typeof metadata['request_id'] === 'string' ? metadata['request_id'] : null;
}

/** Ends the processes of all sandboxes: the groups that were written down, and whatever carries a sandbox's id. */
async function endStaleProcesses(store: Store): Promise<void> {
  for (const { id, pid, started } of await store.find('processes', {})) {
    // A number alone may be another program's by now.
    if ((await processIdentity(pid)) === started) signalGroup(pid, 'SIGKILL');
    await store.commit([remove('processes', { id })]);
  }
  const sandboxIds = new Set((await store.find('sandboxes', {})).map((row) => row.id));
  for (let round = 0; round < 5; round += 1) {
    const strays = await processesOf(sandboxIds);
    for (const pid of strays) kill(pid);
    if (strays.length === 0) return;
  }
}

async function processesOf(sandboxIds: ReadonlySet<string>): Promise<number[]> {
  const entries = await readdir('/proc').catch((): string[] => []);
  const pids = entries.filter((entry) => /^\d+$/.test(entry)).map(Number);
  const owned = await Promise.all(pids.map(async (pid) => pid !== process.pid && sandboxIds.has(await sandboxOf(pid))));
  return pids.filter((_, index) => owned[index]);
}

async function sandboxOf(pid: number): Promise<string> {
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  const assignment = environment.split('\0').find((entry) => entry.startsWith(`${sandboxVariable}=`));
  return assignment?.slice(sandboxVariable.length + 1) ?? '';
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself meanwhile.
  }
}
