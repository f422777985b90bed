import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { insert, remove } from './store/store.ts';
import type { Store } from './store/store.ts';
import type { KeyRow, Scope } from './store/rows.ts';
import { rowTime } from './time.ts';

/** Characters of a key that may be shown. */
const prefixLength = 8;

/** A key that has just been made; the only time that it is known. */
export interface MintedKey {
  readonly key: string;
  readonly row: KeyRow;
}

/** Whose key it is and what it may do. */
export interface KeyOwner {
  readonly accountId: string;
  readonly scope: Scope;
  readonly conversationId: string | null;
}

/** Returns a new key: `ftn_` and 64 hex digits. */
export function newKey(): string {
  return `ftn_${randomBytes(32).toString('hex')}`;
}

/**
 * The API keys, of which the store holds digests alone.
 *
 * @see Fountain HTTP and SSE contract, sections 1.1 and 1.6
 */
export class Keys {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Registers a key of an account, a new one unless it is given. */
  async mint(owner: KeyOwner, key = newKey()): Promise<MintedKey> {
    const row: KeyRow = {
      id: randomUUID(),
      account_id: owner.accountId,
      digest: digestOf(key),
      prefix: key.slice(0, prefixLength),
      scope: owner.scope,
      conversation_id: owner.conversationId,
      inserted_at: rowTime(),
    };
    await this.#store.commit([insert('keys', row)]);
    return { key, row };
  }

  /** Returns the row of a key; undefined for an unknown one. */
  async find(key: string): Promise<KeyRow | undefined> {
    return (await this.#store.find('keys', { digest: digestOf(key) }))[0];
  }

  /** Ends every key of a conversation's sandbox. */
  async revokeOf(conversationId: string): Promise<void> {
    await this.#store.commit([remove('keys', { conversation_id: conversationId })]);
  }
}

function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
