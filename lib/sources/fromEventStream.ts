import type { Readable } from 'node:stream';
import { Observable } from 'rxjs';

/**
 * Opens one event stream for each subscriber and emits its bytes; first an empty chunk, when the answer's head has come.
 * Unsubscribing closes the connection.
 *
 * Nothing is read while the gate is closed, so that a client that does not read slows the server and not this process.
 *
 * Errors: what `open` rejects with; one where the body is cut off.
 *
 * @param open - Resolves with the body once the answer's head has come.
 * @param gate$ - Whether the client is keeping up; emits the present state on subscribing.
 */
export function fromEventStream(open: (signal: AbortSignal) => Promise<Readable>, gate$: Observable<boolean>): Observable<Uint8Array> {
  return new Observable((subscriber) => {
    const controller = new AbortController();
    const onBody = (body: Readable) => {
      if (subscriber.closed) {
        body.destroy();
        return;
      }
      subscriber.next(new Uint8Array());
      body.on('data', (chunk: Uint8Array) => subscriber.next(chunk));
      body.on('end', () => subscriber.complete());
      body.on('error', () => subscriber.error(new Error('the connection was cut off')));
      body.on('close', () => subscriber.error(new Error('the connection was cut off')));
      const gate = gate$.subscribe((isOpen) => {
        if (isOpen) body.resume();
        else body.pause();
      });
      subscriber.add(() => {
        gate.unsubscribe();
        body.destroy();
      });
    };
    open(controller.signal).then(onBody, (error: unknown) => subscriber.error(error));
    return () => controller.abort();
  });
}
