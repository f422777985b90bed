// The yardstick: an adapter written by hand in one loop, without libraries. It reads a line, and answers it; for a
// replay or a prompt it parses each event, rewrites what must be rewritten, and prints it.
import http from 'node:http';
import readline from 'node:readline';

const base = process.env.FOUNTAIN_BASE_URL;
const write = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

function read(id, wait, onEvent) {
  http.get(`${base}/api/conversations/${id}/stream?streams=acp,stage${wait ? '' : '&wait=false'}`, (response) => {
    const lines = readline.createInterface({ input: response, crlfDelay: Infinity });
    lines.on('line', (line) => {
      if (line.startsWith('data: ')) onEvent(JSON.parse(line.slice(6)));
    });
    lines.on('close', () => onEvent(undefined));
    if (wait) onEvent(null);
  });
}

function forward(row, sessionId) {
  const message = JSON.parse(row.data);
  message.params.sessionId = sessionId;
  const { update } = message.params;
  if (update.locations) {
    update._meta = { ...update._meta, 'fountain.sandboxLocations': update.locations };
    delete update.locations;
  }
  write(message);
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') write({ jsonrpc: '2.0', id, result: { protocolVersion: 1 } });
  if (method === 'session/load') {
    read(params.sessionId, false, (row) => {
      if (row === undefined) write({ jsonrpc: '2.0', id, result: {} });
      else if (row?.kind === 'output') forward(row, params.sessionId);
    });
  }
  if (method === 'session/prompt') {
    read(params.sessionId, true, (row) => {
      if (row === null) {
        const request = http.request(`${base}/api/conversations/${params.sessionId}/prompts`, { method: 'POST', headers: { 'content-type': 'application/json' } });
        request.end(JSON.stringify({ prompt: 'go' }));
      } else if (row?.kind === 'output') forward(row, params.sessionId);
      else if (row?.state === 'done') write({ jsonrpc: '2.0', id, result: { stopReason: 'end_turn' } });
    });
  }
});
