import type { StoredEvent } from '../store/store.ts';
import { blocksOf } from './blocks.ts';

/** What an idle stream carries, so that nobody takes it for dead. */
export const heartbeatFrame = ': heartbeat\n\n';

const framesOf = new WeakMap<StoredEvent, string>();

/**
 * Returns an event as a frame of the stream: id, event and data lines and a blank one.
 *
 * The frame of a live event is made once, for however many clients.
 *
 * @see Fountain HTTP and SSE contract, section 5.2
 */
export function frameOf(event: StoredEvent, withBlocks: boolean): string {
  if (withBlocks) return encode(event, `,"blocks":${JSON.stringify(blocksOf(event))}`);
  const known = framesOf.get(event);
  if (known !== undefined) return known;
  const frame = encode(event, '');
  framesOf.set(event, frame);
  return frame;
}

/** Written by hand: only data needs escaping, and it is nearly all of the bytes. */
function encode({ id, kind, stream, data, stage, state, turnId, ts }: StoredEvent, blocks: string): string {
  const turn = turnId === null ? 'null' : `"${turnId}"`;
  return `id: ${id}\nevent: ${kind}\ndata: {"kind":"${kind}","stream":"${stream}","data":${JSON.stringify(data)},"stage":"${stage}","state":"${state}","turn_id":${turn},"ts":"${ts}"${blocks}}\n\n`;
}
