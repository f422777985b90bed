import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { routes } from '../support/scripted/departures.ts';
import { scene } from '../support/scene.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
const unset = (): Record<string, null> => ({ FOUNTAIN_API_KEY: null });

/** The handshake needs no network and locks nobody out; what is missing is said in the protocol, where a client shows it. */
describe('fountain acp: handshake', () => {
  it('should tell what it can do, without a request to the instance', scene(async ({ instance, client }) => {
    const result = await client.initialize();
    expect(result).to.deep.include({ protocolVersion: 1, authMethods: [] });
    expect(result['agentInfo']).to.deep.include({ name: 'fountain', version });
    expect(result['agentCapabilities']).to.deep.include({ loadSession: true });
    expect((result['agentCapabilities'] as Record<string, unknown>)['promptCapabilities']).to.deep.equal({
      image: true,
      audio: false,
      embeddedContext: false,
    });
    expect(instance.requests).to.deep.equal([]);
  }));

  it('should negotiate down to 1 whatever version a client offers', scene(async ({ client }) => {
    for (const protocolVersion of [1, 2, 7, 65_535, 0, -3]) {
      expect((await client.call('initialize', { protocolVersion, clientCapabilities: {} }).result())['protocolVersion'], String(protocolVersion)).to.equal(1);
    }
    for (const params of [undefined, {}, { clientCapabilities: null }, { protocolVersion: 1, clientCapabilities: 'none', clientInfo: 5 }]) {
      expect((await client.call('initialize', params).result())['protocolVersion'], JSON.stringify(params)).to.equal(1);
    }
  }));

  it('should answer and live on when the version is of another type', scene(async ({ client }) => {
    for (const protocolVersion of ['2025-06-18', null, true, {}, 1.5]) {
      const { result, error } = await client.call('initialize', { protocolVersion }).answered();
      if (error) expect(error.code).to.be.oneOf([-32602, -32600]);
      else expect(result).to.have.property('protocolVersion', 1);
    }
    expect((await client.initialize())['protocolVersion']).to.equal(1);
  }));

  it('should serve a session that is asked for in the same write, after the handshake', scene(async ({ client }) => {
    const line = (id: string, method: string, params: object): string => `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
    await client.process.write(line('i', 'initialize', { protocolVersion: 1 }) + line('n', 'session/new', { cwd: '/', mcpServers: [] }));
    const { index } = await client.callWritten('n').answered();
    expect(await client.callWritten('n').result()).to.have.property('sessionId');
    expect(client.callWritten('i').answer?.index).to.be.lessThan(index);
  }));

  it('should name initialize when a session comes before it, and work afterwards', scene(async ({ client }) => {
    for (const method of ['session/new', 'session/load', 'session/prompt']) {
      const error = await client.call(method, { sessionId: 's', cwd: '/', mcpServers: [], prompt: [] }).error();
      expect(error.code, method).to.equal(-32600);
      expect(error.message, method).to.contain('initialize');
    }
    expect(await client.open()).not.to.equal('');
  }));

  it('should work in an environment without HOME and PATH', scene({ bareEnv: true }, async ({ client }) => {
    const sessionId = await client.open();
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
  }));

  it('should go on when a client initializes twice', scene(async ({ client }) => {
    const sessionId = await client.open();
    await client.initialize();
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
  }));
});

describe('fountain acp: authentication', () => {
  it('should offer one way to log in, ask the instance nothing and refuse sessions when there is no key', scene({ env: unset }, async ({ instance, client }) => {
    const { authMethods } = await client.initialize();
    expect(authMethods).to.have.lengthOf(1);
    expect(JSON.stringify(authMethods)).to.contain('fountain auth login');
    for (const call of [client.call('session/new', { cwd: '/', mcpServers: [] }), client.load('9d3d7b0e-1111-4222-8333-944444444444')]) {
      const error = await call.error();
      expect(error.code).to.equal(-32000);
      expect(error.message).to.contain('fountain auth login').and.to.contain(instance.baseUrl);
    }
    expect(instance.requests).to.deep.equal([]);
  }));

  it('should take credentials that are saved while it runs', scene({ env: unset }, async ({ instance, client, write }) => {
    await client.initialize();
    expect((await client.call('session/new', { cwd: '/', mcpServers: [] }).error()).code).to.equal(-32000);
    expect((await client.call('authenticate', { methodId: 'fountain-cli-login' }).error()).code).to.equal(-32000);
    write('.fountain/credentials', `[default]\napi_key = "${instance.key}"\nbase_url = "${instance.baseUrl}"\n`);
    expect(await client.call('authenticate', { methodId: 'fountain-cli-login' }).result()).to.deep.equal({});
    expect(await client.newSession()).not.to.equal('');
  }));

  it('should verify the saved credentials when it is asked to authenticate', scene(async ({ instance, client }) => {
    await client.initialize();
    expect(await client.call('authenticate', { methodId: 'fountain-cli-login' }).result()).to.deep.equal({});
    expect(instance.seen(routes.me)).to.have.lengthOf(1);
  }));

  it('should refuse a method that it does not have', scene(async ({ client }) => {
    await client.initialize();
    for (const params of [{ methodId: 'oauth' }, { methodId: 5 }, {}]) {
      expect((await client.call('authenticate', params).error()).code, JSON.stringify(params)).to.equal(-32602);
    }
  }));

  for (const [status, json] of [[401, { error: 'gone', reason: 'api_key_revoked' }], [403, { error: 'verify first', reason: 'email_unverified' }]] as const) {
    it(`should name the instance and the profile when the credentials are rejected with ${status}`, scene({ env: () => ({ FOUNTAIN_PROFILE: 'day' }) }, async ({ instance, client }) => {
      instance.depart(routes.me, { status, json });
      await client.initialize();
      const error = await client.call('authenticate', { methodId: 'fountain-cli-login' }).error();
      expect(error.code).to.equal(-32000);
      expect(error.message).to.contain(instance.baseUrl).and.to.contain('day').and.to.contain('fountain auth login').and.to.contain(json.error);
    }));
  }

  it('should answer with a login error when there is nothing to verify', scene({ env: unset }, async ({ client }) => {
    await client.initialize();
    const error = await client.call('authenticate', { methodId: 'fountain-cli-login' }).error();
    expect(error.code).to.equal(-32000);
    expect(error.message).to.contain('fountain auth login');
  }));

  it('should answer session/new with a login error when the key is rejected there', scene({ env: () => ({ FOUNTAIN_API_KEY: 'ftn_wrong' }) }, async ({ instance, client }) => {
    await client.initialize();
    const error = await client.call('session/new', { cwd: '/', mcpServers: [] }).error();
    expect(error.code).to.equal(-32000);
    expect(error.message).to.contain(instance.baseUrl).and.to.contain('were rejected').and.to.contain('fountain auth login');
    expect(error.message).not.to.contain('ftn_wrong');
  }));
});
