import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** Encrypts secrets for the store, and nothing else holds the key. */
export class SecretBox {
  readonly #key: Buffer;

  /** @param key - 32 bytes. */
  constructor(key: Buffer) {
    this.#key = key;
  }

  /**
   * Returns the encrypted value in base64.
   *
   * @param place - Whose secret it is; the value cannot be opened as another's.
   */
  seal(value: string, place: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, this.#key, nonce).setAAD(Buffer.from(place));
    const sealed = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
  }

  /**
   * Returns the value.
   *
   * @throws Error in words where the data folder's key is another one, or the row was changed.
   */
  open(sealed: string, place: string): string {
    try {
      const bytes = Buffer.from(sealed, 'base64');
      const decipher = createDecipheriv(algorithm, this.#key, bytes.subarray(0, nonceBytes)).setAAD(Buffer.from(place));
      decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
      return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8');
    } catch (error) {
      throw new Error('a stored secret cannot be decrypted: the key file of the data folder is not the one it was stored with', { cause: error });
    }
  }
}

/** Returns the place of a secret: its owner and its name. */
export function secretPlace(ownerId: string, key: string): string {
  return `${ownerId}/${key}`;
}
