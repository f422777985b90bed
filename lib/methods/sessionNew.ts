import { map, mergeMap, throwError, type Observable } from 'rxjs';
import type { Context } from '../context.ts';
import { noAgentConfigured, runtimeWithoutAcp } from '../protocol/errors.ts';
import type { Agent } from '../protocol/fountain.ts';
import type { RequestFrame } from '../protocol/frames.ts';
import { isJsonObject, type JsonObject } from '../protocol/jsonrpc.ts';
import { Session } from '../session.ts';
import { launch } from './launch.ts';
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
  const meta = isJsonObject(params['_meta']) ? params['_meta'] : {};
  const check = ({ acp, runtime }: Agent): void => {
    if (!acp) throw runtimeWithoutAcp(name, runtime);
  };
  return instance$.pipe(
    mergeMap((instance) =>
      launch({ ...options, agent: name, meta, check }, instance).pipe(
        map(({ agent, conversation: { id }, resumed }) => {
          context.agentOpened(name);
          // Of a conversation that was resumed it is not known how far it has got.
          context.connection.sessions.set(id, new Session({ ...context, id, where: instance.where, after: resumed ? undefined : 0, streamIdleMs: options.streamIdleMs }));
          log('debug', `${resumed ? 'resumed' : 'opened'} conversation ${id} with agent "${agent.name}"`);
          return { sessionId: id, models: modelsOf(agent) };
        }),
      ),
    ),
  );
}
