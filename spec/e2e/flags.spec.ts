import { expect } from 'chai';
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { launcher } from '../support/acpProcess.ts';
import { scene } from '../support/scene.ts';

/** A mistake on the command line is one line on stderr and exit code 2, before anything is written to stdout. */
describe('fountain acp: flags', () => {
  const mistakes: readonly [readonly string[], readonly (string | RegExp)[]][] = [
    [['--agent'], ['--agent']],
    [['--agent', 'coder', '--vault'], ['--vault']],
    [['--agent', 'coder', '--permission'], ['--permission']],
    [['--agnet', 'coder'], ['--agnet']],
    [['--agent', 'coder', '--wat'], ['--wat']],
    [['-x'], ['-x']],
    [['--agent', 'coder', 'stray'], ['stray']],
    [['--agent', 'coder', '--log-level', 'loud'], ['loud', /debug/, /error/]],
    [['--agent', 'coder', '--log-level', ''], [/log-level/]],
    [['--agent', 'coder', '--sandbox-mode', 'forever'], ['forever', 'persistent', 'ephemeral']],
    [['--agent', 'coder', '--permission', 'perhaps'], ['perhaps', 'ask', 'auto_deny', 'auto_allow']],
    [['--agent', 'coder', '--permission', 'execute=perhaps'], ['perhaps']],
    [['--agent', 'coder', '--permission', 'execute=ask,edit=allow'], ['allow']],
    [['--agent', 'coder', '--permission', '=ask'], [/key|name|empty/]],
    [['--agent', 'coder', '--permission', 'execute=ask, =auto_deny'], [/key|name|empty/]],
    [['--agent', 'coder', '--permission', 'execute='], [/execute|verdict/]],
  ];
  it('should end with 2, one line on stderr and nothing on stdout, over every mistake', scene(async ({ client, launch }) => {
    client.process.endInput();
    await client.process.exit();
    const tries = mistakes.map(([args, words]) => ({ args, words, tried: launch({ args }) }));
    for (const { args, words, tried } of tries) {
      const about = args.join(' ');
      expect((await tried.process.exit()).code, about).to.equal(2);
      expect(tried.messages, about).to.deep.equal([]);
      expect(tried.stderr.trimEnd().split('\n'), `${about}: ${tried.stderr}`).to.have.lengthOf(1);
      for (const word of words) expect(tried.stderr, about).to.match(typeof word === 'string' ? new RegExp(word.replaceAll('-', '\\-')) : word);
    }
  })).timeout(30_000);

  const sound: readonly (readonly string[])[] = [
    ['--agent=coder'],
    ['--agent', 'coder', '--log-level', 'warning'],
    ['--agent', 'coder', '--log-level', 'warn'],
    ['--agent', 'coder', '--log-level=error'],
    ['--agent', 'coder', '--sandbox-mode', 'ephemeral', '--sandbox', 'x'],
    ['--agent', 'coder', '--permission', 'ask'],
    ['--agent', 'coder', '--permission', ''],
    ['--agent', 'coder', '--permission', 'make test=ask,execute = auto_deny ,default=auto_allow'],
    ['--log-level', 'debug', '--agent', 'coder'],
  ];
  it('should take every sound spelling', scene(async ({ launch }) => {
    const tries = sound.map((args) => ({ args, tried: launch({ args }) }));
    for (const { args, tried } of tries) {
      await tried.initialize();
      expect(await tried.newSession(), args.join(' ')).not.to.equal('');
      tried.process.endInput();
      await tried.process.exit();
    }
  })).timeout(30_000);

  it('should start whatever FOUNTAIN_STREAM_IDLE_TIMEOUT holds', scene(async ({ launch }) => {
    for (const value of ['', '0', '-5', 'soon', '1e9', '3.5']) {
      const client = launch({ env: () => ({ FOUNTAIN_STREAM_IDLE_TIMEOUT: value }) });
      const sessionId = await client.open();
      expect(await client.prompt(sessionId).stopReason(), value).to.equal('end_turn');
    }
  }));

  it('should say least when told to, and most when told to', scene(async ({ launch }) => {
    const lengths: Record<string, number> = {};
    for (const level of ['error', 'debug']) {
      const client = launch({ args: ['--agent', 'coder', '--log-level', level] });
      const sessionId = await client.open({ fs: { readTextFile: true, writeTextFile: true }, terminal: true });
      await client.prompt(sessionId, [{ type: 'text', text: 'x' }, { type: 'audio', data: '', mimeType: '' }]).result();
      client.process.endInput();
      await client.process.exit();
      lengths[level] = client.stderr.length;
    }
    expect(lengths['error']).to.equal(0);
    expect(lengths['debug']).to.be.greaterThan(0);
  }));
});

/** What is asked for is answered on stdout, and what cannot be understood on stderr. */
describe('fountain: help', () => {
  const run = (...args: readonly string[]): SpawnSyncReturns<string> => spawnSync(process.execPath, [launcher, ...args], { encoding: 'utf8' });

  for (const args of [['--help'], ['-h'], ['acp', '--help'], ['serve', '--help'], ['--version']]) {
    it(`should answer "fountain ${args.join(' ')}" on stdout`, () => {
      const { status, stdout, stderr } = run(...args);
      expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
      expect(stdout).to.match(args.includes('--version') ? /\d+\.\d+/ : args[0] === 'acp' ? /--agent/ : /acp|--port/);
    });
  }

  it('should show what there is on stderr when no command is named, since whoever reads stdout may expect the protocol', () => {
    const { status, stdout, stderr } = run();
    expect({ status, stdout }).to.deep.equal({ status: 2, stdout: '' });
    expect(stderr).to.match(/fountain acp/).and.to.match(/--help/);
  });

  for (const args of [['acpp'], ['--agent', 'coder'], ['acp', '--agent', 'coder', 'acp']]) {
    it(`should refuse "fountain ${args.join(' ')}" in one line`, () => {
      const { status, stdout, stderr } = run(...args);
      expect(status).to.equal(2);
      expect(stdout).to.equal('');
      expect(stderr.trimEnd().split('\n')).to.have.lengthOf(1);
    });
  }
});
