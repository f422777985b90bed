import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { SecretBox, secretPlace } from '../../../lib/instance/data/secretBox.ts';

describe('SecretBox', () => {
  const box = new SecretBox(randomBytes(32));

  it('should give a value back, never look the same twice, and not show it', () => {
    const value = 'sëcret\u0000 value';
    const [a, b] = [box.seal(value, 'v/K'), box.seal(value, 'v/K')];
    expect(a).to.not.equal(b);
    expect(Buffer.from(a, 'base64').includes(value)).to.equal(false);
    expect([box.open(a, 'v/K'), box.open(b, 'v/K')]).to.deep.equal([value, value]);
  });

  it('should not open a value in another place, with another key, or changed', () => {
    const sealed = box.seal('value', secretPlace('vault', 'KEY'));
    const changed = Buffer.from(sealed, 'base64');
    changed[changed.length - 1]! ^= 1;
    expect(() => box.open(sealed, secretPlace('other', 'KEY'))).to.throw(/cannot be decrypted/);
    expect(() => new SecretBox(randomBytes(32)).open(sealed, secretPlace('vault', 'KEY'))).to.throw(/cannot be decrypted/);
    expect(() => box.open(changed.toString('base64'), secretPlace('vault', 'KEY'))).to.throw(/cannot be decrypted/);
    expect(() => box.open('', secretPlace('vault', 'KEY'))).to.throw(/cannot be decrypted/);
  });
});
