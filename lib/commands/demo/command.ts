import { Command, Option } from 'clipanion';

/** `fountain demo`: the main job, shown. */
export class DemoCommand extends Command {
  static override readonly paths = [['demo']];
  static override readonly usage = Command.Usage({
    description: 'watch an ACP client hold a conversation through fountain acp, with nothing to set up',
    details: `
      An ACP client starts "fountain acp --local" as an editor would, opens a session with the built-in agent, prompts it
      and prints every frame's meaning as it comes. Then a second client reopens the conversation. It all happens in a
      folder of its own, which is gone afterwards.
    `,
    examples: [
      ['Watch it', 'fountain demo'],
      ['Say something yourself; "help" tells what the agent knows', 'fountain demo "slow 5"'],
    ],
  });

  readonly prompt = Option.String({ required: false });

  override async execute(): Promise<number> {
    const { demo } = await import('./demo.ts');
    const { stdout, stderr } = this.context;
    return demo({ prompt: this.prompt ?? 'Show me what a client can see', stdout, stderr });
  }
}
