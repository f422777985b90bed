import { defer, of, throwError, type Observable } from 'rxjs';
import { repeatRead } from '../../lib/operators/repeatRead.ts';
import { ApiError, type ApiFault } from '../../lib/protocol/apiError.ts';
import { marbles, type Marbles } from '../support/testScheduler.ts';

const unavailable = fault({ status: 503 });

describe('repeatRead', () => {
  it('should leave a call alone that succeeds', marbles((m) => {
    expectCalls(m, [], 1, '(a|)');
  }));

  it('should call again after a quarter of a second, then half of one', marbles((m) => {
    expectCalls(m, [unavailable, unavailable], 3, '750ms (a|)');
  }));

  it('should give up after the third call, with its error', marbles((m) => {
    const last = fault({ status: 502 });
    expectCalls(m, [unavailable, unavailable, last], 3, '750ms #', last);
  }));

  it('should wait as long as the server asks', marbles((m) => {
    expectCalls(m, [fault({ status: 429, retryAfterMs: 2_000 })], 2, '2s (a|)');
  }));

  it('should wait for five seconds at most', marbles((m) => {
    expectCalls(m, [fault({ status: 429, retryAfterMs: 60_000 })], 2, '5s (a|)');
  }));

  for (const code of ['ECONNRESET', 'EPIPE', 'EAI_AGAIN', 'ERR_STREAM_PREMATURE_CLOSE']) {
    it(`should call again after ${code}`, marbles((m) => {
      expectCalls(m, [fault({ code })], 2, '250ms (a|)');
    }));
  }

  for (const status of [400, 401, 403, 404, 409, 422, 500]) {
    it(`should tell of ${status} at once`, marbles((m) => {
      const refused = fault({ status });
      expectCalls(m, [refused], 1, '#', refused);
    }));
  }

  for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'CERT_HAS_EXPIRED']) {
    it(`should tell of ${code} at once`, marbles((m) => {
      const refused = fault({ code });
      expectCalls(m, [refused], 1, '#', refused);
    }));
  }

  it('should tell of what is no answer of an instance at once', marbles((m) => {
    const broken = new TypeError('not a function');
    expectCalls(m, [broken], 1, '#', broken);
  }));

  it('should stop waiting with its subscriber', marbles(({ expectObservable, scheduler }) => {
    expectObservable(throwError(() => unavailable).pipe(repeatRead({ scheduler })), '^ 100ms !').toBe('');
  }));
});

function fault(facts: Partial<ApiFault>): ApiError {
  return new ApiError('it failed', { maybeDone: false, ...facts });
}

/** Expects a call that fails with each of some errors, then succeeds, to be made so often, and to end so. */
function expectCalls({ expectObservable, flush, scheduler }: Marbles, errors: readonly Error[], count: number, marble: string, error?: Error): void {
  let calls = 0;
  const call$: Observable<string> = defer(() => {
    const failure = errors[calls];
    calls += 1;
    return failure ? throwError(() => failure) : of('a');
  });
  expectObservable(call$.pipe(repeatRead({ scheduler }))).toBe(marble, undefined, error);
  flush();
  if (calls !== count) throw new Error(`called ${calls} times, not ${count}`);
}
