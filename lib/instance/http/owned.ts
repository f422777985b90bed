import { notFound } from '../refusal.ts';
import type { Tables } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import type { Caller } from './services.ts';

/** Tables whose rows belong to an account. */
type OwnedTable = { [T in keyof Tables]: Tables[T] extends { readonly account_id: string } ? T : never }[keyof Tables];

/**
 * Returns a row of the caller.
 *
 * Errors: Refusal 404 where there is none; another account's row looks the same.
 */
export async function owned<T extends OwnedTable>(store: Store, table: T, id: string, caller: Caller): Promise<Tables[T]> {
  const row = await store.get(table, id.toLowerCase());
  if (row?.account_id !== caller.accountId) throw notFound();
  return row;
}
