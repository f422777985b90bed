import { expect } from 'chai';
import { request } from 'node:http';
import { connect } from 'node:net';
import { cleanUp, TestInstance } from '../support/testInstance.ts';

interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

function raw(test: TestInstance, headers: Readonly<Record<string, string>>, method = 'GET', url = '/api/catalog', body = ''): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const call = request(`${test.instance.baseUrl}${url}`, { method, agent: false, headers: { authorization: `Bearer ${test.key}`, ...headers } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
    });
    call.on('error', reject);
    call.end(body);
  });
}

describe('the door of an instance', () => {
  afterEach(cleanUp);

  it('should open to loopback names and addresses, and not to a name that somebody else pointed here', async () => {
    const test = await TestInstance.start({ allowedHosts: ['fountain.internal'] });
    for (const host of ['127.0.0.1:1', 'localhost', 'LOCALHOST:80', 'app.localhost', '[::1]:9', '192.168.1.4:4100', 'fountain.internal:4100']) expect((await raw(test, { host })).status, host).to.equal(200);
    for (const host of ['evil.example', 'evil.example:4100', 'localhost.evil.example', '127.0.0.1.evil.example']) {
      const { status, body } = await raw(test, { host });
      expect([status, (JSON.parse(body) as { error: string }).error], host).to.deep.equal([403, 'host_not_allowed']);
    }
  });

  it('should be closed to pages, except to those of configured origins', async () => {
    const test = await TestInstance.start({ corsOrigins: ['https://app.example'] });
    const refused = await raw(test, { origin: 'https://evil.example' });
    expect([refused.status, refused.headers['access-control-allow-origin']]).to.deep.equal([403, undefined]);
    expect((await raw(test, { origin: 'null' })).status).to.equal(403);
    const allowed = await raw(test, { origin: 'https://app.example' });
    expect(allowed.status).to.equal(200);
    expect(allowed.headers).to.include({ 'access-control-allow-origin': 'https://app.example', vary: 'origin' });
    expect(allowed.headers).to.not.have.property('access-control-allow-credentials');
    const preflight = await raw(test, { origin: 'https://app.example', 'access-control-request-method': 'POST', authorization: '' }, 'OPTIONS');
    expect([preflight.status, preflight.headers['access-control-max-age']]).to.deep.equal([204, '600']);
  });

  it('should ask for a key on every route that is not public', async () => {
    const test = await TestInstance.start();
    const document = (await (await fetch(`${test.instance.baseUrl}/api/openapi.json`)).json()) as { paths: Record<string, Record<string, { security?: unknown[] }>> };
    let closed = 0;
    for (const [url, methods] of Object.entries(document.paths)) {
      for (const [method, { security }] of Object.entries(methods)) {
        if (security !== undefined) continue;
        closed += 1;
        for (const authorization of ['', 'Bearer', 'Bearer nonsense', `Basic ${test.key}`, `Bearer ${test.key}0`]) {
          const { status, body } = await raw(test, { authorization, 'content-type': 'application/json' }, method.toUpperCase(), url.replaceAll(/\{\w+\}/g, '00000000-0000-4000-8000-000000000000'), ['get', 'delete'].includes(method) ? '' : '{}');
          expect([status, (JSON.parse(body) as { reason: string }).reason], `${method} ${url}`).to.deep.equal([401, 'api_key_invalid']);
        }
      }
    }
    expect(closed).to.be.greaterThan(40);
  });

  it('should answer 406 to a client that takes no JSON', async () => {
    const test = await TestInstance.start();
    for (const accept of ['*/*', 'application/*', 'text/html, application/json;q=0.9', 'application/problem+json']) expect((await raw(test, { accept })).status, accept).to.equal(200);
    const { status, body } = await raw(test, { accept: 'text/html' });
    expect([status, (JSON.parse(body) as { error: string }).error]).to.deep.equal([406, 'not_acceptable']);
  });

  it('should use one envelope for all that goes wrong', async () => {
    const test = await TestInstance.start({ bodyLimitBytes: 1000 });
    const json = { 'content-type': 'application/json' };
    const cases: readonly [string, Promise<RawAnswer>, number, string][] = [
      ['no route', raw(test, {}, 'GET', '/api/billing'), 404, 'not_found'],
      ['no method', raw(test, {}, 'DELETE', '/api/catalog'), 404, 'not_found'],
      ['no JSON', raw(test, json, 'POST', '/api/vaults', '{"name":'), 400, 'bad_request'],
      ['a list', raw(test, json, 'POST', '/api/vaults', '[]'), 422, 'validation_failed'],
      ['nothing', raw(test, json, 'POST', '/api/vaults'), 422, 'validation_failed'],
      ['another type', raw(test, { 'content-type': 'text/plain' }, 'POST', '/api/vaults', 'name'), 415, 'unsupported_media_type'],
      ['too much', raw(test, json, 'POST', '/api/vaults', JSON.stringify({ name: 'x'.repeat(2000) })), 413, 'payload_too_large'],
      ['a malformed id', raw(test, {}, 'GET', '/api/agents/not-a-uuid'), 404, 'not_found'],
      ['an encoded path', raw(test, {}, 'GET', '/api/agents/%2e%2e%2f'), 404, 'not_found'],
      ['a broken escape', raw(test, {}, 'GET', '/api/agents/%zz'), 400, 'bad_request'],
    ];
    for (const [name, answer, status, error] of cases) {
      const { status: actual, body, headers } = await answer;
      expect([actual, (JSON.parse(body) as { error: string }).error], `${name}: ${body}`).to.deep.equal([status, error]);
      expect(headers['content-type']).to.match(/^application\/json/);
    }
  });

  it('should name each field that is wrong', async () => {
    const test = await TestInstance.start();
    const { status, body } = await test.post('/api/agents', { name: 'x'.repeat(201), runtime: 'unheard-of', model: 'No/Model', allowed_vault_ids: ['x'], permission_policy: { execute: 'perhaps' } });
    expect(status).to.equal(422);
    expect(body).to.deep.equal({
      error: 'validation_failed',
      errors: { name: ['should be at most 200 character(s)'], runtime: ['is invalid'], model: ['is invalid'], 'allowed_vault_ids/0': ['is invalid'], 'permission_policy/execute': ['is invalid'] },
    });
    expect((await test.post('/api/agents', {})).body['errors']).to.deep.equal({ name: ["can't be blank"], runtime: ["can't be blank"] });
  });

  it('should survive bytes that are no HTTP', async () => {
    const test = await TestInstance.start();
    const port = Number(new URL(test.instance.baseUrl).port);
    for (const bytes of ['\u0000\u0001\u0002', 'GET / HTTP/9.9\r\n\r\n', 'POST /api/vaults HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nab']) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      await new Promise((resolve) => socket.once('connect', resolve));
      socket.write(bytes);
      await new Promise((resolve) => setImmediate(resolve));
      socket.destroy();
    }
    expect((await test.get('/api/catalog')).status).to.equal(200);
  });
});
