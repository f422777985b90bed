import { Observable } from 'rxjs';

/**
 * Makes one call for each subscriber and emits what it resolves with; unsubscribing aborts it.
 *
 * Errors: what the call rejects with.
 */
export function fromCall<T>(call: (signal: AbortSignal) => Promise<T>): Observable<T> {
  return new Observable((subscriber) => {
    const controller = new AbortController();
    call(controller.signal).then(
      (value) => {
        subscriber.next(value);
        subscriber.complete();
      },
      (error: unknown) => subscriber.error(error),
    );
    return () => controller.abort();
  });
}
