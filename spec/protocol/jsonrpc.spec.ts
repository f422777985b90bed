import { expect } from 'chai';
import { isJsonObject } from '../../lib/protocol/jsonrpc.ts';

describe('isJsonObject', () => {
  it('should say no when it gets anything else', () => {
    for (const value of [null, undefined, [], 'a', 1, true]) expect(isJsonObject(value)).to.equal(false);
  });

  it('should say yes when it gets an object, an empty one too', () => {
    expect(isJsonObject({})).to.equal(true);
    expect(isJsonObject({ a: 1 })).to.equal(true);
  });
});
