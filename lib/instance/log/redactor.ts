import { isJsonObject } from '../../protocol/jsonrpc.ts';

/** What stands in place of a secret. */
export const redacted = '[REDACTED]';

/** Shorter values, in bytes, are too likely to be ordinary words. */
const shortestSecret = 8;

/** Members whose values are words of the protocol; replacing one would make the message unreadable. */
const protocolMembers = new Set(['jsonrpc', 'id', 'method', 'sessionId', 'sessionUpdate', 'type', 'kind', 'status', 'toolCallId', 'optionId', 'messageId']);

/** Members of the protocol's own objects; every other member name is the harness's free text. */
const memberNames = new Set([
  ...protocolMembers, '_meta', 'annotations', 'audience', 'availableCommands', 'configOptions', 'content', 'currentModeId', 'data', 'description',
  'entries', 'locations', 'mimeType', 'newText', 'oldText', 'options', 'params', 'permissions', 'priority', 'rawInput', 'rawOutput', 'resource',
  'toolCall', 'updatedAt', 'update',
]);

/**
 * Replaces registered values in what is stored and shown.
 *
 * @see Fountain HTTP and SSE contract, section 5.7
 */
export class Redactor {
  readonly #values: readonly string[];
  readonly #pattern: RegExp | null;

  /** @param values - Those of at least 8 bytes are replaced, longer ones first. */
  constructor(values: Iterable<string>) {
    const secrets = [...new Set(values)].filter((value) => Buffer.byteLength(value) >= shortestSecret);
    this.#values = secrets.sort((a, b) => b.length - a.length);
    const alternatives = this.#values.map((value) => value.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
    this.#pattern = alternatives.length === 0 ? null : new RegExp(alternatives.join('|'), 'g');
  }

  /** Whether there is nothing to replace. */
  get isEmpty(): boolean {
    return this.#pattern === null;
  }

  /** Returns a whole text without its secrets. */
  text(text: string): string {
    return this.#pattern === null ? text : text.replace(this.#pattern, redacted);
  }

  /** Returns a JSON value with the secrets gone from its decoded strings and free member names. */
  json(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((entry: unknown) => this.json(entry));
    if (!isJsonObject(value)) return value;
    const entries = Object.entries(value).map(([name, member]) => [
      memberNames.has(name) ? name : this.text(name),
      protocolMembers.has(name) && typeof member === 'string' ? member : this.json(member),
    ]);
    return Object.fromEntries(entries) as unknown;
  }

  /**
   * Returns the text of one JSON message without its secrets; the same text where it holds none.
   *
   * A value that JSON escapes is found too: only a text without a backslash is its own decoded form.
   */
  message(line: string): string {
    if (this.#pattern === null) return line;
    if (!line.includes('\\') && line.search(this.#pattern) === -1) return line;
    try {
      const value = JSON.parse(line) as unknown;
      const clean = JSON.stringify(this.json(value));
      return clean === JSON.stringify(value) ? line : clean;
    } catch {
      return this.text(line);
    }
  }

  /**
   * Splits a text, whose secrets are gone, into what can be shown and an end that may be the beginning of a secret.
   */
  split(text: string): readonly [ready: string, held: string] {
    let from = text.length;
    for (const value of this.#values) {
      const first = value.charAt(0);
      for (let at = text.indexOf(first, Math.max(0, text.length - value.length + 1)); at !== -1 && at < from; at = text.indexOf(first, at + 1)) {
        if (value.startsWith(text.slice(at))) from = at;
      }
    }
    return [text.slice(0, from), text.slice(from)];
  }
}
