import { expect } from 'chai';
import fc from 'fast-check';
import { from } from 'rxjs';
import { decodeEvents, type EventBatch } from '../../lib/operators/decodeEvents.ts';
import type { ServerEvent } from '../../lib/protocol/fountain.ts';
import { countCopies } from '../support/countCopies.ts';
import { itFollowsItsSource } from '../support/mirrored.ts';
import { chunked, holds } from '../support/properties.ts';
import { chunk, frames, heartbeat, output, saidLine, stage } from '../support/serverEvents.ts';
import { marbles } from '../support/testScheduler.ts';

const live = { takeLast: false };
const history = { takeLast: true };
const e1 = output(1, saidLine('é💡'), 't1');
const e2 = stage(2, 'turn/done', { turn_id: 't1', stop_reason: 'end_turn' }, 't1');
const noNotes = { notes: [] };

function bytes(text: string): Uint8Array {
  return Buffer.from(text);
}

/** Returns all that these chunks brought, put together. */
function decoded(chunks: readonly Uint8Array[], options = live): { events: ServerEvent[]; notes: string[]; retries: number[]; failed: boolean } {
  const all = { events: [] as ServerEvent[], notes: [] as string[], retries: [] as number[], failed: false };
  const onBatch = ({ events, notes, retryMs }: EventBatch): void => {
    all.events.push(...events);
    all.notes.push(...notes);
    if (retryMs !== undefined) all.retries.push(retryMs);
  };
  from(chunks).pipe(decodeEvents(options)).subscribe({ next: onBatch, error: () => (all.failed = true) });
  return all;
}

function eventsOf(text: string, options = live): ServerEvent[] {
  return decoded([bytes(text)], options).events;
}

const row = '{"kind":"output","stream":"acp","data":"x","stage":"turn","state":"","turn_id":"t"}';
const rowRead: ServerEvent = { kind: 'output', stream: 'acp', data: 'x', stage: 'turn', state: '', turn_id: 't' };

/** Events with what text allows: quotes, line ends, characters of several bytes. */
const events = fc
  .tuple(fc.integer({ min: 1, max: 2 ** 53 - 1 }), fc.boolean(), fc.string({ unit: 'grapheme' }), fc.option(fc.uuid()))
  .map(([id, isStage, text, turnId]) => (isStage ? stage(id, 'turn/started', { text }, turnId) : output(id, text, turnId)));
/** What stands between events, and means nothing. */
const fillers = fc.constantFrom('', ': heartbeat\n\n', ':\n', ': a: b\n\n\n', 'event: output\n\n', 'id: 7\n\n', 'retry\n\n', 'unknown: field\n\n', 'data\n\n');
const streams = fc.array(fc.tuple(fillers, events), { maxLength: 8 }).map((parts) => ({
  events: parts.map(([, event]) => event),
  text: parts.map(([filler, event]) => filler + frames(event)).join(''),
}));
/** JSON has no raw line ends, so the line ends of a stream are those of its lines. */
const lineEnds = fc.constantFrom('\n', '\r\n', '\r');

describe('decodeEvents', () => {
  it('should emit the events of a chunk together, and an event when it is whole', marbles(({ cold, expectObservable, expectSubscriptions }) => {
    const text = frames(e2);
    const chunk$ = cold('-a--b--c-|', { a: chunk(e1, e2), b: bytes(text.slice(0, 20)), c: bytes(text.slice(20)) });
    const expected = '   -a-----c-|';
    expectObservable(chunk$.pipe(decodeEvents(live))).toBe(expected, { a: { events: [e1, e2], ...noNotes }, c: { events: [e2], ...noNotes } });
    expectSubscriptions(chunk$.subscriptions).toBe('^--------!');
  }));

  it('should emit nothing for comments, blocks without data, and the chunk that tells of an open connection', marbles(({ cold, expectObservable }) => {
    const chunk$ = cold('abc|', { a: heartbeat, b: bytes('id: 9\n\nevent: output\n\ndata:\n\n'), c: new Uint8Array() });
    expectObservable(chunk$.pipe(decodeEvents(live))).toBe('---|');
  }));

  itFollowsItsSource(() => decodeEvents(live), chunk(e1));

  it('should begin anew with each subscriber', marbles(({ cold, expectObservable }) => {
    const result$ = cold('-a|', { a: bytes(`${frames(e1)}data: {`) }).pipe(decodeEvents(live));
    expectObservable(result$).toBe('-a|', { a: { events: [e1], ...noNotes } });
    expectObservable(result$, '--^--').toBe('---a|', { a: { events: [e1], ...noNotes } });
  }));

  it('should read the events of a stream, whatever fills it and however its lines end', () => {
    holds(
      fc.property(streams, lineEnds, fc.boolean(), ({ events: expected, text }, end, mark) => {
        const result = decoded([bytes((mark ? '\ufeff' : '') + text.replaceAll('\n', end))]);
        expect(result).to.deep.equal({ events: expected, notes: [], retries: [], failed: false });
      }),
      500,
    );
  });

  it('should read the same, however the bytes are cut', () => {
    const input = fc.tuple(streams, lineEnds).map(([{ text }, end]) => bytes(text.replaceAll('\n', end)));
    const anything = fc.array(fc.constantFrom('\r', '\n', '\r\n', 'data:', 'data: ', 'id: 4', ':', ' ', row, '{', 'é', 'retry: 20', '\ufeff'), { maxLength: 30 }).map((all) => bytes(all.join('')));
    holds(
      fc.property(chunked(fc.oneof(input, anything)), fc.constantFrom(live, history), ({ whole, chunks }, options) => {
        const { retries, ...once } = decoded([whole], options);
        const { retries: cutRetries, ...cut } = decoded(chunks, options);
        expect(cut).to.deep.equal(once);
        expect(cutRetries.at(-1)).to.equal(retries.at(-1));
      }),
      1000,
    );
  });

  const spelt: readonly [string, string, ServerEvent[]][] = [
    ['data on several lines', `data: {"kind":"output","stream":"acp",\ndata:"data":"x","stage":"turn",\ndata: "state":"","turn_id":"t"}\n\n`, [rowRead]],
    ['no space behind the colon', `id:5\nevent:output\ndata:${row}\n\n`, [{ id: 5, ...rowRead }]],
    ['fields in another order', `data: ${row}\nid: 5\n\n`, [{ id: 5, ...rowRead }]],
    ['blank lines without end', `\n\n\n\nid: 5\ndata: ${row}\n\n\n\n`, [{ id: 5, ...rowRead }]],
    ['comments between the lines of an event', `: a\nid: 5\n: b\ndata: ${row}\n:\n\n`, [{ id: 5, ...rowRead }]],
    ['a mixture of line ends', `id: 5\r\ndata: ${row}\r\n\n`, [{ id: 5, ...rowRead }]],
  ];
  for (const [name, text, expected] of spelt) it(`should read ${name}`, () => expect(eventsOf(text)).to.deep.equal(expected));

  const ids: readonly [string, number | undefined][] = [
    ['1', 1],
    ['0004711', 4711],
    [String(2 ** 53 - 1), 2 ** 53 - 1],
    ['0', undefined],
    ['-5', undefined],
    ['12abc', undefined],
    ['1.5', undefined],
    ['', undefined],
    ['5\u0000', undefined],
    [String(2 ** 53), undefined],
    ['99999999999999999999', undefined],
  ];
  for (const [text, id] of ids) {
    it(`should take ${id ?? 'none'} for the id when it is ${JSON.stringify(text)}`, () => {
      expect(eventsOf(`id: ${text}\ndata: ${row}\n\n`)).to.deep.equal([{ ...(id !== undefined && { id }), ...rowRead }]);
    });
  }

  it('should not carry an id on to the next event', () => {
    expect(eventsOf(`id: 5\ndata: ${row}\n\ndata: ${row}\n\n`).map(({ id }) => id)).to.deep.equal([5, undefined]);
  });

  it('should take a stage event whose metadata is an object', () => {
    expect(eventsOf('data: {"kind":"stage","data":{"turn_id":"t","n":1},"stage":"turn","state":"done"}\n\n')).to.deep.equal([
      { kind: 'stage', stream: '', data: '{"turn_id":"t","n":1}', stage: 'turn', state: 'done', turn_id: null },
    ]);
  });

  it('should read what is absent or null as empty', () => {
    const expected: ServerEvent = { kind: 'stage', stream: '', data: '', stage: '', state: '', turn_id: null };
    expect(eventsOf('data: {"kind":"stage"}\n\n')).to.deep.equal([expected]);
    expect(eventsOf('data: {"kind":"stage","stream":null,"stage":null,"state":null,"turn_id":7}\n\n')).to.deep.equal([expected]);
  });

  for (const data of ['no json', '[]', '7', 'null', '{"kind":"broadcast"}', '{}']) {
    it(`should note, and survive, data that is ${data}`, () => {
      const { events: found, notes } = decoded([bytes(`id: 4\ndata: ${data}\n\nid: 5\ndata: ${row}\n\n`)]);
      expect(notes).to.have.lengthOf(1).and.to.have.nested.property('[0]').that.matches(/^skipped an event/).and.not.contains('broadcast');
      expect(found).to.deep.equal([{ id: 5, ...rowRead }]);
    });
  }

  it('should tell the reconnection time that a server asks for', () => {
    expect(decoded([bytes('retry: 1500\n\n')])).to.deep.include({ retries: [1500], events: [] });
    expect(decoded([bytes(`retry: 20\nid: 5\ndata: ${row}\n\n`)])).to.deep.include({ retries: [20], events: [{ id: 5, ...rowRead }] });
    expect(decoded([bytes('retry: soon\n\n')]).retries).to.deep.equal([]);
  });

  it('should drop an event that the end of a live stream cuts short, since it comes again', () => {
    for (const cut of [1, 2, 30]) expect(decoded([bytes(frames(e1, e2).slice(0, -cut))])).to.deep.include({ events: [e1], failed: false });
  });

  it('should take the last event of a history that ends without a blank line', () => {
    expect(decoded([bytes(frames(e1, e2).slice(0, -1))], history)).to.deep.include({ events: [e1, e2], failed: false });
    expect(decoded([bytes(frames(e1, e2).slice(0, -2))], history)).to.deep.include({ events: [e1, e2], failed: false });
  });

  it('should fail when a history ends within the data of an event, wherever', () => {
    const whole = frames(e1);
    const dataAt = whole.indexOf('data: ') + 'data: '.length;
    for (let end = dataAt + 1; end < whole.length - 2; end += 1) {
      expect(decoded([Buffer.from(whole.slice(0, end))], history), whole.slice(0, end)).to.deep.include({ events: [], failed: true });
    }
  });

  it('should copy each byte once at most, in however many chunks an event comes', () => {
    const part = bytes('x'.repeat(1_000));
    for (const count of [100, 2_000]) {
      const chunks = [bytes('id: 5\ndata: {"kind":"output","stream":"acp","data":"'), ...Array.from({ length: count }, () => part), bytes('"}\n\n')];
      const { copied, result } = countCopies(() => decoded(chunks));
      expect(result.events).to.have.lengthOf(1);
      expect(copied).to.be.at.most(count * 1_000 + 200);
    }
  });
});
