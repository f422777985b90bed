import { RequestError } from '@agentclientprotocol/sdk';
import { isJsonObject, type JsonObject } from '../../protocol/jsonrpc.ts';
import { harnessError, type Ask, type OpenedSession } from './openSession.ts';

/** What became of the model that the agent is configured with. */
export interface ModelEvent {
  readonly state: 'done' | 'failed';
  readonly requested: string;
  /** The harness's own name of the model that it now uses; null where it does not say. */
  readonly effective: string | null;
  /** Why the model was not taken, in words. */
  readonly detail: string | null;
}

/** The models that a harness lists, and how one of them is chosen. */
interface ModelChoice {
  readonly offered: readonly string[];
  readonly current: string | null;
  readonly method: string;
  readonly params: (model: string) => JsonObject;
}

/**
 * Asks the harness for the configured model, where it lists models; null where it lists none.
 *
 * The model's name is tried whole and without its provider, since harnesses of one provider leave that out.
 *
 * Errors: rejects only where the harness has gone; a refusal is a `failed` event.
 *
 * @see Fountain HTTP and SSE contract, "Stage events"
 */
export async function selectModel(ask: Ask, { sessionId, setup }: OpenedSession, requested: string): Promise<ModelEvent | null> {
  const choice = listedModels(sessionId, setup);
  if (choice === null) return null;
  const wanted = [requested, requested.slice(requested.indexOf('/') + 1)].find((name) => choice.offered.includes(name));
  if (wanted === undefined) {
    return { state: 'failed', requested, effective: choice.current, detail: `the agent offers ${choice.offered.join(', ') || 'no model'}` };
  }
  try {
    if (wanted !== choice.current) await ask(choice.method, choice.params(wanted));
    return { state: 'done', requested, effective: wanted, detail: null };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    return { state: 'failed', requested, effective: choice.current, detail: harnessError(error) };
  }
}

function listedModels(sessionId: string, setup: JsonObject): ModelChoice | null {
  return modelOption(sessionId, setup['configOptions']) ?? modelState(sessionId, setup['models']);
}

/** `configOptions`: the protocol's stable way, an option of the category `model`. */
function modelOption(sessionId: string, options: unknown): ModelChoice | null {
  const option: unknown = list(options).find((entry) => isJsonObject(entry) && (entry['category'] ?? entry['id']) === 'model');
  if (!isJsonObject(option) || typeof option['id'] !== 'string') return null;
  const configId = option['id'];
  const values = list(option['options']).flatMap((entry) => (isJsonObject(entry) && Array.isArray(entry['options']) ? list(entry['options']) : [entry]));
  return {
    offered: names(values, 'value'),
    current: text(option['currentValue']),
    method: 'session/set_config_option',
    params: (value) => ({ sessionId, configId, value }),
  };
}

/** `models`: the older way, still the only one of some harnesses. */
function modelState(sessionId: string, models: unknown): ModelChoice | null {
  if (!isJsonObject(models)) return null;
  return {
    offered: names(list(models['availableModels']), 'modelId'),
    current: text(models['currentModelId']),
    method: 'session/set_model',
    params: (modelId) => ({ sessionId, modelId }),
  };
}

function names(entries: readonly unknown[], key: string): readonly string[] {
  return entries.flatMap((entry) => text(isJsonObject(entry) ? entry[key] : null) ?? []);
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
