import { expect } from 'chai';
import fc from 'fast-check';
import { errorLine, notificationLine, readFrame, resultLine, tooLongFrame, type Frame } from '../../lib/protocol/frames.ts';
import { holds } from '../support/properties.ts';

function invalid(id: string, code: number): Partial<Frame> & { code: number } {
  return { kind: 'invalid', id, code };
}

/** What counts of a frame: an error's code, and not its words. */
function faceOf(frame: Frame): object {
  if (frame.kind === 'invalid') return invalid(frame.id, frame.error.code);
  return frame.kind === 'noise' ? { kind: 'noise' } : frame;
}

describe('readFrame', () => {
  const calls: readonly [string, string, object][] = [
    ['a request', '{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}', { kind: 'request', id: '1', method: 'm', params: { a: 1 } }],
    ['a request without params', '{"jsonrpc":"2.0","id":1,"method":"m"}', { kind: 'request', id: '1', method: 'm', params: {} }],
    ['a request whose params are null', '{"jsonrpc":"2.0","id":1,"method":"m","params":null}', { kind: 'request', id: '1', method: 'm', params: {} }],
    ['a request whose id is null', '{"jsonrpc":"2.0","id":null,"method":"m"}', { kind: 'request', id: 'null', method: 'm', params: {} }],
    ['a request that names two ids', '{"jsonrpc":"2.0","id":1,"method":"m","id":2.50}', { kind: 'request', id: '2.50', method: 'm', params: {} }],
    ['a notification', '{"jsonrpc":"2.0","method":"m","params":{"a":1}}', { kind: 'notification', method: 'm', params: { a: 1 } }],
    ['a notification whose params are a list', '{"jsonrpc":"2.0","method":"m","params":[1]}', { kind: 'notification', method: 'm', params: {} }],
    ['a result', '{"jsonrpc":"2.0","id":7,"result":{"a":1}}', { kind: 'response', id: '7', result: { a: 1 }, error: undefined }],
    ['a result that is null', '{"jsonrpc":"2.0","id":7,"result":null}', { kind: 'response', id: '7', result: null, error: undefined }],
    ['an error', '{"jsonrpc":"2.0","id":"7","error":{"code":-1,"message":"x"}}', { kind: 'response', id: '"7"', result: undefined, error: { code: -1, message: 'x' } }],
    ['an error to nobody', '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}', { kind: 'response', id: 'null', result: undefined, error: { code: -32700, message: 'x' } }],
  ];
  for (const [name, line, frame] of calls) it(`should read ${name}`, () => expect(readFrame(line)).to.deep.equal(frame));

  const faults: readonly [string, string, object][] = [
    ['a broken object', '{"jsonrpc":"2.0"', invalid('null', -32700)],
    ['a broken array', '[1,', invalid('null', -32700)],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"m"}]', invalid('null', -32600)],
    ['a number', '7', invalid('null', -32600)],
    ['a string', '"m"', invalid('null', -32600)],
    ['no version', '{"id":1,"method":"m"}', invalid('1', -32600)],
    ['another version', '{"jsonrpc":"1.0","id":"a","method":"m"}', invalid('"a"', -32600)],
    ['no method', '{"jsonrpc":"2.0","id":1}', invalid('1', -32600)],
    ['a method that is no string', '{"jsonrpc":"2.0","id":1,"method":{}}', invalid('1', -32600)],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"m"}', invalid('null', -32600)],
    ['an id that is a boolean', '{"jsonrpc":"2.0","id":true,"method":"m"}', invalid('null', -32600)],
    ['params that are a list', '{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}', invalid('1', -32602)],
    ['params that are a string', '{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}', invalid('1', -32602)],
  ];
  for (const [name, line, frame] of faults) it(`should refuse ${name}`, () => expect(faceOf(readFrame(line))).to.deep.equal(frame));

  for (const line of ['Welcome!', 'Content-Length: 120', '\u001b[0m', 'null and void']) {
    it(`should take ${JSON.stringify(line)} for noise, and not tell it on`, () => {
      const frame = readFrame(line);
      expect(frame.kind).to.equal('noise');
      expect(JSON.stringify(frame)).not.to.contain(line);
    });
  }

  it('should keep a number of an id as it is written', () => {
    for (const id of ['1.0', '1e3', '-0', '9007199254740993', '12345678901234567890']) {
      expect(readFrame(`{"jsonrpc": "2.0", "id" : ${id} ,"method":"m"}`)).to.include({ kind: 'request', id });
    }
  });

  it('should keep the meaning of any id', () => {
    holds(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })), (id) => {
        const frame = readFrame(JSON.stringify({ jsonrpc: '2.0', id, method: 'm' })) as { kind: 'request'; id: string };
        expect(JSON.stringify(JSON.parse(frame.id))).to.equal(JSON.stringify(id));
      }),
    );
  });

  it('should return a value, and never throw, whatever the line', () => {
    const anyJson = fc.json().map((text) => text);
    const almost = fc.record({ jsonrpc: fc.constantFrom('2.0', 2), id: fc.jsonValue(), method: fc.jsonValue(), params: fc.jsonValue() }, { requiredKeys: [] });
    holds(
      fc.property(fc.oneof(fc.string(), anyJson, almost.map((message) => JSON.stringify(message))), (line) => {
        expect(readFrame(line).kind).to.be.oneOf(['request', 'notification', 'response', 'invalid', 'noise']);
      }),
      500,
    );
  });
});

describe('tooLongFrame', () => {
  const heads: readonly [string, string][] = [
    ['{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"prompt":[{', '7'],
    ['{"id" : "a\\"b" ,"method":"session/prompt","params":{', '"a\\"b"'],
    ['{"id":-1.5e3,"method":"m","params":{', '-1.5e3'],
    ['{"method":"m","params":{"id":9,"text":"aaaa', 'null'],
    ['{"params":[{"id":9},', 'null'],
    ['aaaaaa', 'null'],
    ['', 'null'],
  ];
  for (const [head, id] of heads) {
    it(`should name ${id} when the line begins ${JSON.stringify(head.slice(0, 30))}`, () => {
      expect(faceOf(tooLongFrame(head, 100))).to.deep.equal(invalid(id, -32600));
    });
  }

  it('should tell how long a line may be', () => {
    expect(tooLongFrame('', 4096)).to.have.nested.property('error.message').that.contains('4096');
  });
});

describe('resultLine', () => {
  it('should write the id as it came', () => {
    expect(resultLine('1.0', { a: 'b' })).to.equal('{"jsonrpc":"2.0","id":1.0,"result":{"a":"b"}}');
  });
});

describe('errorLine', () => {
  it('should write code, words and data, and no data when there is none', () => {
    expect(errorLine('"x"', { code: -32602, message: 'bad', data: { a: 1 } })).to.equal('{"jsonrpc":"2.0","id":"x","error":{"code":-32602,"message":"bad","data":{"a":1}}}');
    expect(errorLine('null', { code: -32700, message: 'bad' })).to.equal('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad"}}');
  });
});

describe('notificationLine', () => {
  it('should write no id', () => {
    expect(notificationLine('session/update', { sessionId: 's' })).to.equal('{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"}}');
  });
});
