// A Fountain instance reduced to what the benchmarks ask of it, in a process of its own. A conversation's id says what it
// holds: the number behind "replay-" or "turn-", and a pace in updates a second behind a second dash.
import { once } from 'node:events';
import { createServer } from 'node:http';

const chunkBytes = 64 * 1024;

/** About 500 bytes as they are sent; one in five is a tool call with locations. */
function update(nth, padding = 'x'.repeat(200)) {
  const text = `${nth} ${padding}`;
  if (nth % 5 !== 4) return { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } };
  const locations = [{ path: `/workspace/src/${nth}.ts`, line: nth % 900 }];
  return { sessionUpdate: 'tool_call', toolCallId: `call-${nth}`, title: `Read ${nth}.ts`, kind: 'read', status: 'completed', locations, rawInput: { text } };
}

function output(id, params, turnId) {
  const data = JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params });
  return `id: ${id}\nevent: output\ndata: ${JSON.stringify({ kind: 'output', stream: 'acp', data, stage: '', state: '', turn_id: turnId })}\n\n`;
}

function stage(id, state, metadata, turnId) {
  return `id: ${id}\nevent: stage\ndata: ${JSON.stringify({ kind: 'stage', stream: '', data: JSON.stringify({ turn_id: turnId, ...metadata }), stage: 'turn', state, turn_id: turnId })}\n\n`;
}

async function drained(response) {
  const waiting = new AbortController();
  const gone = once(response, 'close', { signal: waiting.signal });
  const ready = once(response, 'drain', { signal: waiting.signal });
  for (const either of [gone, ready]) either.catch(() => undefined);
  await Promise.race([ready, gone]).catch(() => undefined);
  waiting.abort();
}

/** Writes as fast as the other side reads. */
async function pour(response, count, firstId, turnId) {
  let text = '';
  for (let nth = 0; nth < count; nth += 1) {
    text += output(firstId + nth, { sessionId: 'in-the-sandbox', update: update(nth) }, turnId);
    if (text.length < chunkBytes && nth + 1 < count) continue;
    if (response.destroyed) return;
    if (!response.write(text)) await drained(response);
    text = '';
  }
}

const conversations = new Map();

function conversationOf(id) {
  const found = conversations.get(id) ?? { followers: new Set(), turns: 0, lastId: 0 };
  conversations.set(id, found);
  return found;
}

async function play(id, clientRequestId) {
  const [, count = 0, pace = 0] = id.split('-').map(Number);
  const conversation = conversationOf(id);
  const turnId = `turn-${(conversation.turns += 1)}`;
  const events = id.startsWith('turn') ? count : 1;
  const first = Math.max(conversation.lastId, id.startsWith('replay') ? count : 0) + 1;
  conversation.lastId = first + events + 2;
  const send = (text) => conversation.followers.forEach((response) => response.write(text));
  send(stage(first, 'started', { turn_number: conversation.turns, client_request_id: clientRequestId ?? null }, turnId));
  if (pace > 0) {
    await new Promise((resolve) => {
      let nth = 0;
      const timer = setInterval(() => {
        send(output(first + 1 + nth, { sessionId: 's', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: `@${process.hrtime.bigint()}@` } } }, turnId));
        if ((nth += 1) < events) return;
        clearInterval(timer);
        resolve();
      }, 1000 / pace);
    });
  } else for (const response of conversation.followers) await pour(response, events, first + 1, turnId);
  send(stage(first + events + 1, 'done', { stop_reason: 'end_turn' }, turnId));
}

/** One event whose update holds this many bytes, in pieces. */
async function big(response, bytes) {
  const text = output(1, { sessionId: 's', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'b'.repeat(bytes) } } }, 'turn-0');
  for (let at = 0; at < text.length; at += chunkBytes) {
    if (!response.write(text.slice(at, at + chunkBytes))) await drained(response);
  }
}

async function stream(id, response, { after, wait }) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.write(': connected\n\n');
  const [name, count = 0] = id.split('-');
  if (name === 'replay' && after < Number(count)) await pour(response, Number(count) - after, after + 1, 'turn-0');
  if (name === 'big' && after === 0) await big(response, Number(count));
  if (!wait) return response.end();
  conversationOf(id).followers.add(response);
  response.once('close', () => conversationOf(id).followers.delete(response));
}

function json(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://bench');
  const [, , , id = '', route = ''] = url.pathname.split('/');
  let body = '';
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    if (route === 'stream') {
      void stream(id, response, { after: Number(request.headers['last-event-id'] ?? 0), wait: url.searchParams.get('wait') !== 'false' });
    } else if (route === 'prompts') {
      json(response, 202, { status: 'accepted', client_request_id: null });
      void play(id, JSON.parse(body).client_request_id);
    } else if (route === '' && id !== '') {
      json(response, 200, { data: { id, title: null, agent_id: null, runtime: 'claude', acp: true, status: 'idle', channel_id: null } });
    } else json(response, 404, { error: 'not_found' });
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
process.stdin.resume().on('end', () => process.exit(0));
