import { secretPlace } from '../data/secretBox.ts';
import type { SecretBox } from '../data/secretBox.ts';
import type { ConversationRow, EnvironmentRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';

/** What a conversation's processes find in their environment, and what must never be shown. */
export interface Variables {
  readonly values: Readonly<Record<string, string>>;
  /** Every value that is registered, those that another one covers included. */
  readonly registered: readonly string[];
}

/** Returns the id of the environment that a conversation is provisioned from; null for none. */
export function effectiveEnvironmentId(row: Pick<ConversationRow, 'environment_id' | 'agent'>): string | null {
  return row.environment_id ?? row.agent.environment_id;
}

/** Returns the environment that a conversation is provisioned from; undefined for none. */
export async function environmentOf(store: Store, row: Pick<ConversationRow, 'environment_id' | 'agent'>): Promise<EnvironmentRow | undefined> {
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
export async function variablesOf(store: Store, box: SecretBox, row: Pick<ConversationRow, 'environment_id' | 'vault_id' | 'agent'>): Promise<Variables> {
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
