import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { PROTOCOL_VERSION } from '@agentclientprotocol/sdk';
import { isAlive } from '../../local/processes.ts';
import { findRunningInstance } from '../../local/runningInstance.ts';
import { fountainCommand } from '../../local/startServer.ts';
import { connectClient, type Client } from './client.ts';
import { createUpdateWords, questionWords, type UpdateWords } from './updateWords.ts';

/** Options of {@link demo}. */
export interface DemoOptions {
  readonly prompt: string;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** Width of the labels, in characters. */
const labelWidth = 10;

/** How long the instance may take to end, in milliseconds. */
const endMs = 5_000;

/** Between two looks at whether it has, in milliseconds. */
const pollMs = 40;

/** Shows a whole conversation in a folder of its own; returns the exit code. */
export async function demo({ prompt, stdout, stderr }: DemoOptions): Promise<number> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'fountain-demo-'));
  const stopped = once(process, 'SIGINT').then(() => 130);
  try {
    return await Promise.race([show(folder, prompt, new Printer(stdout), stderr), stopped]);
  } finally {
    await endServer(folder);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function show(folder: string, prompt: string, printer: Printer, stderr: Writable): Promise<number> {
  const replayed: UpdateWords[] = [];
  const connect = (print: (words: UpdateWords) => void): Client => {
    const toWords = createUpdateWords();
    return connectClient([...fountainCommand(), 'acp', '--local', '--agent', 'demo', '--permission', 'ask'], { ...process.env, FOUNTAIN_LOCAL_DATA: folder }, {
      update: (update) => {
        const words = toWords(update);
        if (words) print(words);
      },
      question: (request) => {
        const chosen = request.options.find(({ kind }) => kind === 'allow_once')?.optionId ?? '';
        print(questionWords(request, chosen));
        return chosen;
      },
      diagnostics: (text) => stderr.write(text),
    });
  };

  printer.note('An ACP client starts "fountain acp --local". No instance runs yet, so that starts one.');
  const sessionId = await converse(connect((words) => printer.print(words)), prompt, printer);

  printer.note('That client has gone. Another one reopens the conversation, which lives on the instance.');
  await reopen(connect((words) => replayed.push(words)), sessionId);
  const said = replayed.filter(({ label }) => label === 'agent').map(({ words }) => words);
  printer.print({ label: 'replayed', words: `${replayed.length} updates, then the answer`, goesOn: false });
  printer.print({ label: 'agent', words: `${said.join('').split('\n')[0] ?? ''} …`, goesOn: false });

  printer.note('In an editor, the same command is the agent: fountain acp --local');
  return 0;
}

async function converse(client: Client, prompt: string, printer: Printer): Promise<string> {
  const { agent } = client;
  const { agentInfo } = await agent.request('initialize', { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
  printer.print({ label: 'adapter', words: `${agentInfo?.title ?? 'an agent'} ${agentInfo?.version ?? ''}`, goesOn: false });
  const { sessionId } = await agent.request('session/new', { cwd: process.cwd(), mcpServers: [] });
  printer.print({ label: 'session', words: sessionId, goesOn: false });
  printer.print({ label: 'prompt', words: prompt, goesOn: false });
  const { stopReason } = await agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: prompt }] });
  printer.print({ label: 'stop', words: stopReason, goesOn: false });
  await client.leave();
  return sessionId;
}

async function reopen(client: Client, sessionId: string): Promise<void> {
  await client.agent.request('initialize', { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
  await client.agent.request('session/load', { sessionId, cwd: process.cwd(), mcpServers: [] });
  await client.leave();
}

/** The instance of the demo would end by itself later; nobody needs it now. */
async function endServer(folder: string): Promise<void> {
  const running = await findRunningInstance(folder);
  if (running === null) return;
  process.kill(running.pid, 'SIGTERM');
  const deadline = Date.now() + endMs;
  while (isAlive(running.pid) && Date.now() < deadline) await delay(pollMs);
}

/** Prints labelled lines; chunks of one text stand behind one label, as they come. */
class Printer {
  readonly #stdout: Writable;
  #open: string | undefined;

  constructor(stdout: Writable) {
    this.#stdout = stdout;
  }

  print(said: UpdateWords | null): void {
    if (said === null) return;
    const { label, words, goesOn } = said;
    const text = words.replaceAll('\n', `\n${' '.repeat(labelWidth)}`);
    if (goesOn && this.#open === label) {
      this.#stdout.write(text);
      return;
    }
    this.#endLine();
    this.#stdout.write(`${label.padEnd(labelWidth)}${text}`);
    if (goesOn) this.#open = label;
    else this.#stdout.write('\n');
  }

  note(words: string): void {
    this.#endLine();
    this.#stdout.write(`\n${words}\n\n`);
  }

  #endLine(): void {
    if (this.#open !== undefined) this.#stdout.write('\n');
    this.#open = undefined;
  }
}
