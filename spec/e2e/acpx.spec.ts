import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { launcher } from '../support/acpProcess.ts';
import { ServedInstance } from '../support/servedInstance.ts';

const require = createRequire(import.meta.url);
const acpx = path.join(path.dirname(require.resolve('acpx/package.json')), 'dist', 'cli.js');
const echoAgent = new URL('../../fixtures/echo-agent.mjs', import.meta.url).pathname;

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A client that we did not write, as its users run it: acpx spawns the built adapter, which talks to the embedded instance. */
describe('fountain acp, acpx as its client and fountain serve as its instance', () => {
  const instance = new ServedInstance();
  const home = mkdtempSync(path.join(tmpdir(), 'fountain-spec-acpx-'));

  /** Runs acpx with the adapter as its agent. */
  async function run(flags: readonly string[], words: readonly string[], agent = 'echo'): Promise<Outcome> {
    const command = `${process.execPath} ${launcher} acp --agent ${agent} --permission ask`;
    const env = { ...instance.env, HOME: home };
    const child = spawn(process.execPath, [acpx, '--agent', command, '--ttl', '60', ...flags, ...words], { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString('utf8')));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, stdout, stderr };
  }

  async function conversations(): Promise<{ readonly status: string; readonly turn_count: number }[]> {
    return (await instance.request('GET', '/conversations'))['data'] as { status: string; turn_count: number }[];
  }

  before(async () => {
    await instance.ready();
    await instance.agent('echo', `${process.execPath} ${echoAgent}`);
  });
  after(async () => {
    await run([], ['sessions', 'close']);
    await instance.stop();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  });

  it('should answer a one-shot prompt', async () => {
    const { code, stdout, stderr } = await run(['--format', 'quiet'], ['exec', 'hello from acpx']);
    expect({ code, stdout: stdout.trim() }, stderr).to.deep.equal({ code: 0, stdout: 'echo: hello from acpx' });
  });

  for (const [flag, chosen] of [['--approve-all', 'go'], ['--deny-all', 'stop']] as const) {
    it(`should carry the answer of ${flag} to the program`, async () => {
      const { stdout } = await run([flag, '--format', 'quiet'], ['exec', 'ask please']);
      expect(stdout.trim()).to.equal(`echo: ask please; chosen: ${chosen}`);
    });
  }

  it('should speak nothing but the protocol', async () => {
    const { code, stdout, stderr } = await run(['--format', 'json', '--json-strict'], ['exec', 'hi']);
    expect(code, stderr).to.equal(0);
    const messages = stdout.trim().split('\n').map((line) => JSON.parse(line) as { method?: string; result?: { stopReason?: string } });
    expect(messages.at(-1)?.result).to.deep.equal({ stopReason: 'end_turn' });
    expect(messages.map(({ method }) => method)).to.include.members(['initialize', 'session/new', 'session/prompt', 'session/update']);
  });

  it('should fail in words when the turn failed', async () => {
    const { code, stdout, stderr } = await run(['--format', 'quiet'], ['exec', 'fail']);
    expect(code).to.equal(1);
    expect(stdout + stderr).to.contain('the turn failed');
  });

  it('should say what is wrong when the agent is not there', async () => {
    const { code, stdout, stderr } = await run([], ['exec', 'hi'], 'nobody');
    expect(code).not.to.equal(0);
    expect(stdout + stderr).to.contain('could not resolve agent "nobody"');
  });

  it('should show the whole turn of the demo agent', async () => {
    const { code, stdout, stderr } = await run(['--approve-all'], ['exec', 'show me'], 'demo');
    expect(code, stderr).to.equal(0);
    expect(stdout).to.contain('demo-notes.md').and.to.contain('end_turn');
  });

  it('should keep one session over prompts, a cancel, and a new process', async () => {
    expect((await run([], ['sessions', 'new'])).code).to.equal(0);
    const say = async (words: string): Promise<string> => (await run(['--format', 'quiet'], [words])).stdout.trim();
    expect(await say('one')).to.equal('echo: one');
    expect(await say('two')).to.equal('echo: two');

    const waiting = run(['--format', 'quiet'], ['wait']);
    while (!(await conversations()).some(({ status }) => status === 'running'));
    expect((await run([], ['cancel'])).stdout).to.contain('cancel requested');
    expect((await waiting).code).to.equal(0);

    const owner = /^pid: (\d+)$/m.exec((await run([], ['status'])).stdout)?.[1];
    process.kill(Number(owner), 'SIGKILL');
    expect(await say('three')).to.equal('echo: three');
    expect((await conversations()).map(({ turn_count: count }) => count)).to.include(4);
  }).timeout(30_000);
});
