import { Command } from 'clipanion';

/** `fountain --help`, or no arguments: what there is, a line a command. */
export class HelpCommand extends Command {
  static override readonly paths = [Command.Default, ['--help'], ['-h'], ['help']];

  override execute(): Promise<number> {
    const entries = this.cli
      .definitions()
      .filter(({ path }) => !path.includes('-'))
      .map(({ path, description = '' }) => ({ path, words: description.trim() }));
    const width = Math.max(...entries.map(({ path }) => path.length));
    const lines = [
      `fountain ${this.cli.binaryVersion ?? ''}: conversations with coding agents that live on a Fountain instance`,
      '',
      'Usage: fountain [--profile NAME] COMMAND [FLAGS]',
      '',
      ...entries.map(({ path, words }) => `  ${path.padEnd(width)}  ${words}`),
      '',
      'Start here, with no account:  fountain acp --local   (the entry for an editor)',
      'More about a command:         fountain COMMAND --help',
    ];
    // Where no command was named, whoever reads stdout may expect a protocol there.
    const asked = this.path.length > 0;
    (asked ? this.context.stdout : this.context.stderr).write(`${lines.join('\n')}\n`);
    return Promise.resolve(asked ? 0 : 2);
  }
}
