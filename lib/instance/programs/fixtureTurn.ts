import { setTimeout as delay } from 'node:timers/promises';
import { errorCodes, isJsonObject, type JsonObject } from '../../protocol/jsonrpc.ts';
import { artifactFile, createArtifact, storeSession, uuidV4, verifyArtifact, type FixtureSession } from './fixtureState.ts';
import { CallError, type StdioPeer } from './stdioPeer.ts';

/** The program's name and version, which every prompt repeats. */
export const fixtureVersion = 'fountain-acp-fixture/1';

/** A session takes fewer turns than this. */
const maxTurns = 16;

/** Longest wait for a cancel, in milliseconds. */
const maxWaitMs = 120_000;

const scenarios = ['write', 'read', 'permission', 'wait', 'fail'] as const;

/** One prompt, decoded. */
export interface FixturePrompt {
  readonly scenario: (typeof scenarios)[number];
  readonly nonce: string;
  readonly delayMs: number;
}

/**
 * Decodes a prompt. Throws a {@link CallError} for anything outside the grammar.
 *
 * @see Fountain HTTP and SSE contract, "The program"
 */
export function parseFixturePrompt(blocks: unknown): FixturePrompt {
  const block: unknown = Array.isArray(blocks) && blocks.length === 1 ? blocks[0] : null;
  const text: unknown = isJsonObject(block) && block['type'] === 'text' ? block['text'] : null;
  const prompt = typeof text === 'string' ? parseObject(text) : null;
  if (prompt === null) throw new CallError(errorCodes.invalidParams, 'a prompt is one text block, and its text a JSON object');
  const { fixture, scenario, nonce, delay_ms: delayMs, ...others } = prompt;
  const known = scenarios.find((name) => name === scenario);
  if (!known || fixture !== fixtureVersion || !isNonce(nonce) || !isDelay(delayMs) || Object.keys(others).length > 0) {
    throw new CallError(errorCodes.invalidParams, `a prompt has exactly fixture, scenario, nonce and delay_ms, as ${fixtureVersion} defines them`);
  }
  return { scenario: known, nonce, delayMs };
}

function isNonce(value: unknown): value is string {
  return typeof value === 'string' && uuidV4.test(value);
}

function isDelay(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 30_000;
}

function parseObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Refuses a turn too many. Throws a {@link CallError}. */
export function checkTurnCount(session: FixtureSession): void {
  if (session.turns.length + 1 >= maxTurns) throw new CallError(errorCodes.invalidParams, `a session takes fewer than ${maxTurns} turns`);
}

/**
 * Runs one turn, records it, and returns the result of `session/prompt`.
 *
 * Errors: rejects with a {@link CallError}.
 *
 * @param cancelled - Ends a `wait`.
 */
export async function runFixtureTurn(peer: StdioPeer, session: FixtureSession, prompt: FixturePrompt, cancelled: AbortSignal): Promise<JsonObject> {
  const turn: FixtureSession['turns'][number] = { scenario: prompt.scenario, nonce: prompt.nonce, status: 'running' };
  session.turns.push(turn);
  storeSession(session);
  try {
    const stopReason = await play(peer, session, prompt, cancelled);
    turn.status = stopReason === 'cancelled' ? 'cancelled' : 'completed';
    return { stopReason, usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } };
  } catch (error) {
    turn.status = 'failed';
    throw error;
  } finally {
    storeSession(session);
  }
}

async function play(peer: StdioPeer, session: FixtureSession, { scenario, nonce, delayMs }: FixturePrompt, cancelled: AbortSignal): Promise<'end_turn' | 'cancelled'> {
  const say = (text: string): void => update(peer, session, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  say(`fixture:started:${scenario}:${nonce}\n`);
  if (scenario === 'wait') return wait(delayMs, cancelled);
  await delay(delayMs);
  if (scenario === 'fail') throw new CallError(-32000, 'the prompt asked for a failure');
  if (scenario === 'read') verifyArtifact(session, nonce);
  else if (!(await writeArtifact(peer, session, nonce, scenario === 'permission'))) {
    say(`fixture:permission:denied:${nonce}\n`);
    updateTool(peer, session, nonce, 'failed');
    return 'end_turn';
  }
  const writes = session.artifacts[nonce]?.writes ?? 0;
  say(`fixture:artifact:${nonce}:writes=${writes}:turns=${session.turns.length}:path=${artifactFile(session.id, nonce)}\n`);
  return 'end_turn';
}

async function wait(delayMs: number, cancelled: AbortSignal): Promise<'cancelled'> {
  await delay(delayMs + maxWaitMs, undefined, { signal: cancelled }).catch(() => undefined);
  if (!cancelled.aborted) throw new CallError(-32000, `nobody cancelled within ${maxWaitMs / 1000} s`);
  return 'cancelled';
}

/** Whether the artifact was written: a denial writes nothing. */
async function writeArtifact(peer: StdioPeer, session: FixtureSession, nonce: string, asks: boolean): Promise<boolean> {
  const toolCall = { toolCallId: nonce, title: 'fixture-artifact', kind: 'edit', status: 'pending' };
  update(peer, session, { sessionUpdate: 'tool_call', ...toolCall });
  if (asks && !(await mayWrite(peer, session, toolCall))) return false;
  try {
    createArtifact(session, nonce);
  } catch (error) {
    updateTool(peer, session, nonce, 'failed');
    throw error;
  }
  updateTool(peer, session, nonce, 'completed');
  return true;
}

async function mayWrite(peer: StdioPeer, session: FixtureSession, toolCall: JsonObject): Promise<boolean> {
  const answer = await peer.ask(`fixture-permission-${session.turns.length}`, 'session/request_permission', {
    sessionId: session.id,
    toolCall,
    options: [
      { optionId: 'allow-once', name: 'Allow once', kind: 'allow_once' },
      { optionId: 'reject-once', name: 'Reject once', kind: 'reject_once' },
    ],
  });
  const outcome = isJsonObject(answer) ? answer['outcome'] : null;
  return isJsonObject(outcome) && outcome['outcome'] === 'selected' && outcome['optionId'] === 'allow-once';
}

function updateTool(peer: StdioPeer, session: FixtureSession, nonce: string, status: string): void {
  update(peer, session, { sessionUpdate: 'tool_call_update', toolCallId: nonce, status });
}

function update(peer: StdioPeer, { id }: FixtureSession, content: JsonObject): void {
  peer.notify('session/update', { sessionId: id, update: content });
}
