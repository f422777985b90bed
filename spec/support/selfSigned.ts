import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto';

/** A key and a certificate that nobody vouches for, both in PEM. */
export interface SelfSigned {
  readonly key: string;
  readonly certificate: string;
}

const sequence = 0x30;
const ecdsaWithSha256 = Buffer.from('300a06082a8648ce3d040302', 'hex');
const commonName = Buffer.from('0603550403', 'hex');
const subjectAltName = Buffer.from('0603551d11', 'hex');
const basicConstraints = Buffer.from('0603551d13', 'hex');
const loopback = Buffer.from([127, 0, 0, 1]);

/**
 * Returns a certificate for 127.0.0.1 and one host name that is its own authority, valid from yesterday for ten days.
 *
 * @see RFC 5280, section 4.1
 */
export function selfSigned(hostName = 'fountain.example.invalid'): SelfSigned {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const name = der(sequence, der(0x31, der(sequence, commonName, der(0x0c, Buffer.from('127.0.0.1')))));
  const day = 86_400_000;
  const body = der(
    sequence,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    name,
    der(sequence, utcTime(Date.now() - day), utcTime(Date.now() + 10 * day)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(sequence, extension(subjectAltName, der(0x87, loopback), der(0x82, Buffer.from(hostName))), extension(basicConstraints, der(0x01, Buffer.from([0xff]))))),
  );
  const signature = createSign('sha256').update(body).sign(privateKey);
  const certificate = der(sequence, body, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature));
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), certificate: pem(certificate) };
}

/** One value of ASN.1's distinguished encoding: tag, length, content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  if (content.length < 0x80) return Buffer.concat([Buffer.from([tag, content.length]), content]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const digits = length.subarray(length.findIndex((digit) => digit !== 0));
  return Buffer.concat([Buffer.from([tag, 0x80 | digits.length]), digits, content]);
}

function extension(id: Buffer, ...values: readonly Buffer[]): Buffer {
  return der(sequence, id, der(0x04, der(sequence, ...values)));
}

function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '');
  return der(0x17, Buffer.from(digits.slice(2)));
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').replace(/(.{64})/g, '$1\n').trimEnd();
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}
