import type { CommandClass } from 'clipanion';
import { runCli, type CliOptions } from '../cli.ts';
import { AcpCommand } from './acp.ts';
import { DemoCommand } from './demo/command.ts';
import { HelpCommand } from './help.ts';
import { ServeCommand } from './serve.ts';

/** Every command, in the order in which help lists them. Each loads what it works with when it runs. */
const commands: readonly CommandClass[] = [HelpCommand, AcpCommand, ServeCommand, DemoCommand];

/** Runs any command, help included; returns its exit code. */
export function runAnyCommand(options: CliOptions): Promise<number> {
  return runCli(commands, options);
}
