/**
 * `fountain-acp-fixture/1`: an ACP program without a model, whose every answer follows from its prompt.
 *
 * It is installed in a sandbox as one file and proves streaming, files, permission, cancellation, failure and resume of
 * the instance around it.
 *
 * @see Fountain HTTP and SSE contract, "The program"
 */
import { errorCodes, type JsonObject } from '../../protocol/jsonrpc.ts';
import { newSession, readSession, type FixtureSession } from './fixtureState.ts';
import { checkTurnCount, fixtureVersion, parseFixturePrompt, runFixtureTurn } from './fixtureTurn.ts';
import { CallError, exitWhenWritten, serveStdio, type StdioPeer } from './stdioPeer.ts';

const model = 'fixture/deterministic-v1';
const models = { currentModelId: model, availableModels: [{ modelId: model, name: 'Deterministic fixture' }] };

const sessions = new Map<unknown, FixtureSession>();
const running = new Map<unknown, AbortController>();
let initialized = false;

function initialize({ protocolVersion }: JsonObject): JsonObject {
  if (initialized) throw new CallError(errorCodes.invalidRequest, 'initialize comes once');
  if (protocolVersion !== 1) throw new CallError(errorCodes.invalidParams, 'the protocol version must be 1');
  initialized = true;
  return {
    protocolVersion: 1,
    agentInfo: { name: fixtureVersion, version: '1' },
    authMethods: [],
    agentCapabilities: { sessionCapabilities: { resume: {} } },
  };
}

function afterInitialize(handler: (params: JsonObject) => unknown): (params: JsonObject) => unknown {
  return (params) => {
    if (!initialized) throw new CallError(errorCodes.invalidRequest, 'initialize must come first');
    return handler(params);
  };
}

function openSession(): JsonObject {
  const session = newSession();
  sessions.set(session.id, session);
  return { sessionId: session.id, models };
}

function resume({ sessionId }: JsonObject): JsonObject {
  if (!running.has(sessionId)) sessions.set(sessionId, readSession(sessionId));
  return { models };
}

function setModel({ sessionId, modelId }: JsonObject): JsonObject {
  openedSession(sessionId);
  if (modelId !== model) throw new CallError(errorCodes.invalidParams, `the only model is ${model}`);
  return {};
}

async function prompt(peer: StdioPeer, { sessionId, prompt: blocks }: JsonObject): Promise<JsonObject> {
  const session = openedSession(sessionId);
  const parsed = parseFixturePrompt(blocks);
  checkTurnCount(session);
  if (running.size > 0) throw new CallError(errorCodes.invalidParams, 'a prompt is running');
  const cancel = new AbortController();
  running.set(sessionId, cancel);
  try {
    return await runFixtureTurn(peer, session, parsed, cancel.signal);
  } finally {
    running.delete(sessionId);
  }
}

function openedSession(id: unknown): FixtureSession {
  const session = sessions.get(id);
  if (!session) throw new CallError(errorCodes.resourceNotFound, 'there is no such session', { sessionId: id });
  return session;
}

function serve(): void {
  const peer = serveStdio({
    requests: {
      initialize,
      'session/new': afterInitialize(openSession),
      'session/resume': afterInitialize(resume),
      'session/set_model': afterInitialize(setModel),
      'session/prompt': afterInitialize((params) => prompt(peer, params)),
    },
    notifications: { 'session/cancel': ({ sessionId }) => running.get(sessionId)?.abort() },
    maxLineBytes: 65_536,
    onOverlong: () => exitWhenWritten(2),
    onEnd: () => exitWhenWritten(0),
  });
}

if (process.argv.includes('--version')) process.stdout.write(`${fixtureVersion}\n`);
else serve();
