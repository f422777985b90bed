import { RequestError } from '@agentclientprotocol/sdk';
import { setTimeout as delay } from 'node:timers/promises';
import { isJsonObject, type JsonObject } from '../../protocol/jsonrpc.ts';
import { connectHarness, type HarnessConnection, type PermissionAnswer, type PermissionRequest } from './connectHarness.ts';
import { harnessError, member, openSession, type Ask, type OpenedSession, type SessionStart } from './openSession.ts';
import type { ProgramExit } from './program.ts';
import { endReason, prompts, quoted, type PromptInput, type PromptOutcome } from './prompts.ts';
import { selectModel, type ModelEvent } from './selectModel.ts';

/** Times in milliseconds. */
interface HarnessTimes {
  /** Until `initialize` is answered; long, since some programs fetch themselves first. */
  readonly initializeMs: number;
  /** Until the session is open. */
  readonly sessionMs: number;
  /** Without an update, after which a replayed history is taken to be over. */
  readonly quietMs: number;
  /** Between SIGTERM and SIGKILL. */
  readonly stopMs: number;
}

const usualTimes: HarnessTimes = { initializeMs: 60_000, sessionMs: 120_000, quietMs: 250, stopMs: 2000 };

/** What to start, and where its output goes. No callback may throw: what it throws ends the harness. */
export interface HarnessOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment of the program: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** The session to go back to; null opens a new one. */
  readonly runtimeSessionId: string | null;
  /** MCP servers for the session, in the protocol's form. @defaultValue none */
  readonly mcpServers?: readonly JsonObject[];
  /** Asked of the harness where it lists models; null leaves it its own. */
  readonly model: string | null;
  /** One `session/update` notification, the line as the harness wrote it; not called while it replays its history. */
  readonly onMessage: (line: string) => void;
  /** Answers the harness's question. The signal aborts when the harness withdraws it or has gone. */
  readonly onPermission: (request: PermissionRequest, signal: AbortSignal) => Promise<PermissionAnswer>;
  /** A line on stdout that is no message, with its line end. */
  readonly onStdout: (text: string) => void;
  /** What it writes to stderr, in the pieces that arrive. */
  readonly onStderr: (text: string) => void;
  /** What became of the model; not called where the harness lists none. */
  readonly onModel: (event: ModelEvent) => void;
  /** @defaultValue a minute, two minutes, 250 ms, two seconds */
  readonly times?: Partial<HarnessTimes>;
}

/** A harness with an open session. */
export interface Harness {
  readonly runtimeSessionId: string;
  /** `session_gone`: the session to go back to was lost, and with it the harness's memory. */
  readonly start: SessionStart;
  readonly pid: number;
  /** Runs one turn; settles after every update that the harness wrote before its answer was handed on. Never rejects. */
  prompt(input: PromptInput): Promise<PromptOutcome>;
  /** Asks the harness to end its turn; the prompt's own outcome tells when it did. */
  cancel(): void;
  /** Settles once the program has ended, its output is handed on and its process group is empty. */
  readonly exited: Promise<ProgramExit>;
  /** Ends the program and all that it started. Never rejects; may be called again. */
  stop(): Promise<void>;
}

/**
 * Starts an ACP program in a process group of its own and opens its session.
 *
 * It is told that this client has neither files nor terminals; what it asks of them all the same is "method not found".
 *
 * Errors: rejects in words where the program cannot be started, ends, keeps silent, speaks another protocol version or
 * opens no session; nothing of it is left then.
 *
 * @param signal - Ends the program when it aborts, while it starts and later.
 */
export async function startHarness(options: HarnessOptions, signal: AbortSignal): Promise<Harness> {
  signal.throwIfAborted();
  const times = { ...usualTimes, ...options.times };
  const replay = replayGate(options.onMessage);
  const connection = await connectHarness({ ...options, onUpdate: replay.onUpdate });
  const stop = (): Promise<void> => connection.program.stop(times.stopMs);
  const onAbort = (): void => void stop();
  signal.addEventListener('abort', onAbort);
  void connection.exited.then(() => signal.removeEventListener('abort', onAbort));
  if (signal.aborted) onAbort();
  try {
    const { session, takesImages } = await Promise.race([open(options, times, connection, replay), gone(connection)]);
    return {
      runtimeSessionId: session.sessionId,
      start: session.start,
      pid: connection.program.pid,
      prompt: prompts(connection, session.sessionId, takesImages, options.onStderr),
      cancel: () => void connection.agent.notify('session/cancel', { sessionId: session.sessionId }).catch(() => undefined),
      exited: connection.exited,
      stop,
    };
  } catch (error) {
    await stop();
    throw signal.aborted ? new Error('the agent was stopped while it started', { cause: error }) : error;
  }
}

async function open(options: HarnessOptions, times: HarnessTimes, { agent, program }: HarnessConnection, replay: ReplayGate): Promise<{ session: OpenedSession; takesImages: boolean }> {
  const ask: Ask = async (method, params) => {
    const result = await agent.request<unknown, JsonObject>(method, params);
    return isJsonObject(result) ? result : {};
  };
  const within = deadlines(() => program.lastOutput());
  const initialized = await within(times.initializeMs, 'the agent did not answer "initialize"', initialize(ask));
  replay.close(options.runtimeSessionId !== null);
  const session = await within(times.sessionMs, 'the agent opened no session', openSession(ask, initialized, options.cwd, options.runtimeSessionId, options.mcpServers));
  if (session.start === 'loaded') await replay.quiet(times.quietMs);
  replay.close(false);
  if (options.model !== null) {
    const event = await within(times.sessionMs, 'the agent did not answer to its model', selectModel(ask, session, options.model));
    if (event) options.onModel(event);
  }
  return { session, takesImages: member(member(initialized, 'agentCapabilities'), 'promptCapabilities')['image'] === true };
}

async function initialize(ask: Ask): Promise<JsonObject> {
  const initialized = await ask('initialize', {
    protocolVersion: 1,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    clientInfo: { name: 'fountain', title: 'Fountain', version: '1' },
  }).catch((error: unknown) => {
    throw error instanceof RequestError ? new Error(`the agent refused "initialize": ${harnessError(error)}`, { cause: error }) : error;
  });
  const version = initialized['protocolVersion'];
  if (version !== 1) throw new Error(`the agent speaks version ${JSON.stringify(version)} of the Agent Client Protocol, and not version 1`);
  return initialized;
}

/** Holds updates back while the harness tells its history again. */
interface ReplayGate {
  readonly onUpdate: (line: string) => void;
  readonly close: (closed: boolean) => void;
  /** Settles once no update came for a while; a harness that never falls silent is waited for ten times as long. */
  readonly quiet: (quietMs: number) => Promise<void>;
}

function replayGate(onMessage: (line: string) => void): ReplayGate {
  let closed = false;
  let count = 0;
  return {
    onUpdate: (line) => {
      count += 1;
      if (!closed) onMessage(line);
    },
    close: (close) => void (closed = close),
    quiet: async (quietMs) => {
      for (let round = 0, before = -1; round < 10 && before !== count; round += 1) {
        before = count;
        await delay(quietMs);
      }
    },
  };
}

async function gone({ exited }: HarnessConnection): Promise<never> {
  throw new Error(endReason(await exited, 'before its session was open'));
}

function deadlines(lastOutput: () => string): <T>(ms: number, failure: string, work: Promise<T>) => Promise<T> {
  return async (ms, failure, work) => {
    const timer = new AbortController();
    const late = delay(ms, undefined, { signal: timer.signal }).then(() => {
      throw new Error(`${failure} within ${ms / 1000} s; ${quoted(lastOutput())}`);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      late.catch(() => undefined);
      timer.abort();
    }
  };
}
