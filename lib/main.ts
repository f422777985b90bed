import { globalFlagsLast } from './arguments.ts';
import { readPlainFlags } from './commands/acpFlags.ts';
import { runAcp, type Streams } from './commands/runAcp.ts';
import { firstLine, isUsageError, usageExitCode, usageWords } from './usage.ts';
import { version } from './version.ts';

/** How long the last words may take to leave, in milliseconds. */
const flushMs = 1_000;

/** Ends the process when what was written has left it: `process.exit` alone loses what a pipe has not taken yet. */
function exit(code: number): void {
  process.exitCode = code;
  setTimeout(() => process.exit(code), flushMs).unref();
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
}

function onFault(error: unknown): void {
  process.stderr.write(`fountain: a fault of fountain ${version}: ${firstLine(error)}; please report it\n`);
  exit(1);
}

/** The adapter is started without the other commands, since an editor waits for it. */
async function start(args: readonly string[], streams: Streams): Promise<number> {
  const flags = args[0] === 'acp' ? readPlainFlags(args.slice(1)) : undefined;
  if (flags === undefined) {
    const { runAnyCommand } = await import('./commands/all.ts');
    return runAnyCommand({ args, ...streams });
  }
  try {
    return await runAcp(flags, streams);
  } catch (error) {
    if (!isUsageError(error)) throw error;
    streams.stderr.write(usageWords(error));
    return usageExitCode;
  }
}

process.on('uncaughtException', onFault);
process.on('unhandledRejection', onFault);
// Whoever closed the other end of these has left; the pipeline knows what to do then.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);

const { stdin, stdout, stderr } = process;
void start(globalFlagsLast(process.argv.slice(2)), { stdin, stdout, stderr }).then(exit, onFault);
