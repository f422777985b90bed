import { readFileSync } from 'node:fs';
import http, { type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import tls from 'node:tls';
import { HttpsProxyAgent } from 'https-proxy-agent';
import { getProxyForUrl } from 'proxy-from-env';
import { ApiError } from '../protocol/apiError.ts';

/** One HTTP request. */
export interface TransportRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
  readonly signal: AbortSignal;
  /** How long the answer's head may take, in milliseconds. */
  readonly timeoutMs: number;
}

/** Sends one request; resolves with the answer's head, its body unread. Rejects with an {@link ApiError}. */
export type Transport = (request: TransportRequest) => Promise<IncomingMessage>;

/**
 * Returns a transport over Node's own HTTP, which streams in constant memory and starts in little of it.
 *
 * Proxies are those of the environment, except for loopback addresses. Certificate authorities are Node's, and those in
 * `SSL_CERT_FILE`. A request that may be repeated shares connections and is sent once more when the server had closed an
 * idle one; any other gets a connection of its own, so that it is never in doubt whether a stale one lost it.
 */
export function createTransport(env: NodeJS.ProcessEnv): Transport {
  const agents = new Agents(env);
  return async (request) => {
    const repeatable = request.method === 'GET';
    try {
      return await send(request, agents.optionsFor(request.url, repeatable));
    } catch (error) {
      if (!repeatable || !(error instanceof StaleConnectionError)) throw error;
      return send(request, agents.optionsFor(request.url, false));
    }
  };
}

/** The server closed a shared connection before it answered. */
class StaleConnectionError extends ApiError {}

class Agents {
  readonly #env: NodeJS.ProcessEnv;
  readonly #kept = new Map<string, http.Agent>();
  #authorities: readonly string[] | undefined;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  optionsFor(url: URL, shared: boolean): RequestOptions {
    const proxy = isLoopback(url.hostname) ? '' : getProxyForUrl(url);
    if (proxy !== '' && url.protocol === 'http:') return throughProxy(url, proxy);
    const agent = this.#agent(url.protocol, proxy, shared);
    return { protocol: url.protocol, hostname: bare(url.hostname), port: url.port, path: url.pathname + url.search, agent };
  }

  #agent(protocol: string, proxy: string, shared: boolean): http.Agent {
    const key = `${protocol} ${proxy} ${shared}`;
    const kept = this.#kept.get(key);
    if (kept) return kept;
    const options = { keepAlive: shared, ...(protocol === 'https:' && { ca: this.#certificateAuthorities() }) };
    const agent = proxy !== '' ? proxyAgent(proxy, options) : protocol === 'https:' ? new https.Agent(options) : new http.Agent(options);
    this.#kept.set(key, agent);
    return agent;
  }

  /** Undefined leaves Node its own; naming any replaces them all, so Node's are named too. */
  #certificateAuthorities(): string[] | undefined {
    const file = this.#env['SSL_CERT_FILE'];
    if (!file) return undefined;
    this.#authorities ??= [...tls.rootCertificates, ...[this.#env['NODE_EXTRA_CA_CERTS'], file].map(readIfThere)];
    return [...this.#authorities];
  }
}

function proxyAgent(proxy: string, options: https.AgentOptions): http.Agent {
  try {
    return new HttpsProxyAgent(proxy, options);
  } catch (error) {
    throw new ApiError(`the proxy setting is not a URL`, { maybeDone: false }, error);
  }
}

function readIfThere(file: string | undefined): string {
  try {
    return file ? readFileSync(file, 'utf8') : '';
  } catch {
    return '';
  }
}

/** A plain request through a proxy names its target in full. */
function throughProxy(url: URL, proxy: string): RequestOptions {
  const { protocol, hostname, port, username, password } = new URL(proxy);
  const authorization = `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`;
  return {
    protocol,
    hostname: bare(hostname),
    port,
    path: url.href,
    setHost: false,
    headers: { host: url.host, ...(username && { 'proxy-authorization': authorization }) },
  };
}

function send({ method, headers, body, signal, timeoutMs }: TransportRequest, options: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const length = body ? { 'content-length': String(body.length) } : {};
    const { request: open } = options.protocol === 'https:' ? https : http;
    const request = open({ ...options, method, headers: { ...(options.headers as object), ...headers, ...length }, signal });
    let connected = false;
    const timer = setTimeout(() => request.destroy(new TimeoutError(timeoutMs)), timeoutMs);
    request.on('socket', (socket) => {
      connected = !socket.connecting;
      socket.once('connect', () => (connected = true));
      socket.setKeepAlive(true, 30_000);
    });
    request.on('response', (response) => {
      clearTimeout(timer);
      resolve(response);
    });
    request.on('error', (error) => {
      clearTimeout(timer);
      reject(networkError(error, connected, request.reusedSocket));
    });
    request.end(body);
  });
}

class TimeoutError extends Error {
  readonly code = 'ETIMEDOUT';

  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs / 1000} s`);
  }
}

/** What the system's codes mean to a reader. */
const meanings: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was reset',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the host name could not be looked up',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
};

/** Returns a failed connection in words; `sent` tells whether the request may have reached the server. */
export function networkError(error: unknown, sent = true, reused = false): ApiError {
  const cause = error instanceof AggregateError ? (error.errors as unknown[])[0] : error;
  const { code, message } = cause as Partial<NodeJS.ErrnoException>;
  const detail = message || 'no reason given';
  const meaning = code === undefined ? undefined : meanings[code];
  const words = meaning === undefined ? detail + certificateHint(code) : `${meaning} (${detail})`;
  const fault = { code, maybeDone: sent && !isCertificateFault(code) };
  return reused && code === 'ECONNRESET' ? new StaleConnectionError(words, fault, error) : new ApiError(words, fault, error);
}

function isCertificateFault(code: string | undefined): boolean {
  return code !== undefined && /CERT|SIGNATURE|ISSUER|ERR_TLS/.test(code);
}

function certificateHint(code: string | undefined): string {
  return isCertificateFault(code) ? ` (${code ?? ''}); for a private certificate authority set NODE_EXTRA_CA_CERTS to its file` : '';
}

function isLoopback(hostname: string): boolean {
  const name = bare(hostname);
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}

/** A URL keeps an IPv6 address in brackets, a socket wants it without. */
function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}
