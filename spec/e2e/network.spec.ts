import { expect } from 'chai';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { scene } from '../support/scene.ts';
import { routes, type Departure } from '../support/scripted/departures.ts';
import { byHand } from '../support/scripted/turn.ts';
import { selfSigned } from '../support/selfSigned.ts';
import type { AcpClient } from '../support/acpClient.ts';

const newSessionError = async (client: AcpClient): Promise<string> => {
  await client.initialize();
  return (await client.call('session/new', { cwd: '/', mcpServers: [] }).error(10_000)).message;
};

const worksThrough = async (client: AcpClient): Promise<void> => {
  const sessionId = await client.open();
  expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
  expect(client.text(sessionId)).to.equal('hello');
};

const html = { 'content-type': 'text/html' };
const certificate = selfSigned();

/** Whatever stands between here and the instance, a reader inside an editor learns what went wrong and where. */
describe('fountain acp: answers that are none', () => {
  const lies: readonly [string, Departure, RegExp, RegExp][] = [
    ['502 with HTML', { status: 502, headers: html, text: '<html><head><title>502 Bad Gateway</title></head><body><center>nginx</center></body></html>' }, /502/, /<|Unexpected token/],
    ['200 with a sign-in page', { status: 200, headers: html, text: '<!doctype html><html><body>Sign in</body></html>' }, /JSON|answer/i, /<html|Unexpected token|undefined/],
    ['half a JSON body', { status: 200, headers: { 'content-type': 'application/json' }, text: '{"data":[{"id":"x' }, /JSON|answer/i, /Unexpected|undefined|position/],
    ['an empty body', { status: 200, text: '' }, /JSON|answer|empty/i, /Unexpected|undefined/],
    ['JSON of another shape', { json: { data: 'none' } }, /./, /undefined|is not a function|TypeError|not iterable/],
    ['null', { json: null }, /./, /undefined|Cannot read|TypeError/],
    ['500 with nothing', { status: 500, text: '' }, /500/, /undefined/],
    ['a megabyte of error', { status: 500, text: 'E'.repeat(1_000_000) }, /500/, /E{5000}/],
    ['an error with control characters', { status: 400, json: { error: 'a\u001b[31m\u0000b' } }, /400|a.*b/, /undefined/],
  ];
  for (const [name, departure, words, not] of lies) {
    it(`should be told in words, of bounded length, when the instance answers with ${name}`, scene(async ({ instance, client }) => {
      instance.depart(routes.agents, departure, { nth: [1, 2, 3, 4] });
      const message = await newSessionError(client);
      expect(message).to.match(words).and.not.to.match(not);
      expect(message.length).to.be.lessThan(3000);
      expect(message).to.contain(instance.baseUrl);
      expect(client.stderr).not.to.match(/[\u0000\u001b]/);
      expect(await client.call('spec/none').error()).to.have.property('code', -32601);
    }));
  }

  it('should name address and cause when nobody listens', scene({ env: () => ({ FOUNTAIN_BASE_URL: 'http://127.0.0.1:9' }) }, async ({ client }) => {
    const message = await newSessionError(client);
    expect(message).to.contain('127.0.0.1:9').and.to.match(/ECONNREFUSED|refused/);
  }));

  it('should name the host when it cannot be found', scene({ env: () => ({ FOUNTAIN_BASE_URL: 'http://no-such-host.invalid' }) }, async ({ client }) => {
    const message = await newSessionError(client);
    expect(message).to.contain('no-such-host.invalid').and.to.match(/ENOTFOUND|EAI_AGAIN|not (be )?found|resolve/);
  }));

  for (const url of ['not a url', 'ftp://127.0.0.1', 'http://', '127.0.0.1:4100']) {
    it(`should say in words that "${url}" is no address of an instance`, scene({ env: () => ({ FOUNTAIN_BASE_URL: url }) }, async ({ client }) => {
      const message = await newSessionError(client);
      expect(message).to.contain(url.replace(/\/+$/, '')).and.not.to.match(/TypeError|undefined|^fountain failed/);
    }));
  }

  for (const [name, greeting] of [['hangs up on everything', ''], ['speaks no HTTP', 'SSH-2.0-OpenSSH_9.9\r\n']] as const) {
    it(`should name the address of a server that ${name}`, scene(async ({ launch, atEnd }) => {
      const odd = createServer((socket) => socket.on('error', () => undefined).end(greeting));
      await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve));
      atEnd(() => odd.close());
      const { port } = odd.address() as AddressInfo;
      expect(await newSessionError(launch({ env: () => ({ FOUNTAIN_BASE_URL: `http://127.0.0.1:${port}` }) }))).to.contain(String(port));
    }));
  }
});

describe('fountain acp: the way to the instance', () => {
  for (const tail of ['', '/', '//', '/tools/fountain', '/tools/fountain//']) {
    const prefix = tail.replace(/\/+$/, '');
    it(`should keep the path of a base URL that ends with "${tail}"`, scene({
      ...(prefix && { prefix }),
      env: ({ transport }) => ({ FOUNTAIN_BASE_URL: transport.url() + tail }),
    }, async ({ client }) => worksThrough(client)));
  }

  it('should reach an instance on localhost', scene({ env: ({ transport }) => ({ FOUNTAIN_BASE_URL: transport.url('localhost') }) }, async ({ client }) => worksThrough(client)));

  it('should post each prompt once when idle connections are cut', scene({ cutsReusedConnections: true }, async ({ instance, client }) => {
    const sessionId = await client.open();
    for (let nth = 1; nth <= 3; nth += 1) expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    expect(instance.seen(routes.prompts)).to.have.lengthOf(3);
    expect(instance.seen(routes.create)).to.have.lengthOf(1);
  }));

  it('should read compressed answers, and a compressed stream as it comes', scene({ compresses: true }, async ({ instance, client }) => {
    instance.scripts.push(byHand);
    const sessionId = await client.open();
    const call = client.prompt(sessionId);
    const turn = await instance.turn();
    turn.start();
    turn.say('first');
    await client.said(sessionId, 'first');
    turn.say(' second');
    turn.done();
    expect(await call.stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('first second');
  }));

  for (const names of [['HTTP_PROXY'], ['http_proxy'], ['HTTP_PROXY', 'http_proxy']]) {
    it(`should go through the proxy that ${names.join(' and ')} names`, scene({
      env: ({ transport }) => ({ FOUNTAIN_BASE_URL: 'http://fountain.example.invalid', ...Object.fromEntries(names.map((name) => [name, transport.url()])) }),
    }, async ({ instance, client }) => {
      await worksThrough(client);
      expect(instance.transport.tunnels.length > 0 || instance.requests.every(({ proxied }) => proxied)).to.equal(true);
    }));
  }

  for (const name of ['NO_PROXY', 'no_proxy']) {
    it(`should go past the proxy where ${name} says so`, scene({ env: () => ({ HTTP_PROXY: 'http://127.0.0.1:9', http_proxy: 'http://127.0.0.1:9', [name]: 'example.test,127.0.0.1' }) }, async ({ client }) => worksThrough(client)));
  }

  it('should name the proxy when that is what fails', scene({ env: () => ({ FOUNTAIN_BASE_URL: 'http://fountain.example.invalid', HTTP_PROXY: 'http://127.0.0.1:9', http_proxy: 'http://127.0.0.1:9' }) }, async ({ client }) => {
    expect(await newSessionError(client)).to.contain('fountain.example.invalid').and.to.contain('127.0.0.1:9');
  }));

  it('should ask the proxy for a tunnel to an instance behind TLS', scene({ certificate, files: () => ({ 'ca.pem': certificate.certificate }) }, async ({ instance, beside, launch }) => {
    const proxy = await beside();
    proxy.transport.tunnelPort = instance.transport.port;
    const client = launch({
      env: (_, home) => ({
        FOUNTAIN_BASE_URL: 'https://fountain.example.invalid',
        NODE_EXTRA_CA_CERTS: path.join(home, 'ca.pem'),
        HTTPS_PROXY: proxy.baseUrl,
        https_proxy: proxy.baseUrl,
      }),
    });
    await worksThrough(client);
    expect(proxy.transport.tunnels).to.include('fountain.example.invalid:443');
    expect(proxy.requests, 'the proxy sees no request').to.deep.equal([]);
  }));

  it('should speak of the certificate when nobody vouches for it', scene({ certificate }, async ({ client }) => {
    expect(await newSessionError(client)).to.match(/certificate|CERT/);
  }));

  for (const name of ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE']) {
    it(`should trust the authority that ${name} names`, scene({
      certificate,
      files: () => ({ 'ca.pem': certificate.certificate }),
      env: (_, home) => ({ [name]: path.join(home, 'ca.pem') }),
    }, async ({ client }) => worksThrough(client)));
  }

  it('should not carry the key to another origin', scene(async ({ instance, client, beside }) => {
    const other = await beside({ key: instance.key });
    instance.depart(routes.agents, { status: 302, headers: { location: `${other.transport.url('localhost')}/api/agents` }, text: '' });
    await client.initialize();
    await client.call('session/new', { cwd: '/', mcpServers: [] }).answered();
    expect(other.requests.filter(({ headers }) => headers.authorization !== undefined)).to.deep.equal([]);
  }));

  it('should repeat a request that is safe to repeat, and no other', scene(async ({ instance, client }) => {
    instance.depart(routes.agents, { breaks: 'reset' }, { nth: [1] });
    await client.initialize();
    const first = await client.call('session/new', { cwd: '/', mcpServers: [] }).answered();
    expect(first.result ?? first.error).to.be.an('object');
    const created = instance.seen(routes.create).length;
    instance.depart(routes.create, { breaks: 'reset', carriedOut: true }, { nth: [1] });
    await client.call('session/new', { cwd: '/', mcpServers: [] }).answered();
    expect(instance.seen(routes.create).length - created).to.equal(1);
  }));

  it('should say who it is and what it takes with every request', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    await client.prompt(sessionId).result();
    for (const { method, headers, kind, rawBody, path: route } of instance.requests) {
      expect(headers.authorization, route).to.equal(`Bearer ${instance.key}`);
      if (kind === 'follow') expect(headers.accept, route).to.contain('text/event-stream');
      else expect(headers.accept ?? '*/*', route).to.match(/json|\*\/\*|event-stream/);
      if (method === 'POST' && rawBody !== '') expect(headers['content-type'], route).to.contain('application/json');
    }
    const [follow] = instance.seen(routes.follow);
    expect(follow?.query.get('streams')?.split(',')).to.have.members(['acp', 'stage']);
  }));

  it('should keep few connections open, and none more for each prompt', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    for (let nth = 1; nth <= 60; nth += 1) expect(await client.prompt(sessionId, String(nth)).stopReason()).to.equal('end_turn');
    expect(instance.transport.connections).to.be.lessThan(10);
    expect(client.stderr).not.to.match(/MaxListeners|leak/);
    expect(instance.seen(routes.prompts)).to.have.lengthOf(60);
  })).timeout(20_000);
});
