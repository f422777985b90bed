import type { Agent } from '../protocol/fountain.ts';
import type { JsonObject } from '../protocol/jsonrpc.ts';

/**
 * The agent's model, as the one model available: some clients refuse an agent with an empty list.
 *
 * @param agent - Undefined where the conversation's agent is not to be had.
 * @see Specification, "The protocol surface": `session/new`
 */
export function modelsOf(agent: Agent | undefined): JsonObject {
  const modelId = agent?.model ?? 'default';
  const owner = agent ? `agent "${agent.name}"` : 'this conversation';
  const description = `The model of ${owner}. It is changed on the Fountain instance, not from here.`;
  return { currentModelId: modelId, availableModels: [{ modelId, name: modelId, description }] };
}
