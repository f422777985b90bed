import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { ServeProcess } from '../instance/support/serveProcess.ts';
import { cleanUp, temporaryFolder } from '../instance/support/testInstance.ts';

describe('ServeCommand', () => {
  afterEach(cleanUp);

  it('should say where it listens, where its data is and how to use it, and end in good order on SIGTERM', async () => {
    const dataDir = await temporaryFolder();
    const server = new ServeProcess(dataDir, ['--log-level', 'info']);
    const base = await server.listening();
    expect((await fetch(`${base}/health`)).status).to.equal(200);
    expect(server.stderr).to.include(`its data is in ${dataDir}`).and.include(`FOUNTAIN_BASE_URL=${base}`).and.match(/isolated by (bubblewrap|none: )/);
    expect(server.stderr).to.not.include(server.key);
    server.kill('SIGTERM');
    await server.ended();
    expect(server.exitCode).to.equal(0);
    expect(server.stderr).to.not.include('STDOUT');
  });

  it('should end with 7 and the address when a server runs on the folder already', async () => {
    const dataDir = await temporaryFolder();
    const first = new ServeProcess(dataDir);
    const base = await first.listening();
    const second = new ServeProcess(dataDir);
    await second.ended();
    expect(second.exitCode).to.equal(7);
    expect(second.stderr).to.equal(`fountain: a server is already running on ${dataDir} at ${base} (process ${first.pid})\n`);
    const third = new ServeProcess(await temporaryFolder(), ['--port', new URL(base).port]);
    await third.ended();
    expect(third.exitCode).to.equal(3);
    expect(third.stderr).to.match(/^fountain: port \d+ on 127\.0\.0\.1 is taken.*\n$/);
    first.kill('SIGINT');
    await first.ended();
    expect(first.exitCode).to.equal(0);
  });

  it('should end with 4 for a folder that cannot be, and with 6 for damaged data', async () => {
    const folder = await temporaryFolder();
    writeFileSync(path.join(folder, 'file'), '');
    const unwritable = new ServeProcess(path.join(folder, 'file', 'data'));
    await unwritable.ended();
    expect(unwritable.exitCode).to.equal(4);
    writeFileSync(path.join(folder, 'fountain.db'), 'nonsense '.repeat(1000));
    const damaged = new ServeProcess(folder);
    await damaged.ended();
    expect(damaged.exitCode).to.equal(6);
    expect(damaged.stderr.split('\n')).to.have.length(2);
  });

  for (const args of [['--port', 'http'], ['--port', '65536'], ['--heartbeat', 'soon'], ['--stream-idle', '-1'], ['--log-level', 'loud']]) {
    it(`should start nothing when called with ${args.join(' ')}`, async () => {
      const server = new ServeProcess(await temporaryFolder(), args);
      await server.ended();
      expect(server.exitCode).to.not.equal(0);
      expect(server.stderr).to.include(args[0]).and.not.include('listens');
    });
  }

  it('should take the variables of the contract', async () => {
    const server = new ServeProcess(await temporaryFolder(), [], { SANDBOX_IDLE_TIMEOUT_MINUTES: 'often' });
    await server.ended();
    expect(server.stderr).to.include('SANDBOX_IDLE_TIMEOUT_MINUTES');
    expect(server.exitCode).to.equal(1);
  });

  it('should end by itself when nobody uses it', async () => {
    const server = new ServeProcess(await temporaryFolder(), ['--idle-exit', '0.5']);
    await server.listening();
    await server.ended();
    expect(server.exitCode).to.equal(0);
    expect(server.stderr).to.include('nobody has used this instance');
  });
});
