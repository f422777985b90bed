import type { Writable } from 'node:stream';
import { withoutSecrets } from '../protocol/secrets.ts';

/** How much is said on stderr, from most to least. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;

/** One of {@link logLevels}. */
export type LogLevel = (typeof logLevels)[number];

/** Says something on stderr. Neither secrets nor prompts belong into a message. */
export type Log = (level: LogLevel, message: string) => void;

/** As much as may wait for a reader of stderr before debug messages are dropped, in bytes. */
const maxWaiting = 1024 * 1024;

/** What moves a terminal's cursor, changes its colours or rings its bell: a message may quote whatever a server sent. */
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/**
 * Returns the log for stderr: one line a message, from a level on.
 *
 * @see Specification, "When something goes wrong"
 */
export function createStderrLog(stderr: Writable, level: LogLevel): Log {
  const least = logLevels.indexOf(level);
  // A client that closed stderr has said that it does not want to read it.
  stderr.on('error', () => undefined);
  return (entryLevel, message) => {
    if (logLevels.indexOf(entryLevel) < least) return;
    if (entryLevel === 'debug' && stderr.writableLength > maxWaiting) return;
    stderr.write(`fountain: ${entryLevel === 'info' ? '' : `${entryLevel}: `}${withoutSecrets(message).replace(controls, ' ')}\n`);
  };
}
