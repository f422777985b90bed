import type { Readable, Writable } from 'node:stream';
import type { PermissionPolicy, Verdict } from '../protocol/fountain.ts';
import { run } from '../run.ts';
import { logLevels, type LogLevel } from '../sinks/toStderr.ts';
import { version } from '../version.ts';
import type { AcpFlags } from './acpFlags.ts';

const verdicts: readonly string[] = ['auto_allow', 'ask', 'auto_deny'] satisfies Verdict[];
const sandboxModes = ['ephemeral', 'persistent'];

/** The process's streams. */
export interface Streams {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** A flag whose value can't be understood, in words; the command line tells it like any other mistake. */
class FlagError extends Error {
  override readonly name = 'UsageError';
}

/**
 * Checks the flags of `fountain acp` and runs it.
 *
 * Errors: rejects with a `UsageError` in words, before anything was written, for a value that there is not.
 *
 * @returns The exit code.
 */
export async function runAcp(flags: AcpFlags, streams: Streams): Promise<number> {
  const { agent, vault, environment, sandboxMode, sandbox, permission = '', logLevel = 'info', profile, local = false, drain = false } = flags;
  return run({
    ...streams,
    version,
    agent: agent || undefined,
    vault: vault || undefined,
    environment: environment || undefined,
    sandboxMode: oneOf('--sandbox-mode', sandboxMode || undefined, sandboxModes),
    sandbox: sandbox || undefined,
    permission: parsePermission(permission),
    profile,
    local,
    drain,
    logLevel: parseLogLevel(logLevel),
    env: process.env,
  });
}

/**
 * Reads the value of `--permission`: a verdict for everything, or `key=verdict` pairs; undefined where it is empty.
 *
 * @throws `UsageError` for a verdict that there is not, or a pair without a key.
 * @see Specification, "Permission prompts"
 */
export function parsePermission(value: string): PermissionPolicy | undefined {
  const parts = value.split(',').map((part) => part.trim()).filter((part) => part !== '');
  if (parts.length === 0) return undefined;
  return Object.fromEntries(
    parts.map((part) => {
      const equals = part.lastIndexOf('=');
      const key = equals === -1 ? 'default' : part.slice(0, equals).trim();
      const verdict = part.slice(equals + 1).trim();
      if (key === '') throw new FlagError(`--permission: "${part}" names no tool; write it as in execute=ask`);
      if (!isVerdict(verdict)) throw new FlagError(`--permission: "${verdict}" is no verdict; there are ${verdicts.join(', ')}`);
      return [key, verdict];
    }),
  );
}

function isVerdict(value: string): value is Verdict {
  return verdicts.includes(value);
}

function parseLogLevel(value: string): LogLevel {
  const level = oneOf('--log-level', value === 'warning' ? 'warn' : value, logLevels);
  return logLevels.find((known) => known === level) ?? 'info';
}

function oneOf(flag: string, value: string | undefined, known: readonly string[]): string | undefined {
  if (value === undefined || known.includes(value)) return value;
  throw new FlagError(`${flag}: "${value}" is none of ${known.join(', ')}`);
}
