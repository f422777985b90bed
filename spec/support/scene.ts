import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AcpClient } from './acpClient.ts';
import { AcpProcess, type Launch } from './acpProcess.ts';
import { ScriptedInstance, type InstanceOptions } from './scriptedInstance.ts';

/** What a spec needs to know before the program is started. */
export interface SceneOptions extends InstanceOptions {
  /** After `acp`; `--agent coder` without it. */
  readonly args?: readonly string[];
  /** Before `acp`. */
  readonly globalArgs?: readonly string[];
  /** Laid over the usual environment; null takes a variable away. */
  readonly env?: (instance: ScriptedInstance, home: string) => Record<string, string | null>;
  /** Nothing of the usual environment, neither PATH nor HOME. */
  readonly bareEnv?: boolean;
  /** Files below HOME, by relative path. */
  readonly files?: (instance: ScriptedInstance) => Record<string, string>;
}

/** Who is on stage. */
export interface Scene {
  readonly instance: ScriptedInstance;
  /** The client of the program that was started with the scene's options. */
  readonly client: AcpClient;
  readonly home: string;
  /** Starts the program once more; the scene looks after it as well. */
  readonly launch: (options?: SceneOptions, stdio?: Pick<Launch, 'stdin' | 'stdout'>) => AcpClient;
  /** Starts one more instance. */
  readonly beside: (options?: InstanceOptions) => Promise<ScriptedInstance>;
  /** Has something done at the end, however the spec ends. */
  readonly atEnd: (close: () => unknown) => void;
  /** Writes a file below HOME. */
  readonly write: (file: string, content: string) => void;
}

type Body = (scene: Scene) => void | Promise<void>;

/**
 * Returns a spec's body: an instance and the built program that talks to it, both gone afterwards.
 *
 * Beside what the spec itself expects, each line of stdout must be one sound JSON-RPC message, and the program must
 * still run at the end unless the spec waited for its exit.
 */
export function scene(options: SceneOptions, body: Body): () => Promise<void>;
export function scene(body: Body): () => Promise<void>;
export function scene(...given: [SceneOptions, Body] | [Body]): () => Promise<void> {
  const [options, body] = given.length === 2 ? given : [{}, given[0]];
  return async () => {
    const instance = new ScriptedInstance(options);
    const home = mkdtempSync(path.join(tmpdir(), 'fountain-spec-'));
    const processes: AcpProcess[] = [];
    const closers: (() => unknown)[] = [() => instance.close()];
    const beside: Scene['beside'] = async (other = {}) => {
      const another = new ScriptedInstance(other);
      closers.push(() => another.close());
      await another.transport.listen();
      return another;
    };
    const write = (file: string, content: string): void => {
      mkdirSync(path.join(home, path.dirname(file)), { recursive: true });
      writeFileSync(path.join(home, file), content);
    };
    const launch: Scene['launch'] = (other = options, stdio = {}) => {
      const process = new AcpProcess({ ...launchOf(other, instance, home), ...stdio });
      processes.push(process);
      return new AcpClient(process);
    };
    await instance.transport.listen();
    try {
      for (const [file, content] of Object.entries(options.files?.(instance) ?? {})) write(file, content);
      await body({ instance, client: launch(), home, launch, beside, atEnd: (close) => closers.push(close), write });
      for (const process of processes) checkOutput(process);
    } catch (error) {
      if (error instanceof Error && !error.message.includes('stderr')) error.message += `\n${processes.map(({ standing }) => standing).join('\n')}`;
      throw error;
    } finally {
      for (const process of processes) await process.kill();
      for (const close of closers) close();
      rmSync(home, { recursive: true, force: true });
    }
  };
}

/**
 * Returns a spec's body that plays a scene for each case at once: for scenes that spend their time waiting.
 *
 * @param play - Returns the case's scene. Where it fails, the case's first member names it.
 */
export function eachAtOnce<Case extends readonly [string | number, ...unknown[]]>(cases: readonly Case[], play: (...given: Case) => () => Promise<void>): () => Promise<void> {
  return async () => {
    await Promise.all(
      cases.map((given) =>
        play(...given)().catch((error: unknown) => {
          if (error instanceof Error) error.message = `${given[0]}: ${error.message}`;
          throw error;
        }),
      ),
    );
  };
}

function launchOf(options: SceneOptions, instance: ScriptedInstance, home: string): Launch {
  const { args = ['--agent', 'coder'], globalArgs = [], bareEnv = false } = options;
  const env: NodeJS.ProcessEnv = bareEnv ? {} : { PATH: process.env['PATH'], HOME: home, USERPROFILE: home, LANG: 'C.UTF-8' };
  Object.assign(env, { FOUNTAIN_API_KEY: instance.key, FOUNTAIN_BASE_URL: instance.baseUrl });
  for (const [name, value] of Object.entries(options.env?.(instance, home) ?? {})) {
    if (value === null) Reflect.deleteProperty(env, name);
    else env[name] = value;
  }
  return { args: [...globalArgs, 'acp', ...args], env, cwd: home };
}

function checkOutput(process: AcpProcess): void {
  if (process.faults.length > 0) throw new Error(process.faults.slice(0, 5).join('\n'));
  if (process.goneUnexpectedly) throw new Error('the program is gone');
}
