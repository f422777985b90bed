import type { Readable, Writable } from 'node:stream';
import { Builtins, Cli, type BaseContext, type CommandClass } from 'clipanion';
import { firstLine, isUsageError, usageExitCode, usageWords } from './usage.ts';
import { version } from './version.ts';

/** The process's streams and what it was called with. */
export interface CliOptions {
  readonly args: readonly string[];
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/**
 * Runs the command that the arguments name, out of the given ones.
 *
 * What clipanion has to say goes to stdout only where it was asked for: the stdout of `fountain acp` is the protocol's.
 *
 * @returns The command's exit code; 2 for arguments that can't be understood and 1 for a command that threw, each told
 * in one line on stderr.
 */
export async function runCli(commands: readonly CommandClass[], { args, stdin, stdout, stderr }: CliOptions): Promise<number> {
  const enableColors = 'isTTY' in stdout && stdout.isTTY === true && !process.env['NO_COLOR'];
  const cli = new Cli({ binaryName: 'fountain', binaryLabel: 'fountain', binaryVersion: version, enableColors });
  for (const command of [Builtins.VersionCommand, ...commands]) cli.register(command);
  const context: BaseContext = { env: process.env, stdin, stdout, stderr, colorDepth: 1 };
  let fault: unknown;
  try {
    const command = cli.process([...args], context);
    // Clipanion would show a fault on stdout, with the usage behind it.
    command.catch = (error: unknown) => {
      fault = error ?? new Error('an unknown fault');
      return Promise.resolve();
    };
    const exitCode = await cli.run(command, context);
    if (fault === undefined) return exitCode;
  } catch (error) {
    stderr.write(parseWords(error, args));
    return usageExitCode;
  }
  stderr.write(isUsageError(fault) ? usageWords(fault) : `fountain: ${firstLine(fault)}\n`);
  return isUsageError(fault) ? usageExitCode : 1;
}

/** What clipanion says of a command that there is not goes on for lines, and names none. */
function parseWords(error: unknown, args: readonly string[]): string {
  const words = args.filter((argument) => !argument.startsWith('-')).slice(0, 2).join(' ');
  if (error instanceof Error && error.name === 'UnknownSyntaxError' && /^Command not found/.test(error.message)) {
    return usageWords(`there is no command "${words}"`);
  }
  return usageWords(error);
}
