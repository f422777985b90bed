import type { MonoTypeOperatorFunction, Observable, SchedulerLike } from 'rxjs';
import type { PermissionPolicy } from './protocol/fountain.ts';
import type { Frame, Lines } from './protocol/frames.ts';
import type { JsonObject } from './protocol/jsonrpc.ts';
import type { Instance } from './remote.ts';
import type { Session } from './session.ts';

/** What the flags of `fountain acp` say. */
export interface AcpOptions {
  readonly version: string;
  readonly agent: string | undefined;
  readonly vault: string | undefined;
  readonly environment: string | undefined;
  readonly sandboxMode: string | undefined;
  readonly sandbox: string | undefined;
  /** Undefined leaves the agent's own policy alone. */
  readonly permission: PermissionPolicy | undefined;
  /** Silence of a followed stream after which it is given up, in milliseconds. */
  readonly streamIdleMs: number;
}

/** What the client said in `initialize`. */
export interface Client {
  readonly capabilities: JsonObject;
  /** Name in `clientInfo`; empty where it gave none. */
  readonly name: string;
}

/** What is known of this connection, and changes with it. */
export interface Connection {
  /** Undefined before `initialize`. */
  client: Client | undefined;
  readonly sessions: Map<string, Session>;
}

/** All that a method handler needs of the world. */
export interface Context {
  readonly options: AcpOptions;
  readonly connection: Connection;
  /** The instance that the credentials of this moment lead to. Errors in words where there are none. */
  readonly instance$: Observable<Instance>;
  /** Whether credentials are at hand; makes no request. */
  readonly hasCredentials: () => boolean;
  /** Remembers the agent that was opened, for a later process without `--agent`. */
  readonly agentOpened: (nameOrId: string) => void;
  /** The agent for a process without `--agent`; undefined where there is none. */
  readonly defaultAgent: () => string | undefined;
  /** The client's frames from now on. */
  readonly frame$: Observable<Frame>;
  /** Emits when nobody is there to answer a question any more, late subscribers included. */
  readonly left$: Observable<unknown>;
  /** Emits when results are not waited for any more, late subscribers included. */
  readonly stopped$: Observable<unknown>;
  /** Keeps count of a question that waits for the client, so that it can be denied before the process ends. */
  readonly countQuestion: MonoTypeOperatorFunction<Lines>;
  readonly scheduler: SchedulerLike;
  readonly random: () => number;
  readonly log: (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void;
  /** Returns the next id of our own requests, from 1. */
  readonly nextId: () => number;
}
