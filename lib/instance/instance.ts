import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { instanceConfig } from './config.ts';
import type { InstanceConfig, InstanceOptions } from './config.ts';
import { openDataFolder } from './data/dataFolder.ts';
import type { DataFolder } from './data/dataFolder.ts';
import { SecretBox } from './data/secretBox.ts';
import type { EngineContext } from './engine/context.ts';
import { wordsOf } from './engine/context.ts';
import { Engine } from './engine/engine.ts';
import { instanceRuntimes } from './engine/instanceRuntimes.ts';
import { detectIsolation } from './engine/isolation.ts';
import { prepareAccounts } from './firstStart.ts';
import { httpServer } from './http/server.ts';
import type { ChangeFeed } from './http/services.ts';
import { InstanceError } from './instanceError.ts';
import { Keys } from './keys.ts';
import { EventLog } from './log/eventLog.ts';
import type { Scope } from './store/rows.ts';
import { openSqlite } from './store/openSqlite.ts';
import { StoreUnusable } from './store/store.ts';
import type { Store } from './store/store.ts';
import { rowTime } from './time.ts';

/** A running instance. */
export interface Instance {
  /** Where it listens, without a trailing slash. */
  readonly baseUrl: string;
  /** A full-scope key of the local account. */
  readonly key: string;
  /** Id of the local account. */
  readonly accountId: string;
  readonly dataDir: string;
  /** What keeps sandboxes apart from the machine, in words. */
  readonly isolation: string;
  /** Makes another key. */
  mintKey(scope: Scope, accountId?: string): Promise<string>;
  /** Resolves when the instance has ended, for whatever reason. */
  readonly closed: Promise<void>;
  /** Ends it: turns fail with a reason, no process is left, streams end. May be called again. */
  close(): Promise<void>;
}

/**
 * Starts an instance: opens its data, puts in order what an earlier run left, and listens.
 *
 * Errors: {@link InstanceError} in one line for a person.
 *
 * @see Fountain HTTP and SSE contract
 */
export async function startInstance(options: InstanceOptions = {}): Promise<Instance> {
  const config = instanceConfig(options);
  const folder = await openDataFolder(config.dataDir);
  try {
    return await start(config, folder);
  } catch (error) {
    await folder.release();
    throw error;
  }
}

async function start(config: InstanceConfig, folder: DataFolder): Promise<Instance> {
  const store = openStore(folder.databaseFile);
  try {
    return await startOn(config, folder, store);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function startOn(config: InstanceConfig, folder: DataFolder, store: Store): Promise<Instance> {
  let baseUrl = '';
  const changes = changeFeed();
  const onFailure = failureLog(config);
  const context: EngineContext = {
    config,
    store,
    log: new EventLog(store),
    box: new SecretBox(await folder.secretKey()),
    keys: new Keys(store),
    runtimes: instanceRuntimes(config),
    isolation: detectIsolation(config.isolation),
    baseUrl: () => baseUrl,
    onFailure,
    onChange: (accountId) => changes.notify(accountId),
  };
  const local = await prepareAccounts(context, folder);
  const engine = new Engine(context);
  const { version } = config;
  const app = httpServer({ context, engine, changes, version });
  const traffic = watchTraffic(app);
  baseUrl = await listen(app, config);
  try {
    await engine.start();
    await folder.announce({ pid: process.pid, base_url: baseUrl, started_at: rowTime(), version });
  } catch (error) {
    await app.close();
    throw error;
  }
  traffic.open();

  let ending: Promise<void> | null = null;
  let onClosed: () => void = () => undefined;
  const closed = new Promise<void>((resolve) => (onClosed = resolve));
  const close = (): Promise<void> => (ending ??= end().finally(onClosed));
  const stopWatching = exitWhenIdle(config, () => traffic.idleMs(), () => engine.isBusy, close);

  async function end(): Promise<void> {
    stopWatching();
    traffic.refuse();
    await engine.close();
    traffic.endStreams();
    await app.close();
    await store.close();
    await folder.release();
  }

  return {
    baseUrl,
    key: local.key,
    accountId: local.id,
    dataDir: config.dataDir,
    isolation: context.isolation.reason === null ? 'bubblewrap' : `none: ${context.isolation.reason}`,
    mintKey: async (scope, accountId = local.id) => (await context.keys.mint({ accountId, scope, conversationId: null })).key,
    closed,
    close,
  };
}

function openStore(file: string): Store {
  try {
    return openSqlite(file);
  } catch (error) {
    if (error instanceof StoreUnusable) throw new InstanceError(error.reason, error.message, error);
    throw error;
  }
}

async function listen(app: FastifyInstance, { host, port }: InstanceConfig): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    await app.close();
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EADDRINUSE') throw new InstanceError('address', `port ${port} on ${host} is taken; choose another one with --port, or 0 for any`, error);
    throw new InstanceError('address', `cannot listen on ${host}, port ${port} (${wordsOf(error)})`, error);
  }
  const address = app.server.address() as AddressInfo;
  const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const name = everywhere[address.address] ?? address.address;
  return `http://${name.includes(':') ? `[${name}]` : name}:${address.port}`;
}

/** The requests of a server: how long there has been none, and an end to those that never end by themselves. */
interface Traffic {
  open(): void;
  refuse(): void;
  idleMs(): number;
  endStreams(): void;
}

function watchTraffic(app: FastifyInstance): Traffic {
  const open = new Set<ServerResponse>();
  let lastAt = Date.now();
  let state: 'starting' | 'open' | 'stopping' = 'starting';
  app.addHook('onRequest', (_request, reply, done) => {
    lastAt = Date.now();
    open.add(reply.raw);
    reply.raw.once('close', () => {
      open.delete(reply.raw);
      lastAt = Date.now();
    });
    if (state === 'open') done();
    else void reply.code(503).header('retry-after', '1').send({ error: state, message: `the server is ${state}` });
  });
  return {
    open: () => void (state = 'open'),
    refuse: () => void (state = 'stopping'),
    idleMs: () => (open.size > 0 ? 0 : Date.now() - lastAt),
    endStreams: () => open.forEach((response) => response.end()),
  };
}

function exitWhenIdle({ idleExitSeconds, log }: InstanceConfig, idleMs: () => number, isBusy: () => boolean, close: () => Promise<void>): () => void {
  if (idleExitSeconds === null) return () => undefined;
  let busyAt = Date.now();
  const timer = setInterval(() => {
    if (isBusy()) busyAt = Date.now();
    if (Math.min(idleMs(), Date.now() - busyAt) < idleExitSeconds * 1000) return;
    log('info', `nobody has used this instance for ${idleExitSeconds} s; it ends`);
    void close();
  }, Math.min(1000, idleExitSeconds * 250));
  return () => clearInterval(timer);
}

/** A fault that comes with every piece of output is said once a second. */
function failureLog({ log }: InstanceConfig): (error: unknown) => void {
  let last = '';
  let at = 0;
  return (error) => {
    const words = wordsOf(error);
    if (words === last && Date.now() - at < 1000) return;
    last = words;
    at = Date.now();
    log('error', `something failed that nobody waits for: ${words}`);
  };
}

function changeFeed(): ChangeFeed & { notify(accountId: string): void } {
  const listeners = new Map<string, Set<() => void>>();
  return {
    notify: (accountId) => listeners.get(accountId)?.forEach((listener) => listener()),
    subscribe: (accountId, listener) => {
      const ofAccount = listeners.get(accountId) ?? new Set();
      listeners.set(accountId, ofAccount.add(listener));
      return () => void ofAccount.delete(listener);
    },
  };
}
