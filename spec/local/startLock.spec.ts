import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { takeStartLock } from '../../lib/local/startLock.ts';

describe('takeStartLock', () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'lock-'));
    file = path.join(folder, 'start.lock');
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('should be held by one at a time, and leave nothing behind', () => {
    const first = takeStartLock(file);
    expect(takeStartLock(file)).to.equal(null);
    first?.release();
    const second = takeStartLock(file);
    expect(second).to.not.equal(null);
    first?.release();
    expect(takeStartLock(file)).to.equal(null);
    second?.release();
    expect(readdirSync(folder)).to.deep.equal([]);
  });

  it('should take over a lock that is too old, junk or of a process that has ended', () => {
    for (const content of [`${2 ** 22 + 1} token`, '', 'junk']) {
      writeFileSync(file, content);
      const lock = takeStartLock(file);
      expect(lock, content).to.not.equal(null);
      lock?.release();
    }
    writeFileSync(file, `${process.pid} token`);
    const longAgo = new Date(Date.now() - 120_000);
    utimesSync(file, longAgo, longAgo);
    expect(takeStartLock(file)).to.not.equal(null);
    expect(readdirSync(folder)).to.deep.equal(['start.lock']);
  });

  it('should let one in at a time when every holder dies without giving it back', async () => {
    const client = fileURLToPath(new URL('lockClient.ts', import.meta.url));
    const statuses = Array.from({ length: 10 }, () => {
      const child = spawn(process.execPath, ['--import', 'tsx', client, file], { stdio: ['ignore', 'ignore', 'inherit'] });
      return new Promise((resolve) => child.once('close', resolve));
    });
    expect(await Promise.all(statuses)).to.deep.equal(Array(10).fill(0));
  }).timeout(30_000);
});
