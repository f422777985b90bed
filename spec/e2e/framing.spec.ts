import { expect } from 'chai';
import { routes } from '../support/scripted/departures.ts';
import { scene } from '../support/scene.ts';

const promptOf = (sessionId: string, text: string, id: unknown = 'p'): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'session/prompt', params: { sessionId, prompt: [{ type: 'text', text }] } });

const initialize = '{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1}}';

/** A line is one message, wherever reads cut it, whichever line end it has and whatever stands between the lines. */
describe('fountain acp: framing', () => {
  for (const pieceBytes of [1, 2, 3, 5, 4096]) {
    it(`should pass a prompt on whole when stdin comes in pieces of ${pieceBytes} bytes`, scene(async ({ instance, client }) => {
      const text = 'naïve – 日本語 👩‍👩‍👧 \u2028 \u2029 \u0085 end';
      const sessionId = await client.open();
      await client.process.writeInPieces(`${promptOf(sessionId, text)}\n`, pieceBytes);
      await client.callWritten('p').result();
      expect(instance.seen(routes.prompts)[0]?.body).to.have.property('prompt', text);
    }));
  }

  for (const [name, lineEnd] of [['LF', '\n'], ['CR LF', '\r\n'], ['LF after blanks', ' \t\n'], ['several LF', '\n\n\r\n\n']] as const) {
    it(`should answer each line when lines end with ${name}`, scene(async ({ client }) => {
      await client.process.write(initialize + lineEnd + initialize.replace('"i"', '"j"') + lineEnd);
      expect(await client.callWritten('i').result()).to.have.property('protocolVersion', 1);
      expect(await client.callWritten('j').result()).to.have.property('protocolVersion', 1);
    }));
  }

  it('should answer messages that come in one write, and the one that is cut by its end', scene(async ({ client }) => {
    const unknown = (id: number): string => `{"jsonrpc":"2.0","id":${id},"method":"spec/none"}\n`;
    await client.process.write(`${initialize}\n${unknown(1)}${unknown(2)}${unknown(3).slice(0, 20)}`);
    expect(await client.callWritten(2).error()).to.have.property('code', -32601);
    expect(client.callWritten(3).answer).to.equal(undefined);
    await client.process.write(unknown(3).slice(20));
    expect(await client.callWritten(3).error()).to.have.property('code', -32601);
  }));

  it('should read past a byte order mark, terminal noise, headers and banners', scene(async ({ client }) => {
    await client.process.write('\ufeff');
    await client.process.write(`${initialize}\n`);
    await client.callWritten('i').result();
    await client.process.write('\u001b[?1049h\u001b[2K\nLast login: today\n\n \t \nContent-Length: 80\r\n\r\n# comment\n');
    await client.caughtUp();
    expect(client.messages.filter(({ method, id }) => method === undefined && id === null), 'noise is not answered').to.deep.equal([]);
  }));

  const broken: readonly [string, string | Uint8Array][] = [
    ['half an object', '{"jsonrpc":"2.0","id":71,"method":"initialize","par'],
    ['an object that does not end', '{"jsonrpc":"2.0","id":71,"method":"initialize"'],
    ['single quotes', "{'jsonrpc':'2.0','id':71,'method':'initialize'}"],
    ['two messages on one line', `${initialize}${initialize}`],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d])],
    ['NUL bytes', Buffer.alloc(7)],
    ['a raw control character in a string', '{"jsonrpc":"2.0","id":71,"method":"a\u0001b"}'],
  ];
  for (const [name, bytes] of broken) {
    it(`should live on and answer nobody by name when a line holds ${name}`, scene(async ({ client }) => {
      await client.process.write(Buffer.concat([Buffer.from(bytes), Buffer.from('\n')]));
      expect((await client.initialize())['protocolVersion']).to.equal(1);
      const others = client.messages.filter(({ id }) => id !== 1);
      for (const message of others) {
        expect(message.id, message.line).to.equal(null);
        expect(message.error?.code, message.line).to.be.oneOf([-32700, -32600]);
      }
    }));
  }

  it('should keep invalid UTF-8 out of a prompt and answer its sender', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    const [head = '', tail = ''] = promptOf(sessionId, 'a|b', 40).split('|');
    await client.process.write(Buffer.concat([Buffer.from(head), Buffer.from([0xff, 0xc0]), Buffer.from(`${tail}\n`)]));
    await client.caughtUp();
    const answer = client.callWritten(40).answer;
    if (answer?.result === undefined) expect(instance.seen(routes.prompts)).to.deep.equal([]);
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
  }));

  const noMessages: readonly [string, unknown][] = [
    ['a number', 12],
    ['a string', 'initialize'],
    ['null', null],
    ['an empty object', {}],
    ['another version', { jsonrpc: '1.0', id: 3, method: 'initialize' }],
    ['no version', { id: 3, method: 'initialize', secret: 'env-secret-1f' }],
    ['a method that is no string', { jsonrpc: '2.0', id: 3, method: 7 }],
    ['an id that is an object', { jsonrpc: '2.0', id: { a: 'env-secret-1f' }, method: 'initialize' }],
    ['an id that is true', { jsonrpc: '2.0', id: true, method: 'initialize' }],
    ['params that are a string', { jsonrpc: '2.0', id: 3, method: 'initialize', params: 'env-secret-1f' }],
  ];
  for (const [name, value] of noMessages) {
    it(`should live on, with nothing of the line in its answer, when a line holds ${name}`, scene(async ({ client }) => {
      await client.process.write(`${JSON.stringify(value)}\n`);
      await client.initialize();
      for (const { id, line, error } of client.messages.filter((message) => message.id !== 1)) {
        expect(id, line).to.be.oneOf([null, 3]);
        expect(error?.code, line).to.be.oneOf([-32600, -32602]);
        expect(line).not.to.contain('env-secret-1f');
      }
    }));
  }

  it('should answer a batch once, with -32600 and id null, and run nothing of it', scene(async ({ instance, client }) => {
    await client.initialize();
    const entry = { jsonrpc: '2.0', id: 'in', method: 'session/new', params: { cwd: '/', mcpServers: [] } };
    for (const batch of [[entry, { ...entry, id: 'in2' }], []]) await client.process.write(`${JSON.stringify(batch)}\n`);
    await client.caughtUp();
    expect(client.messages.filter(({ id }) => id === null).map(({ error }) => error?.code)).to.deep.equal([-32600, -32600]);
    expect(client.callWritten('in').answer).to.equal(undefined);
    expect(instance.seen(routes.create)).to.deep.equal([]);
  }));

  it('should echo request ids as they were written', scene(async ({ client }) => {
    await client.initialize();
    const ids = ['0', '-7', '1.5', '1.0', '1e2', '9007199254740993', '"0"', '""', '"a b"', '"9b1d6c1e-5a52-4a53-8f0e-6f6a1d1b2c3d"', '"\\u00e9\\n"', 'null'];
    for (const id of ids) await client.process.write(`{"jsonrpc":"2.0","id":${id},"method":"spec/none"}\n`);
    await client.process.until(() => client.messages.length > ids.length, 'an answer to each id');
    const answered = client.messages.slice(1).map(({ line }) => /"id":("(?:[^"\\]|\\.)*"|[^,}]+)/.exec(line)?.[1] ?? '');
    expect(answered.map((id) => (id.startsWith('"') ? (JSON.parse(id) as string) : `#${id}`))).to.deep.equal(
      ids.map((id) => (id.startsWith('"') ? (JSON.parse(id) as string) : `#${id}`)),
    );
  }));

  it('should answer an id once when it is in flight twice, and say so on stderr', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    instance.scripts.push((turn) => turn.start());
    client.call('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'one' }] }, 'same');
    const turn = await instance.turn(1);
    client.call('session/new', { cwd: '/', mcpServers: [] }, 'same');
    await client.noted('same');
    turn.done();
    await client.process.until(() => client.answersTo('same').length > 0, 'the answer');
    await client.caughtUp();
    expect(client.answersTo('same').map(({ result }) => result)).to.deep.equal([{ stopReason: 'end_turn' }]);
    expect(await client.call('session/new', { cwd: '/', mcpServers: [] }, 'other').result()).to.have.property('sessionId');
  }));

  it('should ignore answers to questions that it never asked', scene(async ({ client }) => {
    await client.initialize();
    for (const answer of [{ id: 1, result: {} }, { id: 'x', error: { code: 1, message: 'n' } }, { id: null, error: { code: -32700, message: 'p' } }, { id: 0, result: 5 }, { id: 4, result: {}, error: {} }]) {
      await client.send(answer);
    }
    await client.caughtUp();
    expect(client.messages).to.have.lengthOf(2);
  }));

  it('should refuse unknown requests, and keep silent about unknown notifications', scene(async ({ client }) => {
    await client.initialize();
    await client.notify('session/newer', { sessionId: 'x' });
    await client.notify('$/cancel_request', { requestId: 12345 });
    await client.notify('$/cancel_request');
    await client.notify('initialized');
    const error = await client.call('session/newer', { sessionId: 'x' }).error();
    expect(error.code).to.equal(-32601);
    expect(error.message).to.contain('session/newer');
    await client.caughtUp();
    expect(client.messages).to.have.lengthOf(3);
  }));

  it('should keep silent about notifications that come before the handshake', scene(async ({ client }) => {
    await client.cancel('early');
    await client.notify('$/cancel_request', { requestId: 1 });
    await client.initialize();
    expect(client.messages).to.have.lengthOf(1);
  }));

  it('should write nothing but the protocol to stdout when everything is logged', scene({ args: ['--agent', 'coder', '--log-level', 'debug'] }, async ({ instance, client }) => {
    instance.scripts.push((turn) => {
      turn.start();
      turn.output('stdout', 'compiling\n');
      turn.output('stderr', 'careful');
      turn.stage('weather', 'done', { rain: true });
      turn.say('fine');
      turn.done();
    });
    const sessionId = await client.open();
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('fine');
    expect(client.stderr).not.to.equal('');
  }));

  it('should take a prompt line of several megabytes', scene(async ({ instance, client }) => {
    const data = 'Zm9v'.repeat(1_500_000);
    const sessionId = await client.open();
    await client.prompt(sessionId, [{ type: 'image', mimeType: 'image/png', data }]).result(15_000);
    const images = instance.seen(routes.prompts)[0]?.body?.['images'] as { data: string }[];
    expect(images[0]?.data.length).to.equal(data.length);
  }));

  it('should answer a line above 64 MiB with an error, to its sender where the beginning tells, and live on', scene(async ({ client }) => {
    await client.initialize();
    const filler = Buffer.alloc(8 * 1024 * 1024, 'A');
    await client.process.write('{"jsonrpc":"2.0","id":"big","method":"session/prompt","params":{"sessionId":"');
    for (let written = 0; written <= 64; written += 8) await client.process.write(filler);
    await client.process.write('"}}\n');
    const { error } = await client.process.until(() => client.messages.find(({ id, error: told }) => told && (id === 'big' || id === null)), 'an error', 15_000);
    expect(error?.message).to.match(/bytes|long|large|limit/);
    await client.caughtUp();
  })).timeout(30_000);

  it('should answer the last line without a line end when stdin ends', scene(async ({ client }) => {
    await client.process.write(initialize);
    client.process.endInput();
    expect((await client.process.exit()).code).to.equal(0);
    expect(client.callWritten('i').answer?.result).to.have.property('protocolVersion', 1);
  }));
});
