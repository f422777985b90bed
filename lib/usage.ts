import { describe } from './protocol/errors.ts';

/** Exit code of a call that can't be understood. */
export const usageExitCode = 2;

/** Whether a command line could not be understood, whichever bundle says so. */
export function isUsageError(error: unknown): boolean {
  return error instanceof Error && error.name === 'UsageError';
}

/** Returns one line that says what can't be understood, and names the way to more: the first of what clipanion shows. */
export function usageWords(error: unknown): string {
  return `fountain: ${firstLine(error).replace(/[.:]$/, '')}; see "fountain --help"\n`;
}

/** Returns the first line of any thrown value's words. */
export function firstLine(error: unknown): string {
  return (describe(error).split('\n')[0] ?? '').trim();
}
