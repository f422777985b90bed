import type { JsonObject } from '../../protocol/jsonrpc.ts';
import type { Conversation } from '../engine/conversation.ts';
import { notFound } from '../refusal.ts';
import type { ConversationRow } from '../store/rows.ts';
import { owned } from './owned.ts';
import type { Caller, Services } from './services.ts';
import { conversationView } from './views.ts';

/** Returns a conversation of the caller as the API shows it. Errors: Refusal 404. */
export async function conversationOf(services: Services, id: string, caller: Caller): Promise<JsonObject> {
  return viewOf(services, await owned(services.context.store, 'conversations', id, caller));
}

/** Returns a conversation's row as the API shows it. */
export async function viewOf({ context, engine }: Services, row: ConversationRow): Promise<JsonObject> {
  const sandbox = row.sandbox_id === null ? undefined : await context.store.get('sandboxes', row.sandbox_id);
  return conversationView(row, sandbox, engine.pendingRequests(row.id), context);
}

/** Returns a conversation of the caller in this process. Errors: Refusal 404. */
export async function liveConversation({ context, engine }: Services, id: string, caller: Caller): Promise<Conversation> {
  const row = await owned(context.store, 'conversations', id, caller);
  const conversation = await engine.conversation(row.id);
  if (conversation === undefined) throw notFound();
  return conversation;
}
