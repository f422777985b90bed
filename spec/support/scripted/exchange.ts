import { once } from 'node:events';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { constants, createGzip, type Gzip } from 'node:zlib';
import type { StreamSink } from './follower.ts';

/** What an instance saw of one request. */
export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly rawBody: string;
  /** The body read as JSON; undefined where it is none. */
  readonly body: Record<string, unknown> | undefined;
  /** A `follow` is a stream that stays open, a `history` one that ends after the log, or its JSON twin. */
  readonly kind: 'follow' | 'history' | undefined;
  /** Milliseconds on the monotonic clock. */
  readonly at: number;
  /** Whether it came as a proxy's client sends it. */
  readonly proxied: boolean;
}

/** One request and the way to answer it. */
export class Exchange {
  readonly request: RecordedRequest;
  readonly response: ServerResponse;
  readonly #compress: boolean;
  #withheld: (() => void)[] | undefined;
  #gzip: Gzip | undefined;

  constructor(request: RecordedRequest, response: ServerResponse, compress: boolean) {
    this.request = request;
    this.response = response;
    this.#compress = compress && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    response.on('error', () => undefined);
  }

  /** Keeps the next answer back, until it is released. */
  withhold(): void {
    this.#withheld = [];
  }

  /** Returns the answer that was kept back; later ones go out at once. */
  takeWithheld(): () => void {
    const answers = this.#withheld ?? [];
    this.#withheld = undefined;
    return () => answers.forEach((answer) => answer());
  }

  json(status: number, body: unknown, headers: OutgoingHttpHeaders = {}): void {
    this.text(status, JSON.stringify(body), { 'content-type': 'application/json; charset=utf-8', ...headers });
  }

  text(status: number, body: string, headers: OutgoingHttpHeaders = {}): void {
    this.#answer(() => {
      this.#head(status, { 'content-type': 'text/plain; charset=utf-8', ...headers });
      (this.#gzip ?? this.response).end(body);
    });
  }

  empty(status: number): void {
    this.#answer(() => {
      this.response.writeHead(status).end();
    });
  }

  /** Opens an event stream; what is written to the sink goes out at once. */
  eventStream(headers: OutgoingHttpHeaders = {}): StreamSink {
    this.#head(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', connection: 'keep-alive', ...headers });
    this.response.flushHeaders();
    const target = this.#gzip ?? this.response;
    return {
      write: async (bytes) => {
        const room = target.write(bytes);
        this.#gzip?.flush(constants.Z_SYNC_FLUSH);
        if (!room && !this.response.destroyed) await roomIn(target, this.response);
      },
      end: () => target.end(),
    };
  }

  #answer(answer: () => void): void {
    if (this.#withheld) this.#withheld.push(answer);
    else answer();
  }

  #head(status: number, headers: OutgoingHttpHeaders): void {
    if (!this.#compress) {
      this.response.writeHead(status, headers);
      return;
    }
    this.response.writeHead(status, { ...headers, 'content-encoding': 'gzip' });
    this.#gzip = createGzip();
    this.#gzip.on('error', () => undefined);
    this.#gzip.pipe(this.response);
  }
}

/** Resolves when a sink takes more, or nobody reads it any more. */
async function roomIn(target: Gzip | ServerResponse, response: ServerResponse): Promise<void> {
  const controller = new AbortController();
  const { signal } = controller;
  await Promise.race([once(target, 'drain', { signal }), once(response, 'close', { signal })]);
  controller.abort();
}

/** Reads a request to its end. */
export async function record(incoming: IncomingMessage, target: string, proxied: boolean): Promise<RecordedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const url = new URL(target, 'http://instance');
  const rawBody = Buffer.concat(chunks).toString('utf8');
  return {
    method: incoming.method ?? '',
    path: target.split('?')[0] ?? '',
    query: url.searchParams,
    headers: incoming.headers,
    rawBody,
    body: asJson(rawBody),
    kind: kindOf(incoming.method, url),
    at: performance.now(),
    proxied,
  };
}

function asJson(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function kindOf(method: string | undefined, { pathname, searchParams }: URL): RecordedRequest['kind'] {
  if (method !== 'GET') return undefined;
  if (pathname.endsWith('/events')) return 'history';
  if (!pathname.endsWith('/stream')) return undefined;
  return ['false', '0'].includes(searchParams.get('wait') ?? '') ? 'history' : 'follow';
}
