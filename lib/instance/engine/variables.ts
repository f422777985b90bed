import { secretPlace } from '../data/secretBox.ts';
import type { SecretBox } from '../data/secretBox.ts';
import type { AgentConfiguration, ConversationRow, EnvironmentRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';

/** What a conversation's processes find in their environment, and what must never be shown. */
export interface Variables {
  readonly values: Readonly<Record<string, string>>;
  /** Every value that is registered, those that another one covers included. */
  readonly registered: readonly string[];
}

/** An environment that a launch names, and the agent whose own one holds otherwise. */
export interface EnvironmentChoice {
  readonly environment_id: string | null;
  readonly agent: Pick<AgentConfiguration, 'environment_id'> | null;
}

/** Returns the id of the environment that a conversation is provisioned from; null for none. */
export function effectiveEnvironmentId({ environment_id: override, agent }: EnvironmentChoice): string | null {
  return override ?? agent?.environment_id ?? null;
}

/** Returns the environment that a conversation is provisioned from; undefined for none. */
export async function environmentOf(store: Store, row: EnvironmentChoice): Promise<EnvironmentRow | undefined> {
  const id = effectiveEnvironmentId(row);
  return id === null ? undefined : store.get('environments', id);
}

/**
 * Returns the variables of a conversation: the environment's, over them its secrets, over them the vault's.
 *
 * Errors: rejects where a stored secret cannot be decrypted.
 *
 * @see Specification, "Invocation"
 */
export async function variablesOf(store: Store, box: SecretBox, row: EnvironmentChoice & Pick<ConversationRow, 'vault_id'>): Promise<Variables> {
  const environment = await environmentOf(store, row);
  const ownerIds = [environment?.id, row.vault_id].filter((id): id is string => typeof id === 'string');
  const layers: Readonly<Record<string, string>>[] = [environment?.env_vars ?? {}];
  for (const ownerId of ownerIds) layers.push(await secretsOf(store, box, ownerId));
  return { values: Object.assign({}, ...layers) as Record<string, string>, registered: layers.flatMap((layer) => Object.values(layer)) };
}

async function secretsOf(store: Store, box: SecretBox, ownerId: string): Promise<Record<string, string>> {
  const rows = await store.find('secrets', { owner_id: ownerId });
  return Object.fromEntries(rows.map((row) => [row.key, box.open(row.sealed, secretPlace(ownerId, row.key))]));
}
