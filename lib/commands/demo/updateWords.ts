import type { ContentBlock, RequestPermissionRequest, SessionUpdate, ToolCallContent } from '@agentclientprotocol/sdk';

/** What a session update means, for a reader: a label and words. Text that goes on has the label of what it goes on with. */
export interface UpdateWords {
  readonly label: string;
  readonly words: string;
  /** Whether the words go on where the last ones of this label ended. */
  readonly goesOn: boolean;
}

/** Returns a function that words the updates of a session, in their order; null for one that shows nothing. */
export function createUpdateWords(): (update: SessionUpdate) => UpdateWords | null {
  const titles = new Map<string, string>();
  return (update) => {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return { label: 'agent', words: textOf(update.content), goesOn: true };
      case 'agent_thought_chunk':
        return { label: 'thought', words: textOf(update.content), goesOn: true };
      case 'user_message_chunk':
        return { label: 'user', words: textOf(update.content), goesOn: true };
      case 'plan':
        return said('plan', update.entries.map(({ status, content }) => `${marks[status] ?? '·'} ${content}`).join('   '));
      case 'tool_call':
      case 'tool_call_update':
        if (typeof update.title === 'string') titles.set(update.toolCallId, update.title);
        return said('tool', [titles.get(update.toolCallId) ?? update.toolCallId, update.status, ...contentWords(update.content)].filter(Boolean).join(' — '));
      case 'session_info_update':
        return typeof update.title === 'string' ? said('title', update.title) : null;
      case 'available_commands_update':
        return said('commands', update.availableCommands.map(({ name }) => `/${name}`).join(' '));
      default:
        return said(update.sessionUpdate, '');
    }
  };
}

/** Words for a permission request and the option that is chosen. */
export function questionWords({ toolCall, options }: RequestPermissionRequest, chosen: string): UpdateWords {
  const offers = options.map(({ name, optionId }) => (optionId === chosen ? `[${name}]` : name)).join('  ');
  return said('asks', `may "${toolCall.title ?? toolCall.toolCallId}" run?  ${offers}`);
}

const marks: Readonly<Record<string, string>> = { completed: '✓', in_progress: '…', pending: '·' };

function said(label: string, words: string): UpdateWords {
  return { label, words, goesOn: false };
}

function textOf(content: ContentBlock): string {
  return content.type === 'text' ? content.text : `(${content.type})`;
}

function contentWords(content: readonly ToolCallContent[] | null | undefined): string[] {
  return (content ?? []).map((part) => {
    if (part.type === 'diff') return `diff of ${part.path.split('/').at(-1) ?? part.path}: ${lineCount(part.oldText)} → ${lineCount(part.newText)} lines`;
    if (part.type === 'content') return textOf(part.content);
    return `(${part.type})`;
  });
}

function lineCount(text: string | null | undefined): number {
  return text ? text.split('\n').length : 0;
}
