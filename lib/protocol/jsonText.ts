/**
 * Edits of JSON text that leave every other byte as it came: numbers, key order and duplicates included, which a
 * parse and a stringify would not. All functions expect text that `JSON.parse` accepts.
 */

/** One member of an object in JSON text; indexes are UTF-16 units. */
export interface Member {
  readonly key: string;
  readonly keyStart: number;
  readonly valueStart: number;
  /** Index behind the value's last unit. */
  readonly valueEnd: number;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/** Returns the members of the object whose `{` is at `open`, in order, duplicates included. */
export function members(text: string, open: number): readonly Member[] {
  const found: Member[] = [];
  let at = skipSpace(text, open + 1);
  while (text.charCodeAt(at) === quote) {
    const keyEnd = stringEnd(text, at);
    const valueStart = skipSpace(text, text.indexOf(':', keyEnd) + 1);
    const valueEnd = skipValue(text, valueStart);
    found.push({ key: keyOf(text, at, keyEnd), keyStart: at, valueStart, valueEnd });
    at = skipSpace(text, valueEnd);
    if (text.charCodeAt(at) === comma) at = skipSpace(text, at + 1);
  }
  return found;
}

function keyOf(text: string, start: number, end: number): string {
  const key = text.slice(start + 1, end - 1);
  return key.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : key;
}

/** Returns the member that a JSON parser would take: the last one of that key. */
export function member(text: string, open: number, key: string): Member | undefined {
  return members(text, open).findLast((candidate) => candidate.key === key);
}

/** Returns the member at the end of a path of keys, each naming an object in the one before. */
export function memberAt(text: string, path: readonly string[]): Member | undefined {
  let open = skipSpace(text, 0);
  let found: Member | undefined;
  for (const key of path) {
    if (text[open] !== '{') return undefined;
    found = member(text, open, key);
    if (found === undefined) return undefined;
    open = found.valueStart;
  }
  return found;
}

/** Returns the text with the value at the path replaced, everywhere the last key is repeated; as it is where there is none. */
export function replaceValue(text: string, path: readonly string[], value: string): string {
  const open = openingBrace(text, path.slice(0, -1));
  if (open === undefined) return text;
  return members(text, open)
    .filter((candidate) => candidate.key === path.at(-1))
    .reduceRight((edited, { valueStart, valueEnd }) => edited.slice(0, valueStart) + value + edited.slice(valueEnd), text);
}

/** Returns the text without the member at the path; as it is where there is none. */
export function removeMember(text: string, path: readonly string[]): string {
  const open = openingBrace(text, path.slice(0, -1));
  if (open === undefined) return text;
  const all = members(text, open);
  const index = all.findLastIndex((candidate) => candidate.key === path.at(-1));
  const gone = all[index];
  if (gone === undefined) return text;
  const previous = all[index - 1];
  const next = all[index + 1];
  const start = previous && !next ? previous.valueEnd : gone.keyStart;
  const edited = text.slice(0, start) + text.slice(next ? next.keyStart : gone.valueEnd);
  return removeMember(edited, path);
}

/**
 * Returns the text with a member moved into the object that is another member beside it, under a key there; in one scan
 * where neither is repeated. The text is as it is where there is nothing to move.
 *
 * @param path - Keys to the object that holds both.
 */
export function moveMember(text: string, path: readonly string[], key: string, into: string, underKey: string): string {
  const open = openingBrace(text, path);
  const all = open === undefined ? [] : members(text, open);
  const index = all.findLastIndex((candidate) => candidate.key === key);
  const moved = all[index];
  if (moved === undefined) return text;
  const value = text.slice(moved.valueStart, moved.valueEnd);
  const plain = all.every(({ key: other }, at) => other !== into && (other !== key || at === index));
  if (!plain) return setMember(removeMember(text, [...path, key]), [...path, into], underKey, value);
  const [previous, next] = [all[index - 1], all[index + 1]];
  const member = `${JSON.stringify(into)}:{${JSON.stringify(underKey)}:${value}}`;
  const end = all.at(-1)?.valueEnd ?? 0;
  if (next !== undefined) return `${text.slice(0, moved.keyStart)}${text.slice(next.keyStart, end)},${member}${text.slice(end)}`;
  return previous === undefined ? text.slice(0, moved.keyStart) + member + text.slice(end) : `${text.slice(0, previous.valueEnd)},${member}${text.slice(end)}`;
}

/** Returns the text with a member set in the object at the path of keys; objects that are missing on the way are made. */
export function setMember(text: string, path: readonly string[], key: string, value: string): string {
  const open = openingBrace(text, path);
  if (open === undefined) return setMember(text, path.slice(0, -1), path.at(-1) ?? '', `{${JSON.stringify(key)}:${value}}`);
  const all = members(text, open);
  if (all.some((candidate) => candidate.key === key)) return replaceValue(text, [...path, key], value);
  const last = all.at(-1);
  const at = last ? last.valueEnd : open + 1;
  return `${text.slice(0, at)}${last ? ',' : ''}${JSON.stringify(key)}:${value}${text.slice(at)}`;
}

/** Returns the text on one line. Raw line ends stand between tokens only, since JSON strings can't hold them. */
export function onOneLine(text: string): string {
  const trimmed = text.trim();
  return trimmed.includes('\n') || trimmed.includes('\r') ? trimmed.replace(/[\r\n]+/g, ' ') : trimmed;
}

/** Returns the texts of an array's elements, in order; the array's `[` is at `open`. */
export function elements(text: string, open: number): readonly string[] {
  const found: string[] = [];
  let at = skipSpace(text, open + 1);
  while (at < text.length && text[at] !== ']') {
    const end = skipValue(text, at);
    found.push(text.slice(at, end));
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === comma) at = skipSpace(text, at + 1);
  }
  return found;
}

function openingBrace(text: string, path: readonly string[]): number | undefined {
  const start = path.length === 0 ? skipSpace(text, 0) : memberAt(text, path)?.valueStart;
  return start !== undefined && text[start] === '{' ? start : undefined;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= 0x20) at += 1;
  return at;
}

/** Index behind the closing quote of the string that opens at `open`. */
function stringEnd(text: string, open: number): number {
  let at = open;
  for (;;) {
    at = text.indexOf('"', at + 1);
    let escapes = at - 1;
    while (text.charCodeAt(escapes) === backslash) escapes -= 1;
    if ((at - escapes) % 2 === 1) return at + 1;
  }
}

function skipValue(text: string, from: number): number {
  let depth = 0;
  let at = from;
  for (;;) {
    const character = text[at];
    if (character === '"') at = stringEnd(text, at);
    else if (character === '{' || character === '[') {
      depth += 1;
      at += 1;
    } else if (character === '}' || character === ']') {
      depth -= 1;
      at += 1;
    } else at = depth === 0 ? literalEnd(text, at) : at + 1;
    if (depth === 0) return at;
  }
}

function literalEnd(text: string, from: number): number {
  const end = /[,}\]\s]/g;
  end.lastIndex = from;
  return end.exec(text)?.index ?? text.length;
}
