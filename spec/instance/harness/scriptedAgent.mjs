// An ACP program that does what its first argument says: {"<method>": [action, ...]}. Each action is one of
// {line} (an object or raw text), {result}, {error}, {stderr}, {exit}, {pause: ms}, {until: method},
// {ask: message} (writes a request and, when it is answered, an update that carries the answer),
// {start: "member" | "leader"} (a sleeping child in this process group, or in one of its own; its id goes to stderr).
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const script = JSON.parse(process.argv[2]);
const seen = new Map();
const answers = new Map();

function write(line) {
  process.stdout.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`);
}

function arrival(map, key) {
  let entry = map.get(key);
  if (!entry) {
    entry = {};
    entry.promise = new Promise((resolve) => (entry.resolve = resolve));
    map.set(key, entry);
  }
  return entry;
}

async function act(action, id) {
  if ('line' in action) write(action.line);
  else if ('result' in action) write({ jsonrpc: '2.0', id, result: action.result });
  else if ('error' in action) write({ jsonrpc: '2.0', id, error: action.error });
  else if ('stderr' in action) process.stderr.write(action.stderr);
  else if ('exit' in action) process.exit(action.exit);
  else if ('pause' in action) await new Promise((resolve) => setTimeout(resolve, action.pause));
  else if ('until' in action) await arrival(seen, action.until).promise;
  else if ('start' in action) {
    const child = spawn('sleep', ['300'], { detached: action.start === 'leader', stdio: 'inherit' });
    child.unref();
    process.stderr.write(`started ${child.pid}\n`);
  } else if ('ask' in action) {
    write(action.ask);
    const answer = await arrival(answers, JSON.stringify(action.ask.id)).promise;
    write({ jsonrpc: '2.0', method: 'session/update', params: { answer } });
  }
}

process.on('SIGTERM', () => {
  if (!script.deaf) process.exit(0);
});
// A deaf one outlives the end of its stdin.
if (script.deaf) setInterval(() => undefined, 1000);

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.method === undefined) {
    const { id, jsonrpc, ...answer } = message;
    arrival(answers, JSON.stringify(id)).resolve(answer);
    continue;
  }
  arrival(seen, message.method).resolve();
  const actions = script[message.method] ?? [];
  void (async () => {
    for (const action of actions) await act(action === 'echo' ? { line: { jsonrpc: '2.0', method: 'session/update', params: { echo: message.params } } } : action, message.id);
  })();
}
