import { expect } from 'chai';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { detectRuntimes, resolveRuntime } from '../../lib/instance/runtimes.ts';

describe('runtimes', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'runtimes-'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function install(name: string, mode = 0o755): string {
    const file = path.join(folder, name);
    writeFileSync(file, '#!/bin/sh\n');
    chmodSync(file, mode);
    return file;
  }

  function environment(changes: Record<string, string> = {}): Record<string, string> {
    return { PATH: ['/nowhere', folder].join(path.delimiter), ...changes };
  }

  describe('resolveRuntime', () => {
    for (const [runtime, program, args] of [
      ['claude', 'claude-agent-acp', []],
      ['claude', 'claude-code-acp', []],
      ['codex', 'codex-acp', []],
      ['gemini', 'gemini', ['--acp']],
      ['opencode', 'opencode', ['acp']],
    ] as const) {
      it(`should run ${runtime} as ${program} when that is on PATH`, () => {
        const command = install(program);
        expect(resolveRuntime(runtime, null, environment())).to.deep.equal({ command, args, env: {} });
      });

      it(`should say how to install ${program} when it is missing`, () => {
        install(program, 0o644);
        mkdirSync(path.join(folder, 'bin', program), { recursive: true });
        const search = { PATH: `${folder}:${path.join(folder, 'bin')}` };
        expect(() => resolveRuntime(runtime, null, search)).to.throw(new RegExp(`the ${runtime} runtime .*"${program}".* on PATH\\. Install it with "npm install -g .*FOUNTAIN_RUNTIME_${runtime.toUpperCase()}`));
      });
    }

    it('should prefer the configured command', () => {
      install('gemini');
      const command = install('gemini-old');
      const configured = environment({ FOUNTAIN_RUNTIME_GEMINI: 'DEBUG=1 gemini-old --experimental-acp' });
      expect(resolveRuntime('gemini', null, configured)).to.deep.equal({ command, args: ['--experimental-acp'], env: { DEBUG: '1' } });
      expect(() => resolveRuntime('gemini', null, environment({ FOUNTAIN_RUNTIME_GEMINI: 'gone' }))).to.throw('FOUNTAIN_RUNTIME_GEMINI names "gone"');
    });

    it('should run any command line as acp', () => {
      const command = install('my-agent');
      expect(resolveRuntime('acp', `my-agent --say 'a b'`, environment())).to.deep.equal({ command, args: ['--say', 'a b'], env: {} });
      expect(resolveRuntime('acp', './tool --x', environment())).to.deep.equal({ command: './tool', args: ['--x'], env: {} });
      expect(() => resolveRuntime('acp', 'no-agent', environment())).to.throw('runtime_command names "no-agent", and there is no such program on PATH');
      expect(() => resolveRuntime('acp', null, environment())).to.throw('runtime_command holds no command');
    });

    it('should run its own programs with this Node', () => {
      expect(resolveRuntime('fountain-fixture', null, {})).to.deep.equal({ command: process.execPath, args: ['.fountain-acp-fixture.mjs'], env: {} });
      expect(resolveRuntime('demo', null, {}).command).to.equal(process.execPath);
    });

    it('should not know others', () => {
      expect(() => resolveRuntime('toString', null, {})).to.throw('there is no runtime "toString"');
    });
  });

  describe('detectRuntimes', () => {
    it('should name the coding agents that can be run', () => {
      expect(detectRuntimes(environment())).to.deep.equal([]);
      install('opencode');
      install('claude-code-acp');
      expect(detectRuntimes(environment())).to.deep.equal(['claude', 'opencode']);
      expect(detectRuntimes(environment({ FOUNTAIN_RUNTIME_CODEX: 'opencode x', FOUNTAIN_RUNTIME_CLAUDE: `'` }))).to.deep.equal(['codex', 'opencode']);
      expect(detectRuntimes({})).to.deep.equal([]);
    });
  });
});
