import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { JsonObject } from '../../protocol/jsonrpc.ts';
import type { DemoPrompt, DemoTurn } from './demoTurn.ts';

/** The file that the demo agent writes in its working folder. */
export const notesName = 'demo-notes.md';

const steps = ['Read the prompt', `Write it down in ${notesName}`, 'Count the notes', 'Answer'];

const editOptions = [
  { optionId: 'allow', name: 'Allow', kind: 'allow_once' },
  { optionId: 'allow-turn', name: 'Allow for this turn', kind: 'allow_always' },
  { optionId: 'reject', name: 'Reject', kind: 'reject_once' },
];

/**
 * Plays the usual turn: everything that a client can show, around an answer to the prompt.
 *
 * Errors: rejects once the turn is cancelled, or where the working folder cannot be written.
 *
 * @param turnNumber - From 1, over the whole conversation.
 */
export async function show(turn: DemoTurn, prompt: DemoPrompt, folder: string, turnNumber: number): Promise<void> {
  await turn.think('A prompt. ');
  await turn.think(`I am the demo agent, so I show what I have: a plan, ${notesName} with a new line, a command, and an answer.`);
  await plan(turn, 0);
  await plan(turn, 1);
  const written = await writeNote(turn, prompt, folder, turnNumber);
  await plan(turn, 2);
  await count(turn, folder, turnNumber);
  await plan(turn, 3);
  await turn.tell(answer(prompt, turnNumber, written));
  await plan(turn, steps.length);
}

async function plan(turn: DemoTurn, current: number): Promise<void> {
  const entries = steps.map((content, index) => ({
    content,
    priority: 'medium',
    status: index < current ? 'completed' : index === current ? 'in_progress' : 'pending',
  }));
  await turn.update({ sessionUpdate: 'plan', entries });
}

/** Whether the note was written: it is not without permission. */
async function writeNote(turn: DemoTurn, prompt: DemoPrompt, folder: string, turnNumber: number): Promise<boolean> {
  const file = path.join(folder, notesName);
  const oldText = read(file);
  const newText = `${oldText ?? '# Notes of the demo agent\n\n'}${turnNumber}. ${excerpt(prompt.text, 80) || 'an image'}\n`;
  const toolCall = {
    toolCallId: `edit-${turnNumber}`,
    title: `Write ${notesName}`,
    kind: 'edit',
    status: 'pending',
    locations: [{ path: file, line: newText.split('\n').length - 1 }],
    content: [{ type: 'diff', path: file, oldText, newText }],
    rawInput: { path: file },
  };
  await turn.update({ sessionUpdate: 'tool_call', ...toolCall });
  if (!(await turn.ask(toolCall, editOptions))?.['kind']?.toString().startsWith('allow')) {
    await tool(turn, toolCall.toolCallId, 'failed', 'Nobody gave permission, so nothing was written.');
    return false;
  }
  await tool(turn, toolCall.toolCallId, 'in_progress');
  writeFileSync(file, newText);
  await tool(turn, toolCall.toolCallId, 'completed');
  return true;
}

async function count(turn: DemoTurn, folder: string, turnNumber: number): Promise<void> {
  const toolCallId = `count-${turnNumber}`;
  const command = `wc -l ${notesName}`;
  await turn.update({ sessionUpdate: 'tool_call', toolCallId, title: command, kind: 'execute', status: 'in_progress', rawInput: { command } });
  const notes = read(path.join(folder, notesName));
  if (notes === null) await tool(turn, toolCallId, 'failed', `wc: ${notesName}: No such file or directory`);
  else await tool(turn, toolCallId, 'completed', `${notes.split('\n').length - 1} ${notesName}`);
}

async function tool(turn: DemoTurn, toolCallId: string, status: string, text?: string): Promise<void> {
  const content: JsonObject = text === undefined ? {} : { content: [{ type: 'content', content: { type: 'text', text } }] };
  await turn.update({ sessionUpdate: 'tool_call_update', toolCallId, status, ...content });
}

function answer({ text, images }: DemoPrompt, turnNumber: number, written: boolean): string {
  const asked = text.trim() === '' ? '' : `You asked: ${excerpt(text, 300)}\n\n`;
  const seen = images.map(({ mediaType, bytes }) => `- an image, ${mediaType}, ${bytes} bytes\n`).join('');
  const noted = written ? `I wrote it down in \`${notesName}\`.` : `I was not allowed to write \`${notesName}\`, so I did not.`;
  return `${asked}${seen && `You sent:\n${seen}\n`}This is turn ${turnNumber} of our conversation. ${noted}\n\nI am the demo agent: I need no model and know nothing, but everything you see works as with a real agent. Say "help" for what else I do.\n`;
}

/** Returns a text on one line, cut at a word to at most so many characters. */
export function excerpt(text: string, maxLength: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (line.length <= maxLength) return line;
  const cut = line.slice(0, maxLength).toWellFormed();
  return `${cut.slice(0, cut.lastIndexOf(' ') > maxLength / 2 ? cut.lastIndexOf(' ') : maxLength - 1)}…`;
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
