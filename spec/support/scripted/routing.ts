import { eventBody, eventFrame, isWanted } from './eventFrame.ts';
import { breakOff, Follower } from './follower.ts';
import type { ScriptedConversation } from './conversation.ts';
import type { Departure } from './departures.ts';
import type { Exchange, RecordedRequest } from './exchange.ts';
import type { ScriptedTurn } from './turn.ts';

/** Makes the turn of a prompt that is accepted, and has its script played. */
type AcceptPrompt = (request: RecordedRequest, conversation: ScriptedConversation) => ScriptedTurn;

/** What becomes of prompts. */
export interface PromptRules {
  readonly accept: AcceptPrompt;
  /** Take one while a turn runs. */
  readonly queues: boolean;
}

/** Answers a request for one conversation, as the contract says; returns false for a route that is not there. */
export async function answerConversation(
  exchange: Exchange,
  conversation: ScriptedConversation,
  departure: Departure | undefined,
  prompts: PromptRules,
): Promise<boolean> {
  const { method, path } = exchange.request;
  const [, , , , rest = '', name = ''] = path.split('/');
  switch (`${method} ${rest}`) {
    case 'GET ':
      exchange.json(200, { data: conversationBody(conversation) });
      return true;
    case 'GET turns':
      exchange.json(200, { data: conversation.turns.map(turnBody) });
      return true;
    case 'GET events':
      answerEvents(exchange, conversation);
      return true;
    case 'GET stream':
      await answerStream(exchange, conversation, departure);
      return true;
    case 'POST prompts':
      answerPrompt(exchange, conversation, prompts);
      return true;
    case 'POST interrupt':
      answerInterrupt(exchange, conversation);
      return true;
    case 'POST requests':
      answerRequest(exchange, conversation, decodeURIComponent(name));
      return true;
    default:
      return false;
  }
}

/** Returns a conversation as the contract shows it, as far as a client of one reads it. */
export function conversationBody(conversation: ScriptedConversation): Record<string, unknown> {
  const { id, title, status, runtime, acp, turns } = conversation;
  return {
    id,
    title,
    status,
    runtime,
    acp,
    agent_id: conversation.agentId,
    channel_id: conversation.channel,
    first_prompt: turns[0]?.prompt ?? null,
    turn_count: turns.length,
    sandbox_id: null,
    inserted_at: '2026-09-01T10:00:00Z',
    updated_at: '2026-09-03T08:30:00Z',
  };
}

function turnBody({ id, number, prompt, status, clientRequestId, origin }: ScriptedTurn): Record<string, unknown> {
  return { id, turn_number: number, prompt, image_count: 0, status, client_request_id: clientRequestId, origin };
}

function streamsOf({ query }: Exchange['request']): ReadonlySet<string> | undefined {
  const names = query.get('streams');
  return names === null ? undefined : new Set(names.split(',').map((name) => name.trim()));
}

function answerEvents(exchange: Exchange, { events, dialect }: ScriptedConversation): void {
  const { query } = exchange.request;
  const after = Number(query.get('after') ?? 0);
  const limit = Math.min(1000, Number(query.get('limit') ?? 100));
  const streams = streamsOf(exchange.request);
  const wanted = events.filter((event) => (event.id ?? 0) > after && isWanted(event, streams));
  const page = wanted.slice(0, limit);
  exchange.json(200, {
    data: page.map((event) => ({ id: event.id, ...eventBody(event, dialect), duration_ms: null })),
    meta: { limit, has_more: wanted.length > page.length, next_cursor: page.at(-1)?.id ?? null },
  });
}

async function answerStream(exchange: Exchange, conversation: ScriptedConversation, departure: Departure = {}): Promise<void> {
  const { request, response } = exchange;
  const { dialect } = conversation;
  const streams = streamsOf(request);
  const seen = departure.forgetsLastEventId === true ? 0 : Number.parseInt(String(request.headers['last-event-id'] ?? '0'), 10) || 0;
  const follower = new Follower(exchange.eventStream(departure.headers), response, dialect, streams, seen);
  if (departure.prelude !== undefined) follower.sendBytes(departure.prelude);
  const due = conversation.events.filter((event) => (event.id ?? 0) > seen && isWanted(event, streams));
  const last = due.at(-1);
  for (const event of due.slice(0, departure.cutAfter)) {
    if (departure.withoutLast !== undefined && event === last) {
      follower.sendBytes(eventFrame(event, dialect).slice(0, -departure.withoutLast));
    } else follower.send(event);
  }
  if (departure.cutAfter !== undefined && departure.cutAfter < due.length) {
    await follower.written;
    if (response.socket) breakOff(response.socket, 'close');
    return;
  }
  if (request.kind === 'history') {
    follower.breakOff('end');
    return;
  }
  conversation.follow(follower);
  response.on('close', () => conversation.leave(follower));
}

function answerPrompt(exchange: Exchange, conversation: ScriptedConversation, { accept, queues }: PromptRules): void {
  if (conversation.status === 'terminated' || conversation.status === 'failed') {
    exchange.json(410, { error: 'conversation_terminated' });
    return;
  }
  if (!queues && conversation.turns.some(({ status, origin }) => status === 'running' || (status === 'pending' && origin === 'user'))) {
    exchange.json(400, { error: 'conversation_busy' });
    return;
  }
  const turn = accept(exchange.request, conversation);
  const { echoesRequestIds } = conversation.dialect;
  exchange.json(200, { status: 'queued', ...(echoesRequestIds && { client_request_id: turn.clientRequestId }) });
}

function answerInterrupt(exchange: Exchange, conversation: ScriptedConversation): void {
  const turn = conversation.runningTurn;
  if (!turn) {
    exchange.json(409, { error: 'no_turn_running' });
    return;
  }
  turn.interrupts += 1;
  exchange.empty(204);
  turn.onInterrupt();
  conversation.condition.changed();
}

function answerRequest(exchange: Exchange, conversation: ScriptedConversation, requestId: string): void {
  const optionId = exchange.request.body?.['option_id'];
  conversation.answers.push({ requestId, optionId });
  conversation.condition.changed();
  const held = conversation.heldRequest(requestId);
  if (!held?.open && conversation.dialect.announcesRequests) {
    exchange.json(409, { error: 'permission_request_resolved' });
    return;
  }
  if (held && !held.options.some((option) => option['optionId'] === optionId)) {
    exchange.json(422, { error: 'unknown_option', message: 'the request does not offer that option' });
    return;
  }
  exchange.json(200, { ok: true });
  conversation.closeRequests('answered', held, optionId);
}
