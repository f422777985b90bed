/** What looks like a key, whoever put it into a message. */
const secrets = /\bftn_[\w-]+|\bBearer\s+[^\s"',;]+/gi;

/** Returns words without what looks like a key, and without the keys that are known. */
export function withoutSecrets(words: string, ...keys: readonly string[]): string {
  return keys.filter((key) => key !== '').reduce((rest, key) => rest.replaceAll(key, '[secret]'), words).replace(secrets, '[secret]');
}
