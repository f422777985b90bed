import type { EngineContext } from '../engine/context.ts';
import type { Engine } from '../engine/engine.ts';
import type { Scope } from '../store/rows.ts';

/** What the routes stand on. */
export interface Services {
  readonly context: EngineContext;
  readonly engine: Engine;
  readonly changes: ChangeFeed;
  /** Version of this program. */
  readonly version: string;
}

/** Tells the account streams that a list of conversations changed. */
export interface ChangeFeed {
  /** Calls the listener on every later change of an account, until the returned function is called. */
  subscribe(accountId: string, listener: () => void): () => void;
}

/** Whose request it is. */
export interface Caller {
  readonly accountId: string;
  readonly scope: Scope;
  /** The conversation whose sandbox calls; null for a person. */
  readonly conversationId: string | null;
}

/** What a route asks of its caller: nothing at all, a full-scope key, or any key by default. */
type Access = 'public' | 'full';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before any handler of a route that is not public. */
    caller: Caller;
  }
  interface FastifyContextConfig {
    readonly access?: Access;
    /** The answer is no JSON; its kind is not negotiated. */
    readonly isStream?: boolean;
  }
  interface FastifySchema {
    /** What the route does, in the contract document. */
    summary?: string;
  }
}
