import type { Readable } from 'node:stream';
import { Observable } from 'rxjs';

/**
 * Emits the chunks of a readable stream as they come; completes with it.
 *
 * Errors: the stream's, unless it only says that the other side is gone, which is an end.
 */
export function fromReadable(readable: Readable): Observable<Uint8Array> {
  return new Observable((subscriber) => {
    const onData = (chunk: Uint8Array) => subscriber.next(chunk);
    const onEnd = () => subscriber.complete();
    const onError = (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET' || error.code === 'EIO') subscriber.complete();
      else subscriber.error(error);
    };
    readable.on('data', onData).on('end', onEnd).on('close', onEnd).on('error', onError);
    return () => {
      readable.off('data', onData).off('end', onEnd).off('close', onEnd);
      // A stream that fails later still has somebody to tell, or the process would end.
      readable.pause();
    };
  });
}
