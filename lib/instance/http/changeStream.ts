import type { ServerResponse } from 'node:http';
import { heartbeatFrame } from '../log/frames.ts';

/** The shortest time between two events, in milliseconds. */
const debounceMs = 1000;

/**
 * Tells a client that its list of conversations changed, until it leaves.
 *
 * @param subscribe - Registers a listener and returns the function that ends it.
 * @param heartbeatMs - Milliseconds between two comment frames.
 * @see Fountain HTTP and SSE contract, section 4.8
 */
export function writeChangeStream(response: ServerResponse, subscribe: (listener: () => void) => () => void, heartbeatMs: number): Promise<void> {
  response.write(': connected\n\n');
  let timer: NodeJS.Timeout | null = null;
  const unsubscribe = subscribe(() => {
    timer ??= setTimeout(() => {
      timer = null;
      // To a client that does not read one more event says nothing new.
      if (!response.writableNeedDrain) response.write('event: conversations\ndata: {"reason":"changed"}\n\n');
    }, debounceMs);
  });
  const heartbeat = setInterval(() => response.writableNeedDrain || response.write(heartbeatFrame), heartbeatMs);
  return new Promise((resolve) => {
    response.on('error', () => undefined);
    response.once('close', () => {
      unsubscribe();
      clearInterval(heartbeat);
      if (timer !== null) clearTimeout(timer);
      resolve();
    });
  });
}
