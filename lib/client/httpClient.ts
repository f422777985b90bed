import type { IncomingMessage } from 'node:http';
import type { KyInstance } from 'ky';
import { ApiError, httpErrorCode, httpErrorWords, isApiError } from '../protocol/apiError.ts';
import { withoutSecrets } from '../protocol/secrets.ts';
import { createTransport, networkError, type Transport } from './transport.ts';

/** How long a call may take, in milliseconds. */
const callTimeoutMs = 60_000;

/** How long the head of an event stream may take, in milliseconds. */
const streamHeadTimeoutMs = 30_000;

/** Longest answer that is read, in bytes. */
const maxAnswerBytes = 64 * 1024 * 1024;

/** Options of {@link HttpClient}. */
export interface HttpClientOptions {
  readonly baseUrl: string;
  /** Undefined where the calls are public, as to log in. */
  readonly key: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** `fountain/<version>`, for the server's log. */
  readonly userAgent: string;
}

/** Query of an event stream. */
export interface StreamQuery {
  readonly streams: string;
  /** Whether the stream stays open behind what is stored. */
  readonly wait: boolean;
  /** Id of the last event seen, 0 for none. */
  readonly after: number;
}

/**
 * Speaks HTTP with one instance: JSON calls and event streams. Every method rejects with an {@link ApiError}; no call is
 * repeated, but for reads whose shared connection turned out to be closed.
 */
export class HttpClient {
  readonly #root: string;
  readonly #key: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #transport: Transport;
  #ky: Promise<KyInstance> | undefined;

  constructor({ baseUrl, key, env, userAgent }: HttpClientOptions) {
    if (!URL.canParse(baseUrl) || !/^https?:\/\//i.test(baseUrl)) throw new ApiError(`"${baseUrl}" is no http or https URL`, { maybeDone: false });
    // Anything else could not be a header, and Node would say so with words of its own.
    if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) throw new ApiError('the API key holds characters that no key has', { maybeDone: false });
    this.#key = key ?? '';
    this.#root = `${baseUrl.replace(/\/+$/, '')}/api/`;
    this.#headers = { ...(key !== undefined && { authorization: `Bearer ${key}` }), 'user-agent': userAgent };
    this.#transport = createTransport(env);
  }

  /** Resolves with the JSON of a good answer; undefined where its body is empty. */
  async call(method: string, path: string, signal: AbortSignal, body?: object): Promise<unknown> {
    return method === 'GET' ? this.#get(path, signal) : this.#send(method, path, signal, body);
  }

  /** Reads need none of what ky does, and it loads Node's whole fetch: a conversation is reopened sooner without. */
  async #get(path: string, signal: AbortSignal): Promise<unknown> {
    const deadline = AbortSignal.timeout(callTimeoutMs);
    const headers = { ...this.#headers, accept: 'application/json' };
    try {
      const request = { method: 'GET', url: new URL(this.#root + path), headers, signal: AbortSignal.any([signal, deadline]), timeoutMs: callTimeoutMs };
      const response = await this.#transport(request);
      const { location, 'retry-after': retryAfter } = response.headers;
      return this.#read(response.statusCode ?? 0, retryAfter ?? null, location ?? null, await bodyOf(response));
    } catch (error) {
      throw deadline.aborted ? unanswered(error) : error;
    }
  }

  async #send(method: string, path: string, signal: AbortSignal, body: object | undefined): Promise<unknown> {
    this.#ky ??= this.#createKy();
    const ky = await this.#ky;
    let response: Response;
    try {
      response = await ky(this.#root + path, { method, signal, headers: { ...this.#headers, accept: 'application/json' }, ...(body && { json: body }) });
    } catch (error) {
      if (error instanceof Error && error.name === 'TimeoutError') throw unanswered(error);
      throw isApiError(error) ? error : networkError(error);
    }
    return this.#read(response.status, response.headers.get('retry-after'), response.headers.get('location'), await response.text());
  }

  async #createKy(): Promise<KyInstance> {
    const { default: ky } = await import('ky');
    return ky.create({ retry: 0, timeout: callTimeoutMs, throwHttpErrors: false, fetch: (input, init) => this.#fetch(input as Request, init) });
  }

  /** Resolves with the body of an answer that is an event stream. */
  async openStream(path: string, { streams, wait, after }: StreamQuery, signal: AbortSignal): Promise<IncomingMessage> {
    const url = new URL(`${this.#root + path}?streams=${streams}${wait ? '' : '&wait=false'}`);
    const headers = { ...this.#headers, accept: 'text/event-stream', 'cache-control': 'no-cache', ...(after > 0 && { 'last-event-id': String(after) }) };
    const response = await this.#transport({ method: 'GET', url, headers, signal, timeoutMs: streamHeadTimeoutMs });
    const status = response.statusCode ?? 0;
    const type = response.headers['content-type'] ?? 'no content type';
    if (status === 200 && type.startsWith('text/event-stream')) return response;
    const { location, 'retry-after': retryAfter } = response.headers;
    if (status !== 200) this.#read(status, retryAfter ?? null, location ?? null, await bodyOf(response));
    response.destroy();
    throw new ApiError(`http ${status}: the answer is no event stream (${type})`, { status, maybeDone: false });
  }

  /** Returns what an answer says; throws an {@link ApiError} where it is a refusal, or no JSON. */
  #read(status: number, retryAfter: string | null, location: string | null, text: string): unknown {
    const body = parse(text);
    if (status >= 300) {
      const words = location !== null && status < 400 ? redirectWords(status, location) : httpErrorWords(status, body) + plainWords(body, text);
      throw new ApiError(withoutSecrets(words, this.#key), { status, code: httpErrorCode(body), retryAfterMs: retryAfterMs(retryAfter), maybeDone: status >= 500 });
    }
    if (body === undefined && text !== '') {
      throw new ApiError(`http ${status}: the answer is not JSON; is this a Fountain instance, or a gateway's page before it?`, { status, maybeDone: true });
    }
    return body;
  }

  /** Lets ky speak over the transport that the event streams use, for one set of proxies, authorities and errors. */
  async #fetch(request: Request, init: RequestInit | undefined): Promise<Response> {
    const { method, url, headers } = request;
    const body = method === 'GET' ? undefined : new Uint8Array(await request.arrayBuffer());
    const signal = init?.signal ?? request.signal;
    const response = await this.#transport({ method, url: new URL(url), headers: Object.fromEntries(headers), body, signal, timeoutMs: callTimeoutMs });
    const status = response.statusCode ?? 0;
    const bytes = await bytesOf(response);
    const answer = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
    return new Response(status === 204 || status === 304 ? null : bytes, { status, headers: answer });
  }
}

function unanswered(cause: unknown): ApiError {
  return new ApiError(`no answer within ${callTimeoutMs / 1000} s`, { code: 'ETIMEDOUT', maybeDone: true }, cause);
}

async function bytesOf(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      length += part.length;
      if (length > maxAnswerBytes) throw new Error(`the answer is longer than ${maxAnswerBytes} bytes`);
      parts.push(part);
    }
  } catch (error) {
    throw networkError(error);
  }
  return Buffer.concat(parts);
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  return (await bytesOf(response)).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A short answer in plain words is told, a page of markup is not. */
function plainWords(body: unknown, text: string): string {
  const plain = text.trim();
  return body === undefined && plain !== '' && plain.length <= 200 && !plain.includes('<') ? `: ${plain}` : '';
}

/** A key is never sent on to where an answer points. */
function redirectWords(status: number, location: string): string {
  return `http ${status}: the instance is elsewhere, at ${location.split('?')[0] ?? ''}; set FOUNTAIN_BASE_URL, or the profile's base_url, to it`;
}

function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), 300_000) : undefined;
}
