import { forkJoin, map, mergeMap, of, type Observable } from 'rxjs';
import type { AcpOptions } from '../context.ts';
import { couldNotResolveAgent, internalError } from '../protocol/errors.ts';
import type { Agent, Conversation, CreateConversation } from '../protocol/fountain.ts';
import type { JsonObject } from '../protocol/jsonrpc.ts';
import type { Instance } from '../remote.ts';
import { failAs } from './failures.ts';

/** What a conversation is opened with. */
export interface LaunchOptions extends Pick<AcpOptions, 'vault' | 'environment' | 'sandboxMode' | 'sandbox' | 'permission'> {
  /** The agent, by name or id. */
  readonly agent: string;
  /** What `session/new` brought out of band. */
  readonly meta: JsonObject;
  /** Throws where the agent can't be used. */
  readonly check: (agent: Agent) => void;
}

/** A conversation that has been opened, or found again by its channel. */
export interface Launched {
  readonly agent: Agent;
  readonly conversation: Conversation;
  readonly resumed: boolean;
}

/**
 * Resolves the names that a conversation is opened with, and opens it. Names are resolved anew each time: the agent may
 * have been changed since.
 *
 * Errors: as the table of the specification words them; what `check` throws.
 */
export function launch(options: LaunchOptions, instance: Instance): Observable<Launched> {
  const { where } = instance;
  return resolve(options, instance).pipe(
    mergeMap(({ agent, vaultId, environmentId }) =>
      instance.createConversation(conversationBody(agent, vaultId, environmentId, options)).pipe(
        failAs(where, (cause, data) => internalError(`could not start a conversation for "${options.agent}" on ${where}: ${cause}`, data)),
        map((opened) => ({ agent, ...opened })),
      ),
    ),
  );
}

interface Resolved {
  readonly agent: Agent;
  readonly vaultId: string | undefined;
  readonly environmentId: string | undefined;
}

function resolve({ agent: name, check, vault, environment }: LaunchOptions, instance: Instance): Observable<Resolved> {
  const { where } = instance;
  const agent$ = instance.agent(name).pipe(
    failAs(where, (cause, data) => couldNotResolveAgent(name, where, cause, data)),
    map((agent) => {
      check(agent);
      return agent;
    }),
  );
  const idOf = (kind: string, given: string | undefined, find: (nameOrId: string) => Observable<string>) =>
    given === undefined ? of(undefined) : find(given).pipe(failAs(where, (cause) => `could not resolve ${kind} "${given}" on ${where}: ${cause}`));
  return forkJoin({
    agent: agent$,
    vaultId: idOf('vault', vault, (given) => instance.vaultId(given)),
    environmentId: idOf('environment', environment, (given) => instance.environmentId(given)),
  });
}

function conversationBody(
  { id }: Agent,
  vaultId: string | undefined,
  environmentId: string | undefined,
  { meta, sandboxMode, sandbox, permission }: LaunchOptions,
): CreateConversation {
  // What a session says goes before what the process says, and is the server's to validate.
  const mode = meta['sandboxMode'] ?? sandboxMode;
  const attached = meta['sandboxId'] ?? sandbox;
  return {
    agent_id: id,
    ...channelOf(meta),
    ...(vaultId !== undefined && { vault_id: vaultId }),
    ...(environmentId !== undefined && { environment_id: environmentId }),
    ...(mode !== undefined && { sandbox_mode: mode }),
    ...(attached !== undefined && { sandbox_id: attached }),
    ...(permission && { permission_policy: permission }),
  };
}

/** Without a channel there is nothing to open afresh. */
function channelOf({ channelId, freshSession }: JsonObject): { channel_id?: string; fresh?: true } {
  if (typeof channelId !== 'string' || channelId === '') return {};
  return { channel_id: channelId, ...((freshSession === true || freshSession === 'true') && { fresh: true }) };
}
