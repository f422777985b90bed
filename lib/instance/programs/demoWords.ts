import type { DemoTurn } from './demoTurn.ts';
import { CallError } from './stdioPeer.ts';

/** Longest `slow`, in seconds. */
const maxSeconds = 3600;

/** Most chunks of a `long`. */
const maxChunks = 100_000;

/** A word that the demo agent knows; it returns the turn's stop reason. */
interface Word {
  readonly name: string;
  readonly description: string;
  /** What stands behind the word, for a reader. */
  readonly hint?: string;
  readonly play: (turn: DemoTurn, argument: number) => Promise<'end_turn' | 'refusal'>;
}

const words: readonly Word[] = [
  {
    name: 'help',
    description: 'says what the demo agent does',
    play: async (turn) => {
      const known = words.map(({ name, hint, description }) => `- \`${[name, hint].filter(Boolean).join(' ')}\`: ${description}\n`);
      await turn.tell(`I am the demo agent. Ask me anything, and I show a plan, an edit, a command and an answer. I also know:\n\n${known.join('')}`);
      return 'end_turn';
    },
  },
  {
    name: 'long',
    hint: 'N',
    description: 'streams N chunks of text',
    play: async (turn, argument) => {
      const chunks = Math.min(argument || 100, maxChunks);
      for (let chunk = 1; chunk <= chunks; chunk += 1) await turn.say(`${chunk} of ${chunks}\n`);
      return 'end_turn';
    },
  },
  {
    name: 'slow',
    hint: 'SECONDS',
    description: 'thinks for so long, and can be cancelled',
    play: async (turn, argument) => {
      const seconds = Math.min(argument || 10, maxSeconds);
      await turn.say(`I take ${seconds} s. Cancel me if that is too long.\n`);
      for (let left = seconds; left > 0; left -= 1) {
        await turn.think(`${left} s left. `);
        await turn.pause(Math.min(left, 1) * 1000);
      }
      await turn.say('Done.\n');
      return 'end_turn';
    },
  },
  {
    name: 'ask',
    description: 'asks you for permission, and says what you chose',
    play: async (turn) => {
      const toolCall = { toolCallId: 'ask', title: 'make coffee', kind: 'execute', status: 'pending', rawInput: { command: 'make coffee' } };
      await turn.update({ sessionUpdate: 'tool_call', ...toolCall });
      const chosen = await turn.ask(toolCall, [
        { optionId: 'once', name: 'Allow once', kind: 'allow_once' },
        { optionId: 'always', name: 'Allow always', kind: 'allow_always' },
        { optionId: 'no', name: 'Reject', kind: 'reject_once' },
      ]);
      const allowed = chosen !== null && chosen['optionId'] !== 'no';
      await turn.update({ sessionUpdate: 'tool_call_update', toolCallId: 'ask', status: allowed ? 'completed' : 'failed' });
      await turn.tell(chosen === null ? 'You chose none of my options, so I leave it.\n' : `You chose: ${String(chosen['name'])}.\n`);
      return 'end_turn';
    },
  },
  {
    name: 'fail',
    description: 'ends the turn with an error',
    play: async (turn) => {
      await turn.say('I was asked to fail, so I do.\n');
      throw new CallError(-32603, 'the demo agent was asked to fail');
    },
  },
  {
    name: 'refuse',
    description: 'ends the turn with a refusal',
    play: async (turn) => {
      await turn.say('I would rather not.\n');
      return 'refusal';
    },
  },
  {
    name: 'crash',
    description: 'ends the program in the middle of the turn',
    play: async (turn) => {
      await turn.say('Here I end.\n');
      process.stderr.write('the demo agent was asked to crash\n');
      process.stdout.write('', () => process.exit(3));
      return new Promise<never>(() => undefined);
    },
  },
];

/** The words as the protocol's commands, for a client's menu. */
export const commands = words.map(({ name, description, hint }) => ({ name, description, ...(hint && { input: { hint } }) }));

/** Returns what plays the word that a prompt consists of, with or without a slash; null where it is none. */
export function wordOf(text: string): ((turn: DemoTurn) => Promise<'end_turn' | 'refusal'>) | null {
  const [, name, argument] = /^\/?([a-z]+)(?:\s+(\d+(?:\.\d+)?))?$/.exec(text.trim().toLowerCase()) ?? [];
  const word = words.find((known) => known.name === name);
  return word ? (turn) => word.play(turn, Number(argument ?? 0)) : null;
}
