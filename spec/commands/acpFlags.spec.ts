import { expect } from 'chai';
import { Cli, Command } from 'clipanion';
import fc from 'fast-check';
import { AcpCommand } from '../../lib/commands/acp.ts';
import { readPlainFlags, type AcpFlags } from '../../lib/commands/acpFlags.ts';
import { parsePermission } from '../../lib/commands/runAcp.ts';

/** What the command line's own library reads; undefined where it refuses, or is asked for help. */
function readByClipanion(args: readonly string[]): AcpFlags | undefined {
  const cli = new Cli({ binaryName: 'fountain' });
  cli.register(AcpCommand);
  let command: Command;
  try {
    command = cli.process(['acp', ...args], {});
  } catch {
    return undefined;
  }
  if (!(command instanceof AcpCommand) || command.help) return undefined;
  const { agent, vault, environment, sandboxMode, sandbox, permission, logLevel, profile, local, drain } = command;
  return { agent, vault, environment, sandboxMode, sandbox, permission, logLevel, profile, local, drain };
}

function said(flags: AcpFlags | undefined): object | undefined {
  return flags && { ...{ logLevel: 'info', local: false, drain: false }, ...Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined)) };
}

const names = ['--agent', '--vault', '--environment', '--sandbox-mode', '--sandbox', '--permission', '--log-level', '--profile', '--local', '--drain'];
const word = fc.oneof(
  fc.constantFrom(...names, '--', '-h', '--help', '--nope', '--no-local', '--local=true', '', '-x', 'acp', '--agent=', '--agent=--vault'),
  fc.tuple(fc.constantFrom(...names), fc.string()).map(([name, value]) => `${name}=${value}`),
  fc.string(),
);

describe('readPlainFlags', () => {
  it('should read what clipanion reads, or leave the command line to it', () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), (args) => {
        const plain = readPlainFlags(args);
        if (plain !== undefined) expect(said(plain)).to.deep.equal(said(readByClipanion(args)));
      }),
      { seed: 7, numRuns: Number(process.env['FUZZ_RUNS'] ?? 300) },
    );
  });

  it('should read every flag itself where it is written plainly', () => {
    for (const name of names) {
      const args = ['--local', '--drain'].includes(name) ? [name] : [name, 'x'];
      expect(said(readPlainFlags(args)), name).to.deep.equal(said(readByClipanion(args))).and.not.to.equal(undefined);
    }
    expect(readPlainFlags(['--agent=a=b', '--local', '--agent', 'c'])).to.deep.equal({ agent: 'c', local: true });
  });

  for (const args of [['--help'], ['-h'], ['--nope'], ['word'], ['--agent'], ['--agent', '--vault'], ['--agent', ''], ['--local=x'], ['--']]) {
    it(`should leave "${args.join(' ')}" to clipanion`, () => expect(readPlainFlags(args)).to.equal(undefined));
  }
});

describe('parsePermission', () => {
  it('should take one verdict for everything', () => expect(parsePermission('ask')).to.deep.equal({ default: 'ask' }));
  it('should take pairs, whose keys may hold "=" and spaces', () =>
    expect(parsePermission(' execute=ask , npm run a=b=auto_deny,auto_allow')).to.deep.equal({ execute: 'ask', 'npm run a=b': 'auto_deny', default: 'auto_allow' }));
  it('should take nothing for no policy', () => expect(parsePermission(' , ')).to.equal(undefined));
  it('should say which verdicts there are', () => expect(() => parsePermission('execute=maybe')).to.throw(/"maybe" is no verdict; there are auto_allow, ask, auto_deny/));
  it('should refuse a pair without a key', () => expect(() => parsePermission('=ask')).to.throw(/names no tool/));
});
