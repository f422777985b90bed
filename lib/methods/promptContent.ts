import type { Context } from '../context.ts';
import { invalidParams } from '../protocol/errors.ts';
import type { PromptImage, PromptSubmission } from '../protocol/fountain.ts';
import { isJsonObject, type JsonObject } from '../protocol/jsonrpc.ts';

/**
 * Returns what a prompt submits: its texts joined with a newline, and its images. Other blocks are dropped with a
 * warning that names their kind and nothing of their content, which is about a machine that the agent cannot see.
 *
 * Throws -32602 where nothing is usable.
 *
 * @see Specification, "The protocol surface": `session/prompt`, and "_meta extensions on session/prompt"
 */
export function promptContent({ prompt: blocks, _meta }: JsonObject, log: Context['log']): PromptSubmission {
  if (!Array.isArray(blocks)) throw invalidParams('session/prompt: "prompt" must be a list of content blocks');
  const texts: string[] = [];
  const images: PromptImage[] = [];
  for (const block of blocks as unknown[]) {
    const text = textOf(block);
    const image = imageOf(block);
    if (text !== undefined) texts.push(text);
    else if (image) images.push(image);
    else log('warn', `dropped a ${kindOf(block)} block of the prompt: the agent gets text and images only`);
  }
  const prompt = texts.filter((text) => text !== '').join('\n');
  if (prompt.trim() === '' && images.length === 0) throw invalidParams('session/prompt carried no text or image content');
  const name = isJsonObject(_meta) ? (_meta['clientRequestId'] ?? undefined) : undefined;
  return { prompt, images, ...(name !== undefined && { client_request_id: name }) };
}

function textOf(block: unknown): string | undefined {
  return isJsonObject(block) && block['type'] === 'text' && typeof block['text'] === 'string' ? block['text'] : undefined;
}

function imageOf(block: unknown): PromptImage | undefined {
  if (!isJsonObject(block) || block['type'] !== 'image') return undefined;
  const { data, mimeType } = block;
  return typeof data === 'string' && data !== '' ? { data, media_type: typeof mimeType === 'string' ? mimeType : '' } : undefined;
}

function kindOf(block: unknown): string {
  const kind = isJsonObject(block) ? block['type'] : undefined;
  return typeof kind === 'string' ? kind.slice(0, 40) : 'malformed';
}
