import type { Readable, Writable } from 'node:stream';
import { Builtins, Cli, type BaseContext } from 'clipanion';
import { AcpCommand } from './commands/acp.ts';
import { ServeCommand } from './commands/serve.ts';
import { describe } from './protocol/errors.ts';
import { version } from './version.ts';

/** The process's streams and what it was called with. */
export interface CliOptions {
  readonly args: readonly string[];
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** Exit code of a call that can't be understood. */
const usageExitCode = 2;

/**
 * Runs the command that the arguments name.
 *
 * What clipanion has to say goes to stdout only where it was asked for: the stdout of `fountain acp` is the protocol's.
 *
 * @returns The exit code; 2 for arguments that can't be understood, told in one line on stderr.
 */
export async function runCli({ args, stdin, stdout, stderr }: CliOptions): Promise<number> {
  const cli = new Cli({ binaryName: 'fountain', binaryLabel: 'fountain', binaryVersion: version });
  for (const command of [Builtins.HelpCommand, Builtins.VersionCommand, AcpCommand, ServeCommand]) cli.register(command);
  const context: BaseContext = { env: process.env, stdin, stdout, stderr, colorDepth: 1 };
  try {
    const command = cli.process(globalFlagsLast(args), context);
    if (command.help) {
      stdout.write(cli.usage(command, { detailed: true }));
      return 0;
    }
    return await command.validateAndExecute();
  } catch (error) {
    stderr.write(`fountain: ${usageWords(error)}\n`);
    return usageExitCode;
  }
}

/** Flags of every command may stand before its name. */
function globalFlagsLast(args: readonly string[]): string[] {
  const [first = '', second, ...rest] = args;
  if (first.startsWith('--profile=')) return [...args.slice(1), first];
  return first === '--profile' && second !== undefined ? [...globalFlagsLast(rest), first, second] : [...args];
}

/** Clipanion shows the usage behind its message; one line is enough, and names the way to more. */
function usageWords(error: unknown): string {
  const [line = ''] = describe(error).split('\n');
  return `${line.trim().replace(/[.:]$/, '')}; see "fountain --help"`;
}
