import { callsAdapter, globalFlagsLast } from './arguments.ts';
import { runCli, type CliOptions } from './cli.ts';
import { AcpCommand } from './commands/acp.ts';
import { describe } from './protocol/errors.ts';
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
  process.stderr.write(`fountain: a fault of fountain ${version}: ${describe(error).split('\n')[0] ?? ''}; please report it\n`);
  exit(1);
}

async function start(options: CliOptions): Promise<number> {
  if (callsAdapter(options.args)) return runCli([AcpCommand], options);
  const { runAnyCommand } = await import('./commands/all.ts');
  return runAnyCommand(options);
}

process.on('uncaughtException', onFault);
process.on('unhandledRejection', onFault);
// Whoever closed the other end of these has left; the pipeline knows what to do then.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);

const { stdin, stdout, stderr } = process;
void start({ args: globalFlagsLast(process.argv.slice(2)), stdin, stdout, stderr }).then(exit, onFault);
