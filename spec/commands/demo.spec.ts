import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { launcher } from '../support/acpProcess.ts';

describe('fountain demo', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'fountain-spec-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  async function demo(...args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const child = spawn(process.execPath, [launcher, 'demo', ...args], { env: { ...process.env, TMPDIR: folder }, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString('utf8')));
    child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString('utf8')));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, ...output };
  }

  it('should show a whole turn, from the prompt to its stop reason, and the conversation reopened', async () => {
    const { code, stdout } = await demo();
    expect(code).to.equal(0);
    const labels = ['session', 'prompt', 'thought', 'plan', 'tool', 'asks', 'agent', 'stop', 'replayed'];
    const places = labels.map((label) => stdout.search(new RegExp(`^${label} `, 'm')));
    expect(places).to.deep.equal([...places].sort((one, other) => one - other)).and.not.to.contain(-1);
    expect(stdout).to.match(/^stop +end_turn$/m);
  });

  it('should prompt with what it is given, and say how a turn that fails ends', async () => {
    const { code, stdout, stderr } = await demo('fail');
    expect(code).to.equal(1);
    expect(stdout).to.match(/^prompt +fail$/m).and.not.to.match(/^stop /m);
    expect(stderr).to.match(/^fountain: .*fail/m).and.not.to.match(/\n\s+at /);
  });

  it('should leave neither a folder nor a server behind', async () => {
    await demo('help');
    expect(readdirSync(folder).filter((name) => name.startsWith('fountain-demo-'))).to.deep.equal([]);
  });
});
