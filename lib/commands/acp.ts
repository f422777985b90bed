import { Command, Option } from 'clipanion';
import { profileOption } from './options.ts';
import { runAcp } from './runAcp.ts';

/** `fountain acp`: the process that an ACP client spawns. */
export class AcpCommand extends Command {
  static override readonly paths = [['acp']];
  static override readonly usage = Command.Usage({
    description: 'hold a conversation on a Fountain instance for an ACP client, over stdio',
    details: `
      Spawned by an ACP client, it speaks JSON-RPC on stdin and stdout, and drives a conversation with the agent on the
      instance. The conversation lives there: closing the client stops nothing.

      Credentials come from FOUNTAIN_API_KEY and FOUNTAIN_BASE_URL, or from the profile that "fountain auth login" saved.
      With --local there is nothing to set up.

      stdout carries the protocol and nothing else. Diagnostics go to stderr, which the client's log shows.
    `,
    examples: [
      ['Run on this machine, with no account', 'fountain acp --local'],
      ['Reach an agent of the instance that you logged in to', 'fountain acp --agent coder'],
      ['Be asked before the agent runs a command', 'fountain acp --agent coder --permission execute=ask'],
      ['Use other credentials and secrets', 'fountain acp --agent coder --profile work --vault bot-identity'],
    ],
  });

  readonly agent = Option.String('--agent', { description: 'The agent that each session runs, by name or id' });
  readonly vault = Option.String('--vault', { description: 'A vault to attach to each conversation, by name or id' });
  readonly environment = Option.String('--environment', { description: "An environment in place of the agent's own, by name or id" });
  readonly sandboxMode = Option.String('--sandbox-mode', { description: 'Where conversations run: ephemeral or persistent' });
  readonly sandbox = Option.String('--sandbox', { description: 'A sandbox to attach conversations to, by id' });
  readonly permission = Option.String('--permission', {
    description: 'What happens before a tool runs: ask, auto_deny or auto_allow; or for single kinds, as in execute=ask,edit=auto_deny',
  });
  readonly logLevel = Option.String('--log-level', 'info', { description: 'How much goes to stderr: debug, info, warn or error' });
  readonly local = Option.Boolean('--local', false, { description: "Use this user's own instance; it is started where it does not run" });
  readonly drain = Option.Boolean('--drain', false, { description: 'Answer everything in flight after the end of input' });
  readonly profile = profileOption();

  override execute(): Promise<number> {
    const { agent, vault, environment, sandboxMode, sandbox, permission, logLevel, profile, local, drain } = this;
    return runAcp({ agent, vault, environment, sandboxMode, sandbox, permission, logLevel, profile, local, drain }, this.context);
  }
}
