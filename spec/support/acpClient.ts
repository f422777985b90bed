import type { ErrorObject, JsonObject } from '../../lib/protocol/jsonrpc.ts';
import { AcpProcess } from './acpProcess.ts';
import { textOf, type Message, type Update } from './client/messages.ts';

/** One request of ours and its answer. */
export class Call {
  readonly id: unknown;
  readonly method: string;
  readonly #client: AcpClient;

  constructor(client: AcpClient, id: unknown, method: string) {
    this.#client = client;
    this.id = id;
    this.method = method;
  }

  /** The answer so far. */
  get answer(): Message | undefined {
    return this.#client.answersTo(this.id)[0];
  }

  /** Resolves with the answer. */
  async answered(withinMs?: number): Promise<Message> {
    return this.#client.process.until(() => this.answer, `the answer to ${this.method} (id ${JSON.stringify(this.id)})`, withinMs);
  }

  /** Resolves with the result; rejects where the answer is an error. */
  async result(withinMs?: number): Promise<JsonObject> {
    const { result, error } = await this.answered(withinMs);
    if (result === undefined) throw new Error(`${this.method} was answered with an error: ${JSON.stringify(error)}`);
    return result;
  }

  /** Resolves with the error; rejects where the answer is a result. */
  async error(withinMs?: number): Promise<ErrorObject> {
    const { result, error } = await this.answered(withinMs);
    if (error === undefined) throw new Error(`${this.method} was answered with a result: ${JSON.stringify(result)}`);
    return error;
  }

  /** Resolves with the stop reason of a prompt. */
  async stopReason(withinMs?: number): Promise<unknown> {
    return (await this.result(withinMs))['stopReason'];
  }
}

/** A request of the program's: a question to the person at the client. */
export class Question {
  readonly params: JsonObject;
  readonly message: Message;
  readonly #client: AcpClient;

  constructor(client: AcpClient, message: Message) {
    this.#client = client;
    this.message = message;
    this.params = message.params ?? {};
  }

  /** Whether the program has withdrawn it. */
  get withdrawn(): boolean {
    return this.#client.notifications('$/cancel_request').some(({ params }) => params?.['requestId'] === this.message.id);
  }

  async choose(optionId: unknown): Promise<void> {
    await this.reply({ result: { outcome: { outcome: 'selected', optionId } } });
  }

  async dismiss(): Promise<void> {
    await this.reply({ result: { outcome: { outcome: 'cancelled' } } });
  }

  /** Answers with any result or error. */
  async reply(answer: JsonObject): Promise<void> {
    await this.#client.send({ id: this.message.id, ...answer });
  }
}

/** A client of the built program, speaking ACP over its stdio. */
export class AcpClient {
  readonly process: AcpProcess;
  #nextId = 1;

  constructor(process: AcpProcess) {
    this.process = process;
  }

  get messages(): readonly Message[] {
    return this.process.messages;
  }

  get stderr(): string {
    return this.process.stderr;
  }

  /** Sends an object as one line, `jsonrpc` added. */
  async send(message: JsonObject): Promise<void> {
    await this.process.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** Sends a request; integers from 1 are the ids unless one is given. */
  call(method: string, params?: unknown, id: unknown = this.#nextId++): Call {
    void this.send({ id, method, ...(params !== undefined && { params }) });
    return new Call(this, id, method);
  }

  /** Returns the call for a request that was written by hand. */
  callWritten(id: unknown, method = 'a request'): Call {
    return new Call(this, id, method);
  }

  async notify(method: string, params?: unknown): Promise<void> {
    await this.send({ method, ...(params !== undefined && { params }) });
  }

  async initialize(clientCapabilities: JsonObject = {}, clientInfo?: JsonObject): Promise<JsonObject> {
    return this.call('initialize', { protocolVersion: 1, clientCapabilities, ...(clientInfo && { clientInfo }) }).result();
  }

  /** Opens a session; returns its id. */
  async newSession(meta?: JsonObject): Promise<string> {
    const result = await this.call('session/new', { cwd: '/', mcpServers: [], ...(meta && { _meta: meta }) }).result();
    return String(result['sessionId']);
  }

  /** The handshake, then a session; returns its id. */
  async open(clientCapabilities?: JsonObject): Promise<string> {
    await this.initialize(clientCapabilities);
    return this.newSession();
  }

  load(sessionId: string): Call {
    return this.call('session/load', { sessionId, cwd: '/', mcpServers: [] });
  }

  /** Prompts with a text, or with content blocks. */
  prompt(sessionId: string, prompt: string | readonly unknown[] = 'go on', meta?: JsonObject): Call {
    const blocks = typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt;
    return this.call('session/prompt', { sessionId, prompt: blocks, ...(meta && { _meta: meta }) });
  }

  async cancel(sessionId: string): Promise<void> {
    await this.notify('session/cancel', { sessionId });
  }

  /** Returns the answers to an id. */
  answersTo(id: unknown): Message[] {
    return this.messages.filter((message) => message.method === undefined && message.id === id);
  }

  notifications(method: string): Message[] {
    return this.messages.filter((message) => message.method === method && message.id === undefined);
  }

  /** Returns the updates of one session, or of all. */
  updates(sessionId?: string): Update[] {
    return this.notifications('session/update')
      .map(({ index, line, params }) => ({ index, line, sessionId: String(params?.['sessionId']), update: (params?.['update'] ?? {}) as JsonObject }))
      .filter((update) => sessionId === undefined || update.sessionId === sessionId);
  }

  /** Returns the bare updates of one session. */
  updatesOf(sessionId: string): JsonObject[] {
    return this.updates(sessionId).map(({ update }) => update);
  }

  /** Returns what the agent said in one session. */
  text(sessionId: string): string {
    return textOf(this.updates(sessionId));
  }

  /** Resolves when the agent has said this in the session, all in all. */
  async said(sessionId: string, text: string, withinMs?: number): Promise<void> {
    await this.process.until(() => this.text(sessionId).includes(text), `the agent to say ${JSON.stringify(text)}`, withinMs);
  }

  /** Resolves when so many updates have come in all. */
  async updateCount(count: number, withinMs?: number): Promise<void> {
    await this.process.until(() => this.notifications('session/update').length >= count, `${count} updates`, withinMs);
  }

  /** Questions so far. */
  get questions(): Question[] {
    return this.messages
      .filter(({ method, id }) => method === 'session/request_permission' && id !== undefined)
      .map((message) => new Question(this, message));
  }

  /** Resolves with the n-th question, counted from 1. */
  async question(nth = 1, withinMs?: number): Promise<Question> {
    return this.process.until(() => this.questions[nth - 1], `question ${nth}`, withinMs);
  }

  /** Resolves when a question is withdrawn. */
  async withdrawn(question: Question): Promise<void> {
    await this.process.until(() => question.withdrawn, 'the question to be withdrawn');
  }

  /** Resolves when stderr holds a text. */
  async noted(text: string | RegExp, withinMs?: number): Promise<void> {
    const found = (): boolean => (typeof text === 'string' ? this.stderr.includes(text) : text.test(this.stderr));
    await this.process.until(found, `${String(text)} on stderr`, withinMs);
  }

  /** Resolves when the program has read everything so far: it answers one more request. */
  async caughtUp(): Promise<void> {
    await this.call('spec/none').answered();
  }
}
