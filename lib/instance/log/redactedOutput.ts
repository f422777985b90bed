import { isJsonObject } from '../../protocol/jsonrpc.ts';
import type { JsonObject } from '../../protocol/jsonrpc.ts';
import type { Redactor } from './redactor.ts';

/** A stream of text pieces; a secret may begin in one and end in the next. */
export interface RedactedOutput {
  /** Takes a piece and returns the pieces that can be stored now. */
  push(piece: string): readonly string[];
  /** Returns what was held back. */
  end(): readonly string[];
}

/** Returns the redaction of plain text in pieces: an end that may begin a secret waits for the next piece. */
export function redactText(redactor: Redactor): RedactedOutput {
  let held = '';
  return {
    push: (piece) => {
      if (redactor.isEmpty) return [piece];
      const [ready, rest] = redactor.split(redactor.text(held + piece));
      held = rest;
      return ready === '' ? [] : [ready];
    },
    end: () => {
      const rest = held;
      held = '';
      return rest === '' ? [] : [rest];
    },
  };
}

/**
 * Returns the redaction of ACP messages, one a piece.
 *
 * Harnesses stream a model's words as they come, so that a secret arrives cut between chunks of one message. Where a chunk
 * ends like the beginning of a secret, that end moves to the next chunk. All other messages pass as they are.
 */
export function redactMessages(redactor: Redactor): RedactedOutput {
  let held: { readonly chunk: TextChunk; readonly text: string } | null = null;

  function end(): readonly string[] {
    const rest = held;
    held = null;
    return rest === null ? [] : [rest.chunk.with(rest.text)];
  }

  return {
    push: (line) => {
      if (redactor.isEmpty) return [line];
      const chunk = textChunk(line);
      if (chunk === null) return [...end(), redactor.message(line)];
      const before = held !== null && held.chunk.kind !== chunk.kind ? end() : [];
      const prefix = held?.text ?? '';
      const [ready, rest] = redactor.split(redactor.text(prefix + chunk.text));
      held = rest === '' ? null : { chunk, text: rest };
      if (ready === chunk.text) return [...before, redactor.message(line)];
      return ready === '' ? before : [...before, redactor.message(chunk.with(ready))];
    },
    end,
  };
}

interface TextChunk {
  readonly kind: string;
  readonly text: string;
  /** Returns the message with another text. */
  readonly with: (text: string) => string;
}

function textChunk(line: string): TextChunk | null {
  if (!line.includes('_chunk"')) return null;
  const message = parsed(line);
  const params = message?.['params'];
  const update = isJsonObject(params) ? params['update'] : undefined;
  if (!message || !isJsonObject(params) || !isJsonObject(update)) return null;
  const { sessionUpdate: kind, content } = update;
  if (typeof kind !== 'string' || !kind.endsWith('_chunk') || !isJsonObject(content) || typeof content['text'] !== 'string') return null;
  return {
    kind,
    text: content['text'],
    with: (text) => JSON.stringify({ ...message, params: { ...params, update: { ...update, content: { ...content, text } } } }),
  };
}

function parsed(line: string): JsonObject | null {
  try {
    const value = JSON.parse(line) as unknown;
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
