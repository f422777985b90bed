import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startHarness, type Harness, type HarnessOptions } from '../../../lib/instance/harness/harness.ts';
import type { ModelEvent } from '../../../lib/instance/harness/selectModel.ts';
import { fixtureProgram } from '../../../lib/instance/programs/installedPrograms.ts';
import { fixtureFile, resolveRuntime } from '../../../lib/instance/runtimes.ts';

describe('the built-in programs under startHarness', () => {
  let cwd: string;
  let lines: string[];
  let models: ModelEvent[];
  let harness: Harness | null;

  beforeEach(() => {
    cwd = mkdtempSync(path.join(tmpdir(), 'builtin-'));
    [lines, models, harness] = [[], [], null];
    writeFileSync(path.join(cwd, fixtureFile), fixtureProgram().text);
  });

  afterEach(async () => {
    await harness?.stop();
    rmSync(cwd, { recursive: true, force: true });
  });

  async function start(runtime: string, changes: Partial<HarnessOptions> = {}): Promise<Harness> {
    await harness?.stop();
    const { command, args, env } = resolveRuntime(runtime, null, {});
    harness = await startHarness(
      {
        command,
        args,
        cwd,
        env: { ...env, FOUNTAIN_DEMO_DELAY_MS: '0' },
        runtimeSessionId: null,
        model: null,
        onMessage: (line) => lines.push(line),
        onPermission: ({ raw }) => {
          const options = raw['options'] as readonly { optionId: string; kind: string }[];
          return Promise.resolve({ outcome: { outcome: 'selected', optionId: options.find(({ kind }) => kind === 'allow_once')!.optionId } });
        },
        onStdout: (text) => lines.push(text),
        onStderr: (text) => lines.push(text),
        onModel: (event) => models.push(event),
        ...changes,
      },
      new AbortController().signal,
    );
    return harness;
  }

  function scenario(name: string): { text: string; images: [] } {
    return { text: JSON.stringify({ fixture: 'fountain-acp-fixture/1', scenario: name, nonce: randomUUID(), delay_ms: 0 }), images: [] };
  }

  /** What the agent said: the text of its message chunks. */
  function said(): string {
    return lines.map((line) => /"agent_message_chunk".*"text":"((?:[^"\\]|\\.)*)"/.exec(line)?.[1] ?? '').join('');
  }

  it('should prompt the demo agent, stop it, and go on where it was', async () => {
    const first = await start('demo');
    expect(await first.prompt({ text: 'hello', images: [] })).to.deep.equal({ kind: 'stop', stopReason: 'end_turn' });
    expect(existsSync(path.join(cwd, 'demo-notes.md'))).to.equal(true);
    const second = await start('demo', { runtimeSessionId: first.runtimeSessionId });
    expect(second).to.include({ start: 'resumed', runtimeSessionId: first.runtimeSessionId });
    lines = [];
    await second.prompt({ text: 'again', images: [{ data: 'AAAA', media_type: 'image/png' }] });
    expect(said()).to.contain('This is turn 2').and.to.contain('image/png');
  });

  it('should run the fixture with its one model, cancel its wait, and resume it', async () => {
    const first = await start('fountain-fixture', { model: 'fixture/deterministic-v1' });
    expect(models).to.deep.equal([{ state: 'done', requested: 'fixture/deterministic-v1', effective: 'fixture/deterministic-v1', detail: null }]);
    expect(await first.prompt(scenario('permission'))).to.deep.include({ kind: 'stop', stopReason: 'end_turn' });
    const waiting = first.prompt(scenario('wait'));
    while (!lines.some((line) => line.includes('fixture:started:wait'))) await new Promise((resolve) => setTimeout(resolve, 5));
    first.cancel();
    expect(await waiting).to.deep.include({ kind: 'stop', stopReason: 'cancelled' });
    expect(await first.prompt(scenario('fail'))).to.deep.equal({ kind: 'error', reason: 'the prompt asked for a failure' });
    expect(await start('fountain-fixture', { runtimeSessionId: first.runtimeSessionId })).to.include({ start: 'resumed' });
    expect(await start('fountain-fixture', { runtimeSessionId: randomUUID() })).to.include({ start: 'session_gone' });
  });
});
