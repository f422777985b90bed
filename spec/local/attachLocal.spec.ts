import { expect } from 'chai';
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { attachLocal, type LocalOptions } from '../../lib/local/attachLocal.ts';
import type { LocalInstance } from '../../lib/local/runningInstance.ts';

const command = [process.execPath, fileURLToPath(new URL('fakeServe.mjs', import.meta.url))] as const;
const client = fileURLToPath(new URL('attachClient.ts', import.meta.url));

/** A process id that no process has: one beyond the kernel's largest. */
const deadPid = 2 ** 22 + 1;

interface Start {
  readonly pid: number;
  readonly args: string[];
  readonly env: Record<string, string>;
  readonly cwd: string;
}

describe('attachLocal', () => {
  let dataFolder: string;

  beforeEach(() => {
    dataFolder = mkdtempSync(path.join(tmpdir(), 'local-'));
  });

  afterEach(() => {
    delete process.env['FAKE_SERVE'];
    for (const { pid } of starts()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended already.
      }
    }
    rmSync(dataFolder, { recursive: true, force: true });
  });

  function starts(): Start[] {
    const file = path.join(dataFolder, 'starts');
    if (!existsSync(file)) return [];
    return readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line) as Start);
  }

  function attach(behaviour = '0', options: LocalOptions = {}): Promise<LocalInstance> {
    process.env['FAKE_SERVE'] = behaviour;
    return attachLocal({ dataFolder, command, ...options });
  }

  async function failure(behaviour: string, options: LocalOptions = {}): Promise<string> {
    return attach(behaviour, options).then(() => 'attached', (error: unknown) => (error as Error).message);
  }

  /** A client in a process group of its own. */
  function spawnClient(behaviour: string): { child: ChildProcess; instance: Promise<LocalInstance> } {
    const child = spawn(process.execPath, ['--import', 'tsx', client], {
      detached: true,
      env: { ...process.env, FOUNTAIN_LOCAL_DATA: dataFolder, FAKE_SERVE: behaviour },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    const instance = new Promise<LocalInstance>((resolve, reject) => {
      child.once('close', () => (printed === '' ? reject(new Error('the client printed nothing')) : resolve(JSON.parse(printed) as LocalInstance)));
    });
    instance.catch(() => undefined);
    return { child, instance };
  }

  async function until(condition: () => boolean): Promise<void> {
    const deadline = Date.now() + 10_000;
    while (!condition()) {
      if (Date.now() > deadline) throw new Error('the condition did not come true in time');
      await delay(5);
    }
  }

  it('should start a server when none runs, and attach to it from then on', async () => {
    process.env['FOUNTAIN_API_KEY'] = 'ftn_of_another_instance';
    const first = await attach('100');
    delete process.env['FOUNTAIN_API_KEY'];
    expect(first).to.include({ key: 'ftn_secret', version: '9.9.9', pid: starts()[0]!.pid });
    expect(first.baseUrl).to.match(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await attach()).to.deep.equal(first);
    expect(starts()).to.have.lengthOf(1);
    expect(starts()[0]!.args).to.deep.equal(['serve', '--port', '0', '--data', dataFolder, '--idle-exit', '1800']);
    expect(starts()[0]!.env).to.not.have.property('FOUNTAIN_API_KEY');
    expect(starts()[0]!.cwd).to.equal(dataFolder);
    expect(statSync(path.join(dataFolder, 'serve.log')).mode & 0o777).to.equal(0o600);
    expect(existsSync(path.join(dataFolder, 'start.lock'))).to.equal(false);
  });

  it('should start exactly one server when many clients come at once', async () => {
    const clients = Array.from({ length: 6 }, () => spawnClient('300').instance);
    const instances = await Promise.all([...clients, attach('300'), attach('300')]);
    expect(new Set(instances.map(({ baseUrl }) => baseUrl)).size).to.equal(1);
    expect(starts()).to.have.lengthOf(1);
  }).timeout(30_000);

  it('should leave the server running when the client and its process group are killed', async () => {
    const { child, instance } = spawnClient('0');
    const { pid } = await instance;
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // The group is empty: the server is not in it.
    }
    expect(await attach()).to.include({ pid });
    const [, , , , group, session] = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/\(.*\)/, 'x').split(' ');
    expect([group, session]).to.deep.equal([String(pid), String(pid)]);
  });

  it('should wait for the server on its way when the client that started it was killed', async () => {
    const { child } = spawnClient('1500');
    await until(() => existsSync(path.join(dataFolder, 'starting.json')) && starts().length === 1);
    process.kill(-child.pid!, 'SIGKILL');
    expect(await attach('1500')).to.include({ pid: starts()[0]!.pid });
    expect(starts()).to.have.lengthOf(1);
  });

  it('should start a server when the one that is written down has ended, or its port is silent', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await until(() => silent.listening);
    const { port } = silent.address() as AddressInfo;
    await new Promise((resolve) => silent.close(resolve));
    for (const stale of [{ pid: deadPid, base_url: 'http://127.0.0.1:1' }, { pid: process.pid, base_url: `http://127.0.0.1:${port}` }, { pid: process.pid, base_url: 'nonsense' }]) {
      writeFileSync(path.join(dataFolder, 'instance.json'), JSON.stringify(stale));
      expect(await attach()).to.include({ key: 'ftn_secret' });
    }
    writeFileSync(path.join(dataFolder, 'instance.json'), '{');
    expect(await attach()).to.include({ key: 'ftn_secret' });
    expect(starts()).to.have.lengthOf(4);
    expect(existsSync(path.join(dataFolder, 'starting.json'))).to.equal(false);
  });

  it('should start a server when something else answers at the place that is written down', async () => {
    const other = createServer((_request, response) => response.end('<html>Hello</html>')).listen(0, '127.0.0.1');
    await until(() => other.listening);
    writeFileSync(path.join(dataFolder, 'key'), 'ftn_old');
    writeFileSync(path.join(dataFolder, 'instance.json'), JSON.stringify({ pid: process.pid, base_url: `http://127.0.0.1:${(other.address() as AddressInfo).port}` }));
    expect(await attach()).to.include({ pid: starts()[0]!.pid });
    other.close();
  });

  it('should start a server of its own when the one on its way ends', async () => {
    const { child } = spawnClient('hang');
    await until(() => starts().length === 1);
    process.kill(-child.pid!, 'SIGKILL');
    const attached = attach();
    process.kill(starts()[0]!.pid, 'SIGKILL');
    expect(await attached).to.include({ pid: starts()[1]!.pid });
  });

  it('should take over the lock of a client that was killed', async () => {
    writeFileSync(path.join(dataFolder, 'start.lock'), `${deadPid} token`);
    expect(await attach()).to.include({ key: 'ftn_secret' });
  });

  it('should quote the log when the server ends at once', async () => {
    writeFileSync(path.join(dataFolder, 'serve.log'), 'something old\n');
    expect(await failure('fail')).to.equal('the local instance was started and ended at once; it said: fountain: the database is newer than this program');
  });

  it('should give up in time and leave no server behind when the server does not listen', async () => {
    expect(await failure('hang', { deadlineMs: 500 })).to.equal('the local instance was started and did not answer in time; it said nothing');
    await until(() => !existsSync(`/proc/${starts()[0]!.pid}`));
  });

  it('should give up in time when another client holds the lock', async () => {
    writeFileSync(path.join(dataFolder, 'start.lock'), `${process.pid} token`);
    expect(await failure('0', { deadlineMs: 200 })).to.contain('another client is starting the local instance');
    expect(starts()).to.deep.equal([]);
  });

  it('should stop waiting when it is aborted', async () => {
    const abort = new AbortController();
    const failed = failure('2000', { signal: abort.signal });
    await until(() => starts().length === 1);
    abort.abort();
    expect(await failed).to.contain('aborted');
    expect(existsSync(path.join(dataFolder, 'start.lock'))).to.equal(false);
  });

  it('should say what is wrong when the folder cannot be used', async () => {
    writeFileSync(path.join(dataFolder, 'file'), '');
    expect(await failure('0', { dataFolder: path.join(dataFolder, 'file', 'x') })).to.match(/^could not make the folder of the local instance, .*FOUNTAIN_LOCAL_DATA names another$/);
  });
});
