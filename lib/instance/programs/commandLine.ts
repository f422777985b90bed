/** A command line, taken apart. */
export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
  /** Assignments in front of the command. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Takes a command line apart as a POSIX shell does, and expands nothing: words, single and double quotes, backslashes,
 * assignments in front. No shell runs it, so `|`, `$` and `*` are letters.
 *
 * @param source - What holds the line, for the error.
 * @throws Error in words for a quote that is not closed and a line without a command.
 */
export function splitCommand(line: string, source: string): CommandLine {
  const words = splitWords(line, source);
  const env: Record<string, string> = {};
  for (let assignment = assignmentOf(words[0]); assignment; assignment = assignmentOf(words[0])) {
    env[assignment.name] = assignment.value;
    words.shift();
  }
  const [command, ...args] = words;
  if (command === undefined || command === '') throw new Error(`${source} holds no command`);
  return { command, args, env };
}

function assignmentOf(word: string | undefined): { name: string; value: string } | null {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(word ?? '') ?? [];
  return name === undefined || value === undefined ? null : { name, value };
}

function splitWords(line: string, source: string): string[] {
  const words: string[] = [];
  // One piece of a word at a time: plain letters, an escape, a quoted run; white space ends the word.
  const piece = /\s+|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+)/gsy;
  let word: string | null = null;
  while (piece.lastIndex < line.length) {
    const at = piece.lastIndex;
    const match = piece.exec(line);
    if (!match) throw new Error(unfinished(line, at, source));
    const [space, single, double, escaped, plain] = match;
    const part: string | undefined = single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain;
    if (part !== undefined) word = (word ?? '') + part;
    else if (space && word !== null) {
      words.push(word);
      word = null;
    }
  }
  if (word !== null) words.push(word);
  return words;
}

function unfinished(line: string, at: number, source: string): string {
  return `${source} has ${line[at] === '\\' ? 'a backslash at its end' : 'a quote that is not closed'}: ${line}`;
}
