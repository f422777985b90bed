import { expect } from 'chai';
import { filter, NEVER, type Observable } from 'rxjs';
import { resume, type ResumeOptions } from '../../lib/operators/resume.ts';
import { ApiError } from '../../lib/protocol/apiError.ts';
import { chunk, frames, heartbeat, opened, output, saidLine, stage } from '../support/serverEvents.ts';
import { marbles, type Marbles } from '../support/testScheduler.ts';

const e1 = output(1, saidLine('one'), 't1');
const e2 = output(2, saidLine('two'), 't1');
const e3 = output(3, saidLine('three'), 't1');
const synthetic = stage(undefined, 'server/done', { reason: 'restart' });

/** o: the answer's head, h: a heartbeat, a, b, c: an event each, r: the server asks for three seconds. */
const bytes = { o: opened, h: heartbeat, a: chunk(e1), b: chunk(e2), c: chunk(e3), r: Buffer.from('retry: 3000\n\n') };
const events = { a: [e1], b: [e2], c: [e3] };

function refusal(status: number, retryAfterMs?: number): ApiError {
  return new ApiError(`http ${status}`, { status, retryAfterMs, maybeDone: false });
}

const reset = new Error('the connection was cut off');

interface Line {
  readonly event$: ReturnType<typeof resume>;
  /** The ids behind which connections were opened. */
  readonly asked: number[];
  readonly logged: string[];
}

/** Reads over these connections, one after the other; there is no jitter unless a spec asks for it. */
function over(connections: readonly Observable<Uint8Array>[], { scheduler }: Marbles, options: Partial<ResumeOptions> = {}): Line {
  const asked: number[] = [];
  const logged: string[] = [];
  const open = (after: number): Observable<Uint8Array> => {
    asked.push(after);
    return connections[asked.length - 1] ?? NEVER;
  };
  const event$ = resume({ open, after: 0, mode: 'follow', wanted: () => true, idleMs: 1_800_000, scheduler, random: () => 0, log: (message) => logged.push(message), ...options });
  // A chunk that brought no event may be passed on as such.
  return { event$: event$.pipe(filter(({ length }) => length > 0)), asked, logged };
}

describe('resume', () => {
  it('should open the next connection at once, behind the last event, when the server closes one that brought events', marbles((m) => {
    const first$ = m.cold('  oab 5ms |    ', bytes);
    const second$ = m.cold('          oc-', bytes);
    const expected = '       -ab 6ms c---';
    const { event$, asked } = over([first$, second$], m);
    m.expectObservable(event$, '^ 20ms !').toBe(expected, events);
    m.expectSubscriptions(first$.subscriptions).toBe(' ^ 7ms !');
    m.expectSubscriptions(second$.subscriptions).toBe('8ms ^ 12ms !');
    m.flush();
    expect(asked).to.deep.equal([0, 2]);
  }));

  it('should wait a quarter of a second when the server closes after heartbeats alone, however often', marbles((m) => {
    const quiet = '            oh|';
    const { event$, asked } = over([quiet, quiet, quiet, quiet, 'oa'].map((marble) => m.cold(marble, bytes)), m);
    m.expectObservable(event$, '^ 1100ms !').toBe('1009ms a', events);
    m.flush();
    expect(asked).to.deep.equal([0, 0, 0, 0, 0]);
  }));

  it('should wait longer each time when the server closes without a byte, and never give up', marbles((m) => {
    const connections = Array.from({ length: 20 }, () => m.cold('o|', bytes));
    const { event$, asked } = over(connections, m);
    m.expectObservable(event$, '^ 100s !').toBe('-');
    m.flush();
    // 0.25 + 0.5 + 1 + 2 + 4 seconds, then 8 each
    expect(asked).to.have.lengthOf(1 + 5 + Math.floor((100_000 - 7_750) / 8_001));
  }));

  it('should double the wait with each failure, up to eight seconds, and give up when the budget is spent', marbles((m) => {
    const at: number[] = [];
    const failing$ = m.cold<Uint8Array>('#', undefined, reset);
    const { event$, asked, logged } = over([], m, {
      open: () => {
        at.push(m.scheduler.now());
        return failing$;
      },
    });
    m.expectObservable(event$).toBe('47750ms #', undefined, new Error('stream failed after 10 attempts: the connection was cut off'));
    m.flush();
    expect(at).to.deep.equal([0, 250, 750, 1_750, 3_750, 7_750, 15_750, 23_750, 31_750, 39_750, 47_750]);
    expect(asked).to.deep.equal([]);
    expect(logged[0]).to.equal('event stream: the connection was cut off; reconnecting behind event 0 in 250 ms');
  }));

  it('should spread the waits of many clients by up to a quarter', marbles((m) => {
    const at: number[] = [];
    const random = [0.8, 0.4];
    const failing$ = m.cold<Uint8Array>('#', undefined, reset);
    const { event$ } = over([], m, {
      random: () => random.shift() ?? 0,
      open: () => {
        at.push(m.scheduler.now());
        return failing$;
      },
    });
    m.expectObservable(event$, '^ 1s !').toBe('-');
    m.flush();
    expect(at).to.deep.equal([0, 300, 850]);
  }));

  it('should begin with short waits again, and a new budget, when an event came', marbles((m) => {
    const fails$ = m.cold<Uint8Array>('#', undefined, reset);
    const brings$ = m.cold('oa#', bytes, reset);
    const { event$, asked } = over([fails$, fails$, fails$, brings$, m.cold('ob', bytes)], m);
    // 250 + 500 + 1,000 ms; the event's own connection takes 2 ms; then 250 ms again
    m.expectObservable(event$, '^ 3s !').toBe('1751ms a 251ms b', events);
    m.flush();
    expect(asked).to.deep.equal([0, 0, 0, 0, 1]);
  }));

  it('should come back behind the event that was read last when a connection is cut off within the next', marbles((m) => {
    const half = { ...bytes, x: Buffer.from(frames(e1, e2).slice(0, -30)) };
    const { event$, asked } = over([m.cold('ox#', half, reset), m.cold('ob', bytes)], m);
    m.expectObservable(event$, '^ 400ms !').toBe('-a 251ms b', events);
    m.flush();
    expect(asked).to.deep.equal([0, 1]);
  }));

  it('should ask behind the highest id, whatever came last', marbles((m) => {
    const disorder = { o: opened, x: chunk(e3, e1, synthetic), y: chunk(synthetic) };
    const { event$, asked } = over([m.cold('oxy|', disorder)], m, { after: 2 });
    m.expectObservable(event$, '^ 9ms !').toBe('-xy', { x: [e3, e1, synthetic], y: [synthetic] });
    m.flush();
    expect(asked).to.deep.equal([2, 3]);
  }));

  for (const status of [401, 403, 404, 410]) {
    it(`should end at once with the words of the instance when it answers ${status}`, marbles((m) => {
      const { event$, asked } = over([m.cold('-#', undefined, refusal(status))], m);
      m.expectObservable(event$).toBe('-#', undefined, refusal(status));
      m.flush();
      expect(asked).to.have.lengthOf(1);
    }));
  }

  for (const status of [200, 400, 408, 429, 500, 502, 503, 504]) {
    it(`should come back when the instance answers ${status}`, marbles((m) => {
      const { event$ } = over([m.cold('-#', undefined, refusal(status)), m.cold('oa', bytes)], m);
      m.expectObservable(event$, '^ 400ms !').toBe('252ms a', events);
    }));
  }

  it('should end at once when a later connection is refused', marbles((m) => {
    const { event$ } = over([m.cold('oa|', bytes), m.cold('-#', undefined, refusal(404))], m);
    m.expectObservable(event$).toBe('-a-#', events, refusal(404));
  }));

  it('should wait as long as the instance asks with Retry-After, where that is longer', marbles((m) => {
    const { event$ } = over([m.cold('#', undefined, refusal(429, 20_000)), m.cold('#', undefined, refusal(503, 100)), m.cold('oa', bytes)], m);
    m.expectObservable(event$, '^ 30s !').toBe('20501ms a', events);
  }));

  it('should wait as long as the stream asks with retry:, at every kind of end', marbles((m) => {
    const ends = [m.cold('or|', bytes), m.cold('oa|', bytes), m.cold<Uint8Array>('#', undefined, reset), m.cold('ob', bytes)];
    const { event$ } = over(ends, m);
    m.expectObservable(event$, '^ 10s !').toBe('3003ms a 6001ms b', events);
  }));

  it('should not wait longer than eight seconds, whatever retry: says', marbles((m) => {
    const { event$ } = over([m.cold('or|', { ...bytes, r: Buffer.from('retry: 86400000\n\n') }), m.cold('oa', bytes)], m);
    m.expectObservable(event$, '^ 10s !').toBe('8003ms a', events);
  }));

  it('should take a connection for dead when it brings no byte for three heartbeats', marbles((m) => {
    const silent$ = m.cold('oa-', bytes);
    const { event$, asked } = over([silent$, m.cold('ob', bytes)], m);
    m.expectObservable(event$, '^ 50s !').toBe('-a 45250ms b', events);
    m.expectSubscriptions(silent$.subscriptions).toBe('^ 45000ms !');
    m.flush();
    expect(asked).to.deep.equal([0, 1]);
  }));

  it('should take a connection for dead when its head does not come', marbles((m) => {
    const silent$ = m.cold('-', bytes);
    const { event$ } = over([silent$, m.cold('oa', bytes)], m);
    m.expectObservable(event$, '^ 50s !').toBe('45251ms a', events);
    m.expectSubscriptions(silent$.subscriptions).toBe('^ 44999ms !');
  }));

  it('should keep a connection that brings heartbeats', marbles((m) => {
    const quiet$ = m.cold('o 44s h 44s h 44s a', bytes);
    const { event$, asked } = over([quiet$], m);
    m.expectObservable(event$, '^ 150s !').toBe('132003ms a', events);
    m.flush();
    expect(asked).to.have.lengthOf(1);
  }));

  it('should give up when there was no byte for as long as it may be silent', marbles((m) => {
    const { event$ } = over([m.cold('oa', bytes)], m, { idleMs: 30_000 });
    m.expectObservable(event$).toBe('-a 29999ms #', events, new Error('no output for 30 s'));
  }));

  it('should count silence over connections, and anew from each byte', marbles((m) => {
    const { event$, asked } = over([m.cold('oa', bytes), m.cold('oh', bytes), m.cold('o', bytes)], m, { idleMs: 90_000 });
    // 45 s behind a; 250 ms; 45 s behind h; 500 ms; 45 s more make 90 s behind h
    m.expectObservable(event$).toBe('-a 135750ms #', events, new Error('no output for 90 s'));
    m.flush();
    expect(asked).to.deep.equal([0, 1, 1]);
  }));

  it('should not reconnect for nobody: it is complete with the connection', marbles((m) => {
    const { event$, asked } = over([m.cold('oa|', bytes)], m, { wanted: () => false });
    m.expectObservable(event$).toBe('-a|', events);
    m.flush();
    expect(asked).to.have.lengthOf(1);
  }));

  it('should be complete, too, when the connection of nobody fails', marbles((m) => {
    m.expectObservable(over([m.cold('oa#', bytes, refusal(404))], m, { wanted: () => false }).event$).toBe('-a|', events);
  }));

  it('should say when it hears of the server, and when a connection is gone', marbles((m) => {
    const heard: string[] = [];
    const { event$ } = over([m.cold('oah|', bytes), m.cold('o#', bytes, reset)], m, {
      onHeard: () => heard.push(`heard ${m.scheduler.now()}`),
      onClosed: () => heard.push(`closed ${m.scheduler.now()}`),
    });
    m.expectObservable(event$, '^ 100ms !').toBe('-a', events);
    m.flush();
    expect(heard).to.deep.equal(['heard 0', 'heard 1', 'heard 2', 'closed 3', 'heard 3', 'closed 4']);
  }));

  it('should close the connection when its subscriber leaves', marbles((m) => {
    let closed = 0;
    const open$ = m.cold('oa-----', bytes);
    const { event$ } = over([open$], m, { onClosed: () => (closed += 1) });
    m.expectObservable(event$, '^---!').toBe('-a--', events);
    m.expectSubscriptions(open$.subscriptions).toBe('^---!');
    m.flush();
    expect(closed).to.equal(1);
  }));

  it('should not open another connection when its subscriber leaves while it waits', marbles((m) => {
    const { event$, asked } = over([m.cold<Uint8Array>('#', undefined, reset)], m);
    m.expectObservable(event$, '^ 249ms !').toBe('-');
    m.flush();
    expect(asked).to.have.lengthOf(1);
  }));

  it('should begin anew with each subscriber', marbles((m) => {
    const connection$ = m.cold('oa-', bytes);
    const { event$, asked } = over([connection$, connection$], m);
    m.expectObservable(event$, '^--!').toBe('-a-', events);
    m.expectObservable(event$, '----^--!').toBe('-----a-', events);
    m.flush();
    expect(asked).to.deep.equal([0, 0]);
  }));

  it('should note an event that is none, and go on', marbles((m) => {
    const { event$, logged } = over([m.cold('oxa', { ...bytes, x: Buffer.from('data: nothing\n\n') })], m);
    m.expectObservable(event$, '^---!').toBe('--a-', events);
    m.flush();
    expect(logged).to.deep.equal(['skipped an event whose data is not JSON']);
  }));

  describe('of a history', () => {
    it('should be complete with the first connection that ends', marbles((m) => {
      const { event$, asked } = over([m.cold('oab|', bytes)], m, { mode: 'history' });
      m.expectObservable(event$).toBe('-ab|', events);
      m.flush();
      expect(asked).to.deep.equal([0]);
    }));

    it('should be complete when there is nothing', marbles((m) => {
      m.expectObservable(over([m.cold('o|', bytes)], m, { mode: 'history' }).event$).toBe('-|');
    }));

    it('should fetch the rest when the connection fails', marbles((m) => {
      const { event$, asked } = over([m.cold('oa#', bytes, reset), m.cold('ob|', bytes)], m, { mode: 'history' });
      m.expectObservable(event$).toBe('-a 251ms b|', events);
      m.flush();
      expect(asked).to.deep.equal([0, 1]);
    }));

    it('should fetch the last event again when the end cut it short', marbles((m) => {
      const half = { ...bytes, x: Buffer.from(frames(e1, e2).slice(0, -30)) };
      const { event$, asked } = over([m.cold('ox|', half), m.cold('ob|', bytes)], m, { mode: 'history' });
      m.expectObservable(event$).toBe('-a-b|', events);
      m.flush();
      expect(asked).to.deep.equal([0, 1]);
    }));

    it('should take the last event when only the blank line behind it is missing', marbles((m) => {
      const whole = { ...bytes, x: Buffer.from(frames(e1, e2).slice(0, -1)) };
      m.expectObservable(over([m.cold('ox|', whole)], m, { mode: 'history' }).event$).toBe('-a(b|)', events);
    }));

    it('should end at once with the words of the instance', marbles((m) => {
      m.expectObservable(over([m.cold('-#', undefined, refusal(404))], m, { mode: 'history' }).event$).toBe('-#', undefined, refusal(404));
    }));
  });
});
