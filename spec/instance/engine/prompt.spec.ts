import { expect } from 'chai';
import { checkedClientRequestId, checkedImages } from '../../../lib/instance/engine/prompt.ts';
import { Refusal } from '../../../lib/instance/refusal.ts';

function refusalOf(work: () => unknown): readonly [number, string] {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) return [error.status, error.code];
    throw error;
  }
  throw new Error('not refused');
}

describe('checkedImages', () => {
  const image = { data: 'AAAA', media_type: 'image/png' };

  it('should take none, and images of the four types', () => {
    for (const nothing of [undefined, null, []]) expect(checkedImages(nothing)).to.deep.equal([]);
    const all = ['png', 'jpeg', 'gif', 'webp'].map((type) => ({ data: 'AAAA', media_type: `image/${type}` }));
    expect(checkedImages(all)).to.deep.equal(all);
  });

  const types = 'must be one of image/png, image/jpeg, image/gif, image/webp';
  const refusals: readonly [unknown, string][] = [
    [{}, 'images must be a list'],
    ['AAAA', 'images must be a list'],
    [['AAAA'], 'each image must be an object'],
    [[null], 'each image must be an object'],
    [[{ ...image, media_type: 'image/svg+xml' }], `unsupported image media_type image/svg+xml — ${types}`],
    [[{ data: 'AAAA' }], `unsupported image media_type null — ${types}`],
    [[{ media_type: 'image/png' }], 'image data is required'],
    [[{ ...image, data: '' }], 'image data is required'],
    [[{ ...image, data: 'not base64!' }], 'image data must be base64-encoded'],
    [[{ ...image, data: 'AAAAA' }], 'image data must be base64-encoded'],
    [[{ ...image, data: 7 }], 'image data must be base64-encoded'],
    [[image, { ...image, data: 'A'.repeat(4 * Math.ceil((10 * 1024 * 1024 + 1) / 3)) }], 'image exceeds the 10MB limit'],
  ];
  for (const [images, error] of refusals) {
    it(`should refuse ${JSON.stringify(images).slice(0, 60)} with 400 and "${error}"`, () => {
      expect(refusalOf(() => checkedImages(images))).to.deep.equal([400, error]);
    });
  }

  it('should take ten megabytes', () => {
    const data = Buffer.alloc(10 * 1024 * 1024).toString('base64');
    expect(checkedImages([{ data, media_type: 'image/png' }])).to.have.length(1);
  });
});

describe('checkedClientRequestId', () => {
  it('should take nothing, and strings of 1 to 200 characters', () => {
    expect(checkedClientRequestId(undefined)).to.equal(null);
    expect(checkedClientRequestId(null)).to.equal(null);
    for (const value of ['x', 'é'.repeat(200), '😀'.repeat(200), 'e\u0301'.repeat(200)]) expect(checkedClientRequestId(value)).to.equal(value);
  });

  for (const value of ['', 7, {}, [], true, 'a\u0000b', 'x'.repeat(201), '😀'.repeat(201), '👨‍👩‍👧‍👦'.repeat(200), 'x'.repeat(10_000_000)]) {
    it(`should refuse ${JSON.stringify(value).slice(0, 30)} of length ${JSON.stringify(value).length}`, () => {
      expect(refusalOf(() => checkedClientRequestId(value))).to.deep.equal([422, 'validation_failed']);
    });
  }
});
