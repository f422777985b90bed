import type { PromptImage } from '../../protocol/fountain.ts';
import { isJsonObject } from '../../protocol/jsonrpc.ts';
import { invalid, Refusal } from '../refusal.ts';

/** A prompt that has been checked. */
export interface Submission {
  readonly prompt: string;
  readonly images: readonly PromptImage[];
  readonly clientRequestId: string | null;
}

const mediaTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const largestImage = 10 * 1024 * 1024;
const base64 = /^[A-Za-z0-9+/]*={0,2}$/;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * Returns the images of a prompt.
 *
 * @throws Refusal 400 with the contract's words for the first thing that is wrong.
 * @see Fountain HTTP and SSE contract, section 4.5
 */
export function checkedImages(images: unknown): readonly PromptImage[] {
  if (images === undefined || images === null) return [];
  if (!Array.isArray(images)) throw new Refusal(400, 'images must be a list');
  return images.map(checkedImage);
}

function checkedImage(image: unknown): PromptImage {
  if (!isJsonObject(image)) throw new Refusal(400, 'each image must be an object');
  const { data } = image;
  const mediaType = checkedMediaType(image['media_type']);
  if (data === undefined || data === null || data === '') throw new Refusal(400, 'image data is required');
  if (typeof data !== 'string' || data.length % 4 !== 0 || !base64.test(data)) throw new Refusal(400, 'image data must be base64-encoded');
  if (Buffer.byteLength(data, 'base64') > largestImage) throw new Refusal(400, 'image exceeds the 10MB limit');
  return { data, media_type: mediaType };
}

function checkedMediaType(given: unknown): string {
  if (typeof given === 'string' && mediaTypes.includes(given)) return given;
  const shown = typeof given === 'string' ? given : JSON.stringify(given ?? null);
  throw new Refusal(400, `unsupported image media_type ${shown} — must be one of ${mediaTypes.join(', ')}`);
}

/**
 * Returns a client's name for its submission; null where it gave none.
 *
 * @throws Refusal 422 where it is no string of 1 to 200 characters without U+0000.
 * @see Fountain HTTP and SSE contract, section 4.5
 */
export function checkedClientRequestId(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string' || value.includes('\u0000')) throw invalid({ client_request_id: ['is invalid'] });
  if (value === '') throw invalid({ client_request_id: ["can't be blank"] });
  // Graphemes are counted on a bounded text only.
  const tooLong = Array.from(value.slice(0, 2001)).length > 1000 || Array.from(graphemes.segment(value)).length > 200;
  if (tooLong) throw invalid({ client_request_id: ['should be at most 200 character(s)'] });
  return value;
}
