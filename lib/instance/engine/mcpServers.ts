import { isJsonObject } from '../../protocol/jsonrpc.ts';
import type { JsonObject } from '../../protocol/jsonrpc.ts';

/**
 * Returns an agent's MCP servers in the protocol's form.
 *
 * Agents have them by name, as clients configure them: `{command, args, env}` for a program, `{url, type, headers}` for a
 * server on the network. What is neither is left out.
 *
 * @see https://agentclientprotocol.com/protocol/session-setup
 */
export function mcpServersOf(configured: JsonObject): readonly JsonObject[] {
  return Object.entries(configured).flatMap(([name, server]): readonly JsonObject[] => {
    if (!isJsonObject(server)) return [];
    const { command, args, env, url, type, headers } = server;
    if (typeof command === 'string') return [{ name, command, args: texts(args), env: pairs(env) }];
    if (typeof url === 'string') return [{ type: type === 'sse' ? 'sse' : 'http', name, url, headers: pairs(headers) }];
    return [];
  });
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === 'string') : [];
}

function pairs(value: unknown): readonly JsonObject[] {
  return isJsonObject(value) ? Object.entries(value).flatMap(([name, text]) => (typeof text === 'string' ? [{ name, value: text }] : [])) : [];
}
