import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

const saltBytes = 16;
const hashBytes = 32;

/** Returns a salted hash of a password, to be kept in its place. */
export async function passwordHash(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  return `${salt.toString('hex')}:${(await derived(password, salt)).toString('hex')}`;
}

/** Whether a password is the one of a hash; never for null, after the same work. */
export async function passwordMatches(password: string, hash: string | null): Promise<boolean> {
  const [salt = '', expected = ''] = (hash ?? '').split(':');
  const actual = await derived(password, hash === null ? Buffer.alloc(saltBytes) : Buffer.from(salt, 'hex'));
  const wanted = Buffer.from(expected, 'hex');
  return wanted.length === actual.length && timingSafeEqual(wanted, actual);
}

function derived(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, hashBytes, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}
