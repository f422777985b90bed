import { RequestError } from '@agentclientprotocol/sdk';
import { isJsonObject, type JsonObject } from '../../protocol/jsonrpc.ts';
import type { HarnessConnection } from './connectHarness.ts';
import { harnessError } from './openSession.ts';
import type { ProgramExit } from './program.ts';

/** Characters of a program's last output that a reason quotes. */
const maxQuoted = 1000;

/** How a prompt ended: the harness's answer, its error, or its end. Reasons are in words and quote its last output. */
export type PromptOutcome =
  | { readonly kind: 'stop'; readonly stopReason: string; /** Tokens, as the harness counts them; absent where it does not. */ readonly usage?: JsonObject }
  | { readonly kind: 'error'; readonly reason: string }
  | { readonly kind: 'exit'; readonly exitCode: number | null; readonly reason: string };

/** Text and images of one prompt. */
export interface PromptInput {
  readonly text: string;
  /** Base64 data. Left out, with a line to `onStderr`, where the harness takes no images. */
  readonly images: readonly { readonly data: string; readonly media_type: string }[];
}

/**
 * Returns what runs one turn of an open session. It never rejects.
 *
 * @param takesImages - Whether the harness said so; images are left out otherwise, with a line to `onStderr`.
 */
export function prompts({ agent, exited }: HarnessConnection, sessionId: string, takesImages: boolean, onStderr: (text: string) => void): (input: PromptInput) => Promise<PromptOutcome> {
  let ended = false;
  void exited.then(() => (ended = true));
  return async ({ text, images }) => {
    const when = ended ? 'before the prompt reached it' : 'before it answered';
    if (images.length > 0 && !takesImages) {
      if (text === '') return { kind: 'error', reason: 'the agent takes no images' };
      onStderr('the agent takes no images; the prompt was sent without them\n');
    }
    const answer = agent.request<unknown, JsonObject>('session/prompt', {
      sessionId,
      prompt: [
        ...(text === '' ? [] : [{ type: 'text', text }]),
        ...(takesImages ? images.map(({ data, media_type }) => ({ type: 'image', data, mimeType: media_type })) : []),
      ],
    });
    return Promise.race([answer.then(stopped, (error: unknown) => failed(error, exited, when)), exited.then((exit) => exitOutcome(exit, when))]);
  };
}

function stopped(result: unknown): PromptOutcome {
  const { stopReason, usage } = isJsonObject(result) ? result : {};
  return { kind: 'stop', stopReason: typeof stopReason === 'string' ? stopReason : 'end_turn', ...(isJsonObject(usage) ? { usage } : {}) };
}

async function failed(error: unknown, exited: Promise<ProgramExit>, when: string): Promise<PromptOutcome> {
  if (error instanceof RequestError) return { kind: 'error', reason: harnessError(error) };
  return exitOutcome(await exited, when);
}

function exitOutcome(exit: ProgramExit, when: string): PromptOutcome {
  return { kind: 'exit', exitCode: exit.code, reason: endReason(exit, when) };
}

/** Returns a program's end in words, with its last output. */
export function endReason({ code, signal, lastOutput }: ProgramExit, when: string): string {
  const how = signal === null ? `with exit code ${code ?? 'unknown'}` : `on ${signal}`;
  return `the agent's program ended ${how} ${when}; ${quoted(lastOutput)}`;
}

/** Returns a program's last output in words, cut to what a reader can take in. */
export function quoted(lastOutput: string): string {
  return lastOutput === '' ? 'it wrote nothing beside the protocol' : `its last output: ${lastOutput.slice(-maxQuoted)}`;
}
