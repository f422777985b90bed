import { Cli } from 'clipanion';
import { ServeCommand } from '../../../lib/commands/serve.ts';

const cli = Cli.from([ServeCommand], { binaryName: 'fountain' });
void cli.run(process.argv.slice(2), { ...Cli.defaultContext, stdout: process.stderr, stderr: process.stderr }).then((code) => {
  process.exitCode = code;
});
