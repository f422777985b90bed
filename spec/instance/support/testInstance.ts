import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { InstanceOptions } from '../../../lib/instance/config.ts';
import { startInstance } from '../../../lib/instance/instance.ts';
import type { Instance } from '../../../lib/instance/instance.ts';
import type { JsonObject } from '../../../lib/protocol/jsonrpc.ts';
import { contentOf, EventReader, nameOf } from './eventReader.ts';
import type { Frame } from './eventReader.ts';
import { until } from './until.ts';

/** The command line of the scripted agent. */
export const agentCommand = `${process.execPath} ${fileURLToPath(new URL('agent.mjs', import.meta.url))}`;

/** One step of the scripted agent. */
export type Step = Readonly<Record<string, unknown>>;

/** An answer, with its body parsed where there is one. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: JsonObject;
  /** The `data` of the body. */
  readonly data: JsonObject;
  readonly list: readonly JsonObject[];
}

/** Removes everything that specs of one file have made. */
const cleanups: (() => Promise<void>)[] = [];

/** Ends all instances and removes their data; to be called in `afterEach`. */
export async function cleanUp(): Promise<void> {
  for (const clean of cleanups.splice(0).reverse()) await clean();
}

/** Returns a new folder that is removed after the spec. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'fountain-spec-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** A running instance and shorthands for its API. */
export class TestInstance {
  readonly instance: Instance;
  readonly key: string;
  readonly #readers: EventReader[] = [];

  constructor(instance: Instance) {
    this.instance = instance;
    this.key = instance.key;
  }

  /** Starts an instance on a free port, in a new folder unless one is given, whose sandboxes see this machine's process ids. */
  static async start(options: InstanceOptions = {}): Promise<TestInstance> {
    const dataDir = options.dataDir ?? (await temporaryFolder());
    const test = new TestInstance(await startInstance({ port: 0, interruptGraceSeconds: 0.3, isolation: 'off', ...options, dataDir }));
    cleanups.push(() => test.close());
    return test;
  }

  async close(): Promise<void> {
    for (const reader of this.#readers) reader.close();
    await this.instance.close();
  }

  async call(method: string, url: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const response = await fetch(`${this.instance.baseUrl}${url}`, {
      method,
      headers: { authorization: `Bearer ${this.key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const parsed = (text.startsWith('{') ? JSON.parse(text) : {}) as JsonObject;
    const data = (parsed['data'] ?? {}) as JsonObject;
    return { status: response.status, headers: response.headers, body: parsed, data, list: data as unknown as readonly JsonObject[] };
  }

  get(url: string): Promise<Answer> {
    return this.call('GET', url);
  }

  post(url: string, body: unknown = {}): Promise<Answer> {
    return this.call('POST', url, body);
  }

  /** Makes a scripted agent; returns its id. */
  async agent(input: JsonObject = {}, flags = ''): Promise<string> {
    const { status, data, body } = await this.post('/api/agents', { name: `agent-${Math.random()}`, runtime: 'acp', runtime_command: `${agentCommand} ${flags}`.trim(), ...input });
    if (status !== 201) throw new Error(`no agent: ${JSON.stringify(body)}`);
    return String(data['id']);
  }

  /** Opens a conversation of a new scripted agent, or of the one that is named; returns its id. */
  async conversation(input: JsonObject = {}, flags = ''): Promise<string> {
    const agentId = input['agent_id'] ?? (await this.agent({}, flags));
    const { status, data, body } = await this.post('/api/conversations', { agent_id: agentId, ...input });
    if (status !== 201) throw new Error(`no conversation: ${JSON.stringify(body)}`);
    return String(data['id']);
  }

  /** Sends a prompt that must be accepted. */
  async prompt(id: string, steps: readonly Step[] | string, extra: JsonObject = {}): Promise<void> {
    const { status, body } = await this.submit(id, steps, extra);
    if (status !== 200) throw new Error(`the prompt was refused: ${JSON.stringify(body)}`);
  }

  submit(id: string, steps: readonly Step[] | string, extra: JsonObject = {}): Promise<Answer> {
    return this.post(`/api/conversations/${id}/prompts`, { prompt: typeof steps === 'string' ? steps : JSON.stringify(steps), ...extra });
  }

  /** Prompts and waits for the terminal event, which it returns. */
  async turn(id: string, steps: readonly Step[] | string, extra: JsonObject = {}): Promise<Frame> {
    const head = (await this.events(id)).at(-1)?.id ?? 0;
    await this.prompt(id, steps, extra);
    return this.terminal(id, head);
  }

  /** Waits for the first terminal turn event above an id. */
  async terminal(id: string, after = 0): Promise<Frame> {
    return until(async () => (await this.events(id, after)).find((event) => event.stage === 'turn' && ['done', 'failed', 'interrupted'].includes(event.state)), 'the end of a turn');
  }

  /** Returns all stored events of a conversation above an id. */
  async events(id: string, after = 0): Promise<Frame[]> {
    const found: Frame[] = [];
    for (let cursor: number | null = after; cursor !== null; ) {
      const { list, body } = await this.get(`/api/conversations/${id}/events?limit=1000&after=${cursor}`);
      found.push(...(list as unknown as Frame[]));
      cursor = (body['meta'] as { next_cursor: number | null }).next_cursor;
    }
    return found;
  }

  /** Waits for a stored event by its name. */
  event(id: string, name: string, withinMs?: number): Promise<Frame> {
    return until(async () => (await this.events(id)).find((event) => nameOf(event) === name), `the event ${name}`, withinMs);
  }

  /** Returns the names of all stored events. */
  async names(id: string): Promise<string[]> {
    return (await this.events(id)).map(nameOf);
  }

  /** Returns the text that the agent has said, in one piece. */
  async said(id: string): Promise<string> {
    return saidIn(await this.events(id));
  }

  async show(id: string): Promise<JsonObject> {
    return (await this.get(`/api/conversations/${id}`)).data;
  }

  /** Opens the stream of a conversation. */
  follow(id: string, query = '', options: { lastEventId?: number | string; paused?: boolean; key?: string } = {}): EventReader {
    const reader = new EventReader({ url: `${this.instance.baseUrl}/api/conversations/${id}/stream${query}`, key: this.key, ...options });
    this.#readers.push(reader);
    return reader;
  }
}

/** Returns the text of all message chunks. */
export function saidIn(events: readonly Frame[]): string {
  const updates = events.filter((event) => event.stream === 'acp').map((event) => ((contentOf(event)['params'] as JsonObject | undefined)?.['update'] ?? {}) as JsonObject);
  return updates.filter((update) => update['sessionUpdate'] === 'agent_message_chunk').map((update) => String((update['content'] as JsonObject)['text'])).join('');
}
