import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Condition } from './condition.ts';
import { ScriptedConversation, type ConversationFacts } from './scripted/conversation.ts';
import { depart, DepartureRule, isOn, type Departure, type Occasion, type Route } from './scripted/departures.ts';
import { today, type Dialect } from './scripted/eventFrame.ts';
import { Exchange, record, type RecordedRequest } from './scripted/exchange.ts';
import { answerConversation, conversationBody } from './scripted/routing.ts';
import { Transport, type TransportOptions } from './scripted/transport.ts';
import { says, ScriptedTurn, type Script } from './scripted/turn.ts';

/** One agent as the instance lists it. */
export interface ScriptedAgent {
  readonly id: string;
  readonly name: string;
  readonly runtime: string;
  readonly model: string | null;
  readonly acp: boolean;
}

/** A vault or an environment: a name for an id. */
interface Named {
  readonly id: string;
  readonly name: string;
}

/** The agent that every scripted instance has unless it is given others. */
export const coder: ScriptedAgent = {
  id: '3d6f0a8e-52b1-4c7e-9a43-7f1e2b9c6d10',
  name: 'coder',
  runtime: 'claude',
  model: 'anthropic/claude-opus-5',
  acp: true,
};

/** What an instance is made with. */
export interface InstanceOptions extends TransportOptions {
  readonly key?: string;
  readonly agents?: readonly ScriptedAgent[];
  readonly vaults?: readonly Named[];
  readonly environments?: readonly Named[];
  readonly dialect?: Dialect;
  /** Take a prompt while a turn runs, to be played after it; the contract refuses it. */
  readonly queuesPrompts?: boolean;
  /** Compress what it answers, where the client takes it. */
  readonly compresses?: boolean;
  /** Serve everything below this path, nothing else. */
  readonly prefix?: string;
}

/**
 * A Fountain instance for specs, over a real socket: it answers as the contract says, plays the turns that a spec
 * writes, departs from its answers where a spec wants that, and keeps every request.
 *
 * @see Fountain HTTP and SSE contract
 */
export class ScriptedInstance {
  readonly key: string;
  readonly condition = new Condition();
  readonly requests: RecordedRequest[] = [];
  readonly conversations = new Map<string, ScriptedConversation>();
  /** Played by the prompts of conversations without a script of their own, in order; then "hello". */
  readonly scripts: Script[] = [];
  agents: readonly ScriptedAgent[];
  /** The next event's id; ids need not be contiguous. */
  nextEventId = 41;
  /** Runs when a conversation has been opened, before the client knows. */
  onOpened: (conversation: ScriptedConversation) => void = () => undefined;
  readonly transport: Transport;
  readonly #options: InstanceOptions;
  readonly #rules: DepartureRule[] = [];
  readonly #turns: ScriptedTurn[] = [];

  constructor(options: InstanceOptions = {}) {
    this.#options = options;
    this.key = options.key ?? 'ftn_5c0123';
    this.agents = options.agents ?? [coder];
    this.transport = new Transport((request, response) => void this.#answer(request, response), options);
  }

  /** Address of the instance, its prefix included. */
  get baseUrl(): string {
    return this.transport.url() + (this.#options.prefix ?? '');
  }

  /** Makes a conversation that exists already. */
  conversation(facts: ConversationFacts = {}): ScriptedConversation {
    const conversation = new ScriptedConversation(
      { agentId: this.agents[0]?.id ?? null, ...facts },
      { dialect: this.#options.dialect ?? today, condition: this.condition, nextEventId: () => this.takeEventId() },
    );
    this.conversations.set(conversation.id, conversation);
    return conversation;
  }

  /** Returns the conversation of a session. */
  of(sessionId: string): ScriptedConversation {
    const conversation = this.conversations.get(sessionId);
    if (!conversation) throw new Error(`there is no conversation ${sessionId}`);
    return conversation;
  }

  /** Departs from the normal answer on a route; of several departures that are due the first one counts. */
  depart(route: Route, departure: Departure, occasion: Occasion = {}): void {
    this.#rules.push(new DepartureRule(route, departure, occasion));
  }

  /** Returns the requests of a route so far. */
  seen(route: Route): RecordedRequest[] {
    return this.requests.filter((request) => isOn(route, request));
  }

  /** Resolves with the n-th request of a route, counted from 1. */
  async request(route: Route, nth = 1): Promise<RecordedRequest> {
    const wanted = (): string => `request ${nth} of ${route.method ?? ''} ${route.path?.source ?? route.kind ?? 'any route'}`;
    return this.condition.until(() => this.seen(route)[nth - 1], wanted);
  }

  /** Resolves with the turn of the n-th prompt, counted from 1. */
  async turn(nth = 1): Promise<ScriptedTurn> {
    return this.condition.until(() => this.#turns[nth - 1], () => `prompt ${nth}`);
  }

  close(): void {
    this.transport.close();
  }

  /** Uses an event id up, for an event that a spec writes itself. */
  takeEventId(): number {
    const id = this.nextEventId;
    this.nextEventId += 3;
    return id;
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const absolute = /^https?:\/\/[^/]+(.*)$/.exec(incoming.url ?? '');
    const target = this.#withoutPrefix(absolute?.[1] ?? incoming.url ?? '');
    let request: RecordedRequest;
    try {
      request = await record(incoming, target ?? '', absolute !== null);
    } catch {
      return;
    }
    const exchange = new Exchange(request, response, this.#options.compresses === true);
    if (target === undefined) {
      exchange.text(404, 'nothing here');
      return;
    }
    this.requests.push(request);
    const departure = this.#rules.map((rule) => rule.take(request)).find((due) => due !== undefined);
    this.condition.changed();
    await this.#respond(exchange, departure);
  }

  #withoutPrefix(target: string): string | undefined {
    const { prefix } = this.#options;
    if (prefix === undefined) return target;
    return target.startsWith(`${prefix}/`) ? target.slice(prefix.length) : undefined;
  }

  async #respond(exchange: Exchange, departure: Departure | undefined): Promise<void> {
    if (departure?.carriedOut === true) {
      exchange.withhold();
      await this.#route(exchange, departure);
      await departure.hold;
      const usualAnswer = exchange.takeWithheld();
      if (!(await depart(exchange, departure))) usualAnswer();
      return;
    }
    await departure?.hold;
    if (departure && (await depart(exchange, departure))) return;
    await this.#route(exchange, departure);
  }

  async #route(exchange: Exchange, departure: Departure | undefined): Promise<void> {
    const { method, path, headers } = exchange.request;
    if (headers.authorization !== `Bearer ${this.key}`) {
      exchange.json(401, { error: 'this key is not known', reason: 'api_key_invalid' });
      return;
    }
    if (this.#answerAccount(exchange)) return;
    if (method === 'POST' && path === '/api/conversations') {
      this.#create(exchange);
      return;
    }
    const id = /^\/api\/conversations\/([^/]+)/.exec(path)?.[1];
    const conversation = id === undefined ? undefined : this.conversations.get(decodeURIComponent(id));
    const accept = (request: RecordedRequest, to: ScriptedConversation): ScriptedTurn => this.#accept(request, to);
    if (conversation && (await answerConversation(exchange, conversation, departure, { accept, queues: this.#options.queuesPrompts === true }))) return;
    exchange.json(404, { error: 'not_found' });
  }

  #answerAccount(exchange: Exchange): boolean {
    const { method, path } = exchange.request;
    if (method !== 'GET') return false;
    const lists: Record<string, readonly unknown[] | undefined> = {
      '/api/agents': this.agents,
      '/api/vaults': this.#options.vaults ?? [],
      '/api/environments': this.#options.environments ?? [],
      '/api/conversations': [...this.conversations.values()].map(conversationBody),
    };
    const list = lists[path];
    const agent = this.agents.find(({ id }) => path === `/api/agents/${id}`);
    if (list) exchange.json(200, { data: list });
    else if (agent) exchange.json(200, { data: agent });
    else if (path === '/api/auth/me') exchange.json(200, { id: randomUUID(), email: 'ada@example.test', role: 'user', email_verified: true });
    return list !== undefined || agent !== undefined || path === '/api/auth/me';
  }

  #create(exchange: Exchange): void {
    const { agent_id: agentId, channel_id: channel, fresh } = exchange.request.body ?? {};
    const bound = [...this.conversations.values()].filter((candidate) => candidate.channel !== null && candidate.channel === channel);
    const resumed = fresh === true ? undefined : bound[0];
    if (!resumed) for (const old of bound) old.channel = null;
    const agent = this.agents.find(({ id }) => id === agentId);
    if (!agent) {
      exchange.json(404, { error: 'not_found' });
      return;
    }
    const channelId = typeof channel === 'string' ? channel : null;
    const conversation = resumed ?? this.conversation({ agentId: agent.id, runtime: agent.runtime, channel: channelId, status: 'pending' });
    this.onOpened(conversation);
    exchange.json(resumed ? 200 : 201, { data: conversationBody(conversation), meta: { resumed: resumed !== undefined } });
  }

  #accept(request: RecordedRequest, conversation: ScriptedConversation): ScriptedTurn {
    const { prompt, client_request_id: given } = request.body ?? {};
    const turn = conversation.foreignTurn({
      prompt: typeof prompt === 'string' ? prompt : '',
      clientRequestId: typeof given === 'string' ? given : null,
    });
    this.#turns.push(turn);
    const script = conversation.scripts.shift() ?? this.scripts.shift() ?? says('hello');
    const play = (): void => void Promise.resolve(script(turn)).catch((error: unknown) => console.error('a script failed:', error));
    setImmediate(play);
    this.condition.changed();
    return turn;
  }
}
