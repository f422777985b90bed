import { expect } from 'chai';
import { isTrue, leadingInteger } from '../../../lib/instance/http/query.ts';

describe('isTrue', () => {
  it('should know two words for each, and take the default for all else', () => {
    expect(['true', '1', 'false', '0', '', 'yes', 'TRUE', undefined].map((text) => isTrue(text, true))).to.deep.equal([true, true, false, false, true, true, true, true]);
    expect(isTrue('yes', false)).to.equal(false);
  });
});

describe('leadingInteger', () => {
  it('should read the digits that a text starts with', () => {
    expect(['12', ' 7 ', '12abc', '', 'abc', '-3', '0', undefined, '9'.repeat(30)].map(leadingInteger)).to.deep.equal([12, 7, 12, 0, 0, 0, 0, 0, 999999999999999]);
  });
});
