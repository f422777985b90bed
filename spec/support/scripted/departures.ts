import type { OutgoingHttpHeaders } from 'node:http';
import { breakOff, type BreakOff } from './follower.ts';
import type { Exchange, RecordedRequest } from './exchange.ts';

/** Which requests are meant. */
export interface Route {
  readonly method?: string;
  readonly path?: RegExp;
  readonly kind?: RecordedRequest['kind'];
}

const conversation = '^/api/conversations/[^/]+';

/** The routes that a client of a conversation uses. */
export const routes = {
  any: {},
  me: { method: 'GET', path: /^\/api\/auth\/me$/ },
  agents: { method: 'GET', path: /^\/api\/agents$/ },
  agent: { method: 'GET', path: /^\/api\/agents\/[^/]+$/ },
  vaults: { method: 'GET', path: /^\/api\/vaults$/ },
  environments: { method: 'GET', path: /^\/api\/environments$/ },
  create: { method: 'POST', path: /^\/api\/conversations$/ },
  conversation: { method: 'GET', path: new RegExp(`${conversation}$`) },
  turns: { method: 'GET', path: new RegExp(`${conversation}/turns$`) },
  prompts: { method: 'POST', path: new RegExp(`${conversation}/prompts$`) },
  interrupt: { method: 'POST', path: new RegExp(`${conversation}/interrupt$`) },
  terminate: { method: 'POST', path: new RegExp(`${conversation}/terminate$`) },
  answers: { method: 'POST', path: new RegExp(`${conversation}/requests/[^/]+$`) },
  follow: { kind: 'follow' },
  history: { kind: 'history' },
} as const satisfies Record<string, Route>;

/** Whether a request is one of the route's. */
export function isOn(route: Route, request: RecordedRequest): boolean {
  const { method = request.method, path = /(?:)/, kind = request.kind } = route;
  return method === request.method && path.test(request.path) && kind === request.kind;
}

/** How an instance departs from its normal answer. */
export interface Departure {
  /** Carry the request out as usual, and only then depart. */
  readonly carriedOut?: boolean;
  /** Wait for this before anything else, or before the answer of what is carried out. */
  readonly hold?: Promise<unknown>;
  readonly status?: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly json?: unknown;
  readonly text?: string;
  /** An event stream with exactly these bytes; it ends after them, or stays open. */
  readonly stream?: Uint8Array | string;
  readonly open?: boolean;
  /** No answer at all. */
  readonly hangs?: boolean;
  readonly breaks?: Exclude<BreakOff, 'end'>;
  /** Bytes before the normal stream. */
  readonly prelude?: string;
  /** The normal stream without the last so many characters of its log. */
  readonly withoutLast?: number;
  /** The normal stream, broken off after so many events of its log. */
  readonly cutAfter?: number;
  /** The normal stream from the beginning, whatever id the client has seen. */
  readonly forgetsLastEventId?: boolean;
}

/** Which requests of a route depart, counted from 1; all without it. */
export interface Occasion {
  readonly nth?: readonly number[];
  readonly from?: number;
}

/** A departure and when it is due. */
export class DepartureRule {
  readonly #route: Route;
  readonly #departure: Departure;
  readonly #occasion: Occasion;
  #seen = 0;

  constructor(route: Route, departure: Departure, occasion: Occasion) {
    this.#route = route;
    this.#departure = departure;
    this.#occasion = occasion;
  }

  /** Counts the request, and returns the departure where it is due. */
  take(request: RecordedRequest): Departure | undefined {
    if (!isOn(this.#route, request)) return undefined;
    this.#seen += 1;
    const { nth, from = 1 } = this.#occasion;
    return (nth ? nth.includes(this.#seen) : this.#seen >= from) ? this.#departure : undefined;
  }
}

/** Answers as the departure says; returns false where it leaves the answer to the normal course. */
export async function depart(exchange: Exchange, departure: Departure): Promise<boolean> {
  const { status, headers, json, text, stream, open, hangs, breaks } = departure;
  const { socket } = exchange.response;
  if (breaks !== undefined && socket) breakOff(socket, breaks);
  else if (hangs === true) return true;
  else if (stream !== undefined) {
    const sink = exchange.eventStream(headers);
    await sink.write(stream);
    if (open !== true) sink.end();
  } else if (json !== undefined) exchange.json(status ?? 200, json, headers);
  else if (status !== undefined || text !== undefined) exchange.text(status ?? 200, text ?? '', headers);
  else return false;
  return true;
}
