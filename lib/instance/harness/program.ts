import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { killStrays, signalGroup } from './processTree.ts';

/** Marks a harness's process and all that it starts, whichever group they are in. */
const processMark = 'FOUNTAIN_HARNESS_MARK';

/** Characters of its last output that are kept to explain an end. */
const maxLastOutput = 4096;

/** How long output may take after a program's end, and a program after the end of its output, in milliseconds. */
const drainMs = 1000;

/** What is started. */
export interface ProgramOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly onStdout: (chunk: Buffer) => void;
  readonly onStderr: (text: string) => void;
}

/** How a program ended. */
export interface ProgramExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The end of what it wrote beside the protocol, at most 4096 characters. */
  readonly lastOutput: string;
}

/** A running program, alone in a process group. */
export interface Program {
  readonly pid: number;
  readonly stdin: Writable;
  /** Settles once the program has ended, all of its output has been handed on, and nothing of its group is left. */
  readonly exited: Promise<ProgramExit>;
  /** The end of what it wrote beside the protocol so far. */
  lastOutput(): string;
  /** Adds to that. */
  remember(text: string): void;
  /** Ends the group: stdin closed and SIGTERM, after the grace SIGKILL. Never rejects. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Starts a program as the leader of its own process group.
 *
 * Errors: rejects in words where it cannot be started.
 */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const mark = randomUUID();
  const child = spawn(options.command, [...options.args], {
    cwd: options.cwd,
    env: { ...options.env, [processMark]: mark },
    detached: true,
    stdio: 'pipe',
    windowsHide: true,
  });
  let lastOutput = '';
  const remember = (text: string): void => {
    lastOutput = `${lastOutput}${text}`.slice(-maxLastOutput);
  };
  child.stdout.on('data', options.onStdout);
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    remember(text);
    options.onStderr(text);
  });
  // A program that closed its stdin or has gone: its end, and not the write, is what is reported.
  child.stdin.on('error', () => undefined);
  const pid = await started(child, options);
  child.stdout.once('end', () => void setTimeout(() => isRunning(child) && signalGroup(pid, 'SIGKILL'), drainMs).unref());
  const exited = end(child, pid, mark).then((exit) => ({ ...exit, lastOutput: lastOutput.trim() }));
  return {
    pid,
    stdin: child.stdin,
    exited,
    lastOutput: () => lastOutput.trim(),
    remember,
    stop: async (graceMs) => {
      child.stdin.end();
      if (isRunning(child)) signalGroup(pid, 'SIGTERM');
      const timer = setTimeout(() => isRunning(child) && signalGroup(pid, 'SIGKILL'), graceMs);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** A process id says nothing once its process has been waited for. */
function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

function started(child: ChildProcess, options: ProgramOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve(child.pid ?? 0));
    child.once('error', (error: NodeJS.ErrnoException) => reject(new Error(startError(error, options), { cause: error })));
  });
}

function startError(error: NodeJS.ErrnoException, { command, cwd }: ProgramOptions): string {
  if (!existsSync(cwd)) return `could not start "${command}": its folder ${cwd} is not there`;
  if (error.code === 'ENOENT') return `could not start "${command}": there is no such program on PATH`;
  if (error.code === 'EACCES') return `could not start "${command}": it is not executable`;
  return `could not start "${command}": ${error.message}`;
}

async function end(child: ChildProcess & { stdout: Readable; stderr: Readable }, pid: number, mark: string): Promise<Omit<ProgramExit, 'lastOutput'>> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const exit = await new Promise<Omit<ProgramExit, 'lastOutput'>>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  // What the program left running holds its pipes open, and would outlive the conversation.
  signalGroup(pid, 'SIGKILL');
  await killStrays(processMark, mark);
  const timer = setTimeout(() => {
    child.stdout.destroy();
    child.stderr.destroy();
  }, drainMs);
  await closed;
  clearTimeout(timer);
  return exit;
}
