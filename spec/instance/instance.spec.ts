import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { startInstance } from '../../lib/instance/instance.ts';
import { InstanceError } from '../../lib/instance/instanceError.ts';
import { cleanUp, temporaryFolder, TestInstance } from './support/testInstance.ts';
import { until } from './support/until.ts';

async function failure(options: Parameters<typeof startInstance>[0]): Promise<InstanceError> {
  const error = await startInstance({ port: 0, ...options }).then((instance) => instance.close(), (reason: unknown) => reason);
  if (!(error instanceof InstanceError)) throw new Error(`not refused: ${String(error)}`);
  return error;
}

describe('startInstance', () => {
  afterEach(cleanUp);

  it('should keep its data for this user alone and say where it listens', async () => {
    const test = await TestInstance.start({ version: '9.9.9' });
    const { dataDir, baseUrl } = test.instance;
    const mode = (name: string): number => statSync(path.join(dataDir, name)).mode & 0o777;
    expect(mode('.')).to.equal(0o700);
    for (const name of ['instance.json', 'key', 'secret.key', 'lock']) expect(mode(name), name).to.equal(0o600);
    const record = JSON.parse(readFileSync(path.join(dataDir, 'instance.json'), 'utf8')) as object;
    expect(record).to.include({ pid: process.pid, base_url: baseUrl, version: '9.9.9' });
    expect(readFileSync(path.join(dataDir, 'key'), 'utf8').trim()).to.equal(test.key);
    await test.close();
    expect(existsSync(path.join(dataDir, 'instance.json'))).to.equal(false);
  });

  it('should keep key, account and conversations when it is started again', async () => {
    const first = await TestInstance.start();
    const id = await first.conversation();
    await first.turn(id, 'remember me');
    const events = await first.events(id);
    await first.close();
    const again = await TestInstance.start({ dataDir: first.instance.dataDir });
    expect([again.key, again.instance.accountId]).to.deep.equal([first.key, first.instance.accountId]);
    expect(await again.events(id)).to.deep.equal(events);
  });

  it('should make a new key file when the old one was deleted, and keep the old key', async () => {
    const first = await TestInstance.start();
    await first.close();
    rmSync(path.join(first.instance.dataDir, 'key'));
    const again = await TestInstance.start({ dataDir: first.instance.dataDir });
    expect(again.key).to.not.equal(first.key);
    for (const key of [again.key, first.key]) expect((await again.call('GET', '/api/auth/me', undefined, { authorization: `Bearer ${key}` })).status).to.equal(200);
  });

  it('should refuse a data folder that another server has, and name its address', async () => {
    const test = await TestInstance.start();
    const { dataDir, baseUrl } = test.instance;
    const error = await failure({ dataDir });
    expect(error.reason).to.equal('running');
    expect(error.message).to.include(dataDir).and.include(baseUrl);
    expect((await test.get('/api/catalog')).status).to.equal(200);
    expect(existsSync(path.join(dataDir, 'instance.json'))).to.equal(true);
  });

  it('should refuse a port that is taken, and leave the data folder free', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    const dataDir = await temporaryFolder();
    const error = await failure({ dataDir, port });
    expect([error.reason, error.message]).to.deep.equal(['address', `port ${port} on 127.0.0.1 is taken; choose another one with --port, or 0 for any`]);
    server.close();
    await TestInstance.start({ dataDir });
  });

  it('should refuse an address that is not of this machine', async () => {
    expect((await failure({ dataDir: await temporaryFolder(), host: '203.0.113.7' })).reason).to.equal('address');
  });

  it('should refuse a data folder that cannot be', async () => {
    const file = path.join(await temporaryFolder(), 'file');
    writeFileSync(file, '');
    const error = await failure({ dataDir: path.join(file, 'data') });
    expect(error.reason).to.equal('unwritable');
    expect(error.message).to.include(file);
  });

  it('should refuse data of a newer program and change nothing', async () => {
    const test = await TestInstance.start();
    const { dataDir } = test.instance;
    await test.close();
    const database = new DatabaseSync(path.join(dataDir, 'fountain.db'));
    database.exec('PRAGMA user_version = 99');
    database.close();
    const before = readdirSync(dataDir).map((name) => [name, statSync(path.join(dataDir, name)).size]);
    expect((await failure({ dataDir })).reason).to.equal('newer');
    expect(readdirSync(dataDir).map((name) => [name, statSync(path.join(dataDir, name)).size])).to.deep.equal(before);
  });

  it('should refuse a damaged database and one whose secrets cannot be read', async () => {
    const test = await TestInstance.start();
    const { dataDir } = test.instance;
    await test.close();
    const key = readFileSync(path.join(dataDir, 'secret.key'));
    rmSync(path.join(dataDir, 'secret.key'));
    expect(await failure({ dataDir })).to.include({ reason: 'damaged' });
    expect(existsSync(path.join(dataDir, 'secret.key'))).to.equal(false);
    writeFileSync(path.join(dataDir, 'secret.key'), key);
    const file = path.join(dataDir, 'fountain.db');
    const whole = readFileSync(file);
    writeFileSync(file, 'nonsense '.repeat(1000));
    expect(await failure({ dataDir })).to.include({ reason: 'damaged' });
    writeFileSync(file, whole);
    await TestInstance.start({ dataDir });
  });

  it('should end by itself when nobody uses it, and not while somebody does', async () => {
    const test = await TestInstance.start({ idleExitSeconds: 0.4 });
    let ended = false;
    void test.instance.closed.then(() => (ended = true));
    const id = await test.conversation();
    await test.prompt(id, [{ sleep: 1200 }]);
    const startedAt = Date.now();
    await until(() => ended, 'the end', 10_000);
    expect(Date.now() - startedAt).to.be.greaterThan(1200);
  });

  it('should not end while a stream is open', async () => {
    const test = await TestInstance.start({ idleExitSeconds: 0.2, streamIdleSeconds: 1.2 });
    const id = await test.conversation();
    const reader = test.follow(id);
    await reader.ended();
    expect(reader.hasFailed).to.equal(false);
    await test.instance.closed;
  });

  it('should end all of its streams and refuse what comes when it is closed', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation();
    const readers = [test.follow(id), test.follow(id)];
    await readers[1]!.frame('provision/done');
    await test.instance.close();
    await Promise.all(readers.map((reader) => reader.ended()));
    await test.instance.close();
    expect(await fetch(`${test.instance.baseUrl}/health`).catch(() => 'gone')).to.equal('gone');
  });

  it('should say whether it lives without a key', async () => {
    const test = await TestInstance.start();
    for (const url of ['/health', '/health/ready']) expect(await (await fetch(`${test.instance.baseUrl}${url}`)).json()).to.deep.equal({ status: 'ok' });
  });
});
