import type { ConversationRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';

/** How far ancestors and descendants are followed. */
const maxDepth = 100;

/**
 * Returns a conversation, its ancestors and all descendants of the oldest, each once.
 *
 * @see Fountain HTTP and SSE contract, section 4.8
 */
export async function family(store: Store, row: ConversationRow): Promise<readonly ConversationRow[]> {
  const scope = { account_id: row.account_id };
  const found = new Map([[row.id, row]]);
  let root = row;
  for (let depth = 0; depth < maxDepth && root.parent_conversation_id !== null; depth += 1) {
    const parent = await store.get('conversations', root.parent_conversation_id);
    if (parent?.account_id !== row.account_id || found.has(parent.id)) break;
    found.set(parent.id, parent);
    root = parent;
  }
  let generation: readonly ConversationRow[] = [root, row];
  for (let depth = 0; depth < maxDepth && generation.length > 0; depth += 1) {
    const children = await store.find('conversations', { ...scope, parent_conversation_id: generation.map(({ id }) => id) });
    generation = children.filter(({ id }) => depth === 0 || !found.has(id));
    for (const child of children) found.set(child.id, child);
  }
  return [...found.values()];
}
