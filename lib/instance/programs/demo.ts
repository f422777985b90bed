/**
 * The demo agent: an ACP program that needs no model and answers any prompt so that a client's whole surface shows.
 *
 * It runs under the embedded instance and, as any ACP agent, directly under an editor. It writes `demo-notes.md` and its
 * memory in its working folder, the former with permission only.
 * `FOUNTAIN_DEMO_DELAY_MS` sets the pause before each update, in milliseconds (40).
 */
import { errorCodes, isJsonObject, type JsonObject } from '../../protocol/jsonrpc.ts';
import { addTurn, newMemory, recall, remember, type DemoMemory } from './demoMemory.ts';
import { excerpt, show } from './demoShow.ts';
import { DemoTurn, type DemoPrompt } from './demoTurn.ts';
import { commands, wordOf } from './demoWords.ts';
import { CallError, exitWhenWritten, serveStdio } from './stdioPeer.ts';

/** A session that this process has open. */
interface DemoSession {
  readonly memory: DemoMemory;
  readonly folder: string;
  running: AbortController | null;
  /** Whether this process has told the client its commands within a turn. */
  introduced: boolean;
}

const paceMs = Number(process.env['FOUNTAIN_DEMO_DELAY_MS'] ?? 40) || 0;
const sessions = new Map<unknown, DemoSession>();
let requestId = 0;

function initialize(): JsonObject {
  return {
    protocolVersion: 1,
    agentInfo: { name: 'fountain-demo', title: 'Demo', version: '1' },
    authMethods: [],
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, audio: false, embeddedContext: false },
      sessionCapabilities: { resume: {} },
    },
  };
}

function open(memory: DemoMemory, cwd: unknown): void {
  sessions.set(memory.id, { memory, folder: folderOf(cwd), running: null, introduced: false });
  // A client knows the session once it has read the answer.
  setImmediate(() => notify(memory.id, { sessionUpdate: 'available_commands_update', availableCommands: commands }));
}

function newSession({ cwd }: JsonObject): JsonObject {
  const memory = newMemory();
  open(memory, cwd);
  return { sessionId: memory.id };
}

function reopen({ sessionId, cwd }: JsonObject): DemoMemory {
  const memory = sessions.get(sessionId)?.memory ?? recall(folderOf(cwd), sessionId);
  if (!memory) throw new CallError(errorCodes.resourceNotFound, 'there is no such session', { sessionId });
  open(memory, cwd);
  return memory;
}

function load(params: JsonObject): JsonObject {
  const { id, history } = reopen(params);
  for (const { asked, answered } of history) {
    notify(id, { sessionUpdate: 'user_message_chunk', content: { type: 'text', text: asked } });
    notify(id, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: answered } });
  }
  return {};
}

function resume(params: JsonObject): JsonObject {
  reopen(params);
  return {};
}

async function prompt({ sessionId, prompt: blocks }: JsonObject): Promise<JsonObject> {
  const session = sessions.get(sessionId);
  if (!session) throw new CallError(errorCodes.resourceNotFound, 'there is no such session', { sessionId });
  if (session.running) throw new CallError(errorCodes.invalidRequest, 'a prompt of this session is running');
  const asked = decode(blocks);
  session.memory.turns += 1;
  remember(session.folder, session.memory);
  session.running = new AbortController();
  const turn = new DemoTurn(peer, session.memory.id, paceMs, session.running.signal, () => (requestId += 1));
  try {
    return { stopReason: await play(session, turn, asked) };
  } catch (error) {
    if (session.running.signal.aborted) return { stopReason: 'cancelled' };
    throw error;
  } finally {
    session.running = null;
    addTurn(session.memory, asked.text, turn.said);
    remember(session.folder, session.memory);
  }
}

async function play(session: DemoSession, turn: DemoTurn, asked: DemoPrompt): Promise<string> {
  if (!session.introduced) await turn.update({ sessionUpdate: 'available_commands_update', availableCommands: commands });
  session.introduced = true;
  if (session.memory.turns === 1) await turn.update({ sessionUpdate: 'session_info_update', title: excerpt(asked.text, 60) || 'An image' });
  const word = wordOf(asked.text);
  if (word) return word(turn);
  await show(turn, asked, session.folder, session.memory.turns);
  return 'end_turn';
}

function decode(blocks: unknown): DemoPrompt {
  const given = (Array.isArray(blocks) ? (blocks as unknown[]) : []).filter(isJsonObject);
  const text = given.flatMap(({ type, text, uri }) => (type === 'text' ? text : type === 'resource_link' ? uri : null) ?? []).filter((part) => typeof part === 'string').join('\n');
  const images = given.flatMap(({ type, data, mimeType }) =>
    type === 'image' && typeof data === 'string' ? [{ mediaType: String(mimeType), bytes: Buffer.byteLength(data, 'base64') }] : [],
  );
  if (text.trim() === '' && images.length === 0) throw new CallError(errorCodes.invalidParams, 'the prompt has neither text nor images');
  return { text, images };
}

function folderOf(cwd: unknown): string {
  return typeof cwd === 'string' && cwd !== '' ? cwd : process.cwd();
}

function notify(sessionId: string, update: JsonObject): void {
  peer.notify('session/update', { sessionId, update });
}

const peer = serveStdio({
  requests: { initialize, 'session/new': newSession, 'session/load': load, 'session/resume': resume, 'session/prompt': prompt },
  notifications: { 'session/cancel': ({ sessionId }) => sessions.get(sessionId)?.running?.abort() },
  maxLineBytes: 256 * 1024 * 1024,
  onOverlong: () => exitWhenWritten(2),
  onEnd: () => exitWhenWritten(0),
});
