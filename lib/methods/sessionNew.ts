import { forkJoin, map, mergeMap, of, throwError, type Observable } from 'rxjs';
import type { AcpOptions, Context } from '../context.ts';
import { couldNotResolveAgent, internalError, noAgentConfigured, runtimeWithoutAcp } from '../protocol/errors.ts';
import type { Agent, CreateConversation } from '../protocol/fountain.ts';
import type { RequestFrame } from '../protocol/frames.ts';
import { isJsonObject, type JsonObject } from '../protocol/jsonrpc.ts';
import type { Instance } from '../remote.ts';
import { Session } from '../session.ts';
import { failAs } from './failures.ts';
import { modelsOf } from './models.ts';

/**
 * Opens a conversation, whose id is the session id; with a channel it may be one that exists already.
 *
 * Never waits for the sandbox: a provision that fails is an error of the prompt that meets it.
 *
 * Errors: as the table of the specification words them.
 *
 * @see Specification, "The protocol surface" and "_meta extensions on session/new"
 */
export function sessionNew({ params }: RequestFrame, context: Context): Observable<JsonObject> {
  const { options, instance$, log } = context;
  const name = options.agent ?? context.defaultAgent();
  if (name === undefined) return throwError(() => noAgentConfigured());
  const servers = Array.isArray(params['mcpServers']) ? params['mcpServers'].length : 0;
  log('debug', `session/new: cwd and ${servers} MCP servers of the client are ignored; the sandbox has its own`);
  return instance$.pipe(
    mergeMap((instance) =>
      resolve(name, options, instance).pipe(
        mergeMap(({ agent, vaultId, environmentId }) => {
          const body = conversationBody(agent, vaultId, environmentId, options, params);
          return instance.createConversation(body).pipe(
            failAs(instance.where, (cause, data) => internalError(`could not start a conversation for "${name}" on ${instance.where}: ${cause}`, data)),
            map(({ conversation: { id }, resumed }) => {
              context.agentOpened(name);
              // Of a conversation that was resumed it is not known how far it has got.
              context.connection.sessions.set(id, new Session({ ...context, id, where: instance.where, after: resumed ? undefined : 0, streamIdleMs: options.streamIdleMs }));
              log('debug', `${resumed ? 'resumed' : 'opened'} conversation ${id} with agent "${agent.name}"`);
              return { sessionId: id, models: modelsOf(agent) };
            }),
          );
        }),
      ),
    ),
  );
}

interface Resolved {
  readonly agent: Agent;
  readonly vaultId: string | undefined;
  readonly environmentId: string | undefined;
}

/** Names are resolved anew for each session: the agent may have been changed since. */
function resolve(name: string, { vault, environment }: AcpOptions, instance: Instance): Observable<Resolved> {
  const { where } = instance;
  const agent$ = instance.agent(name).pipe(
    failAs(where, (cause, data) => couldNotResolveAgent(name, where, cause, data)),
    map((agent) => {
      if (!agent.acp) throw runtimeWithoutAcp(name, agent.runtime);
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
  { sandboxMode, sandbox, permission }: AcpOptions,
  { _meta }: JsonObject,
): CreateConversation {
  const meta = isJsonObject(_meta) ? _meta : {};
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
