// An ACP agent that does what its prompt says: the text is a JSON list of steps. Plain JavaScript, so that it starts fast.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { eachLine } from './eachLine.mjs';

const options = new Set(process.argv.slice(2));
const pending = new Map();
let nextId = 0;
let sessionId = '';
let mcpServers = [];
let cancelled = () => undefined;

const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const update = (value) => write({ method: 'session/update', params: { sessionId, update: value } });
const chunk = (text, kind = 'agent_message_chunk') => update({ sessionUpdate: kind, content: { type: 'text', text } });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function request(method, params) {
  const id = nextId++;
  write({ id, method, params });
  return new Promise((resolve) => pending.set(id, resolve));
}

const permissionOptions = [
  { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
];

/** Each step by its name; what it returns other than undefined ends the turn. */
const steps = {
  say: (text) => chunk(text),
  think: (text) => chunk(text, 'agent_thought_chunk'),
  update: (value) => update(value),
  title: (title) => update({ sessionUpdate: 'session_info_update', title }),
  ask: async ({ title = 'make test', kind = 'execute', options: offered = permissionOptions }) => {
    const { outcome } = await request('session/request_permission', { sessionId, toolCall: { toolCallId: 't', title, kind }, options: offered });
    chunk(`asked:${outcome.outcome}:${outcome.optionId ?? ''}`);
  },
  withdraw: () => write({ method: '$/cancel_request', params: { requestId: nextId - 1 } }),
  askAside: (value) => void steps.ask(value),
  sleep,
  burst: ({ count, length }) => {
    for (let index = 0; index < count; index += 1) chunk(`${index}:${'x'.repeat(length)}`);
  },
  stdout: (text) => process.stdout.write(text),
  stderr: (text) => process.stderr.write(text),
  env: (name) => chunk(`${name}=${process.env[name] ?? ''}`),
  fetch: async (url) => chunk(`fetch ${await fetch(url).then(({ status }) => status, () => 'failed')}`),
  stderrEnv: (name) => process.stderr.write(`${process.env[name]}\n`),
  errorEnv: (name) => Promise.reject(new Error(`no ${process.env[name]}`)),
  file: ({ path, text }) => writeFileSync(path, text),
  spawn: (seconds) => chunk(`pid:${spawn(process.execPath, ['-e', `setTimeout(() => {}, ${seconds * 1000})`], { stdio: 'ignore', detached: true }).pid}`),
  pid: () => chunk(`pid:${process.pid}`),
  wait: () => new Promise((resolve) => (cancelled = () => resolve({ stopReason: 'cancelled' }))),
  hang: () => new Promise(() => undefined),
  stop: (stopReason) => ({ stopReason }),
  use: (usage) => ({ stopReason: 'end_turn', usage }),
  mcp: () => chunk(`mcp:${JSON.stringify(mcpServers)}`),
  error: (message) => Promise.reject(new Error(message)),
  exit: (code) => process.exit(code),
};

async function prompt(id, text) {
  const list = text.startsWith('[') ? JSON.parse(text) : [{ say: `echo:${text}` }];
  let after = [];
  try {
    for (const step of list) {
      const [[name, value]] = Object.entries(step);
      if (name === 'after') {
        after = value;
        continue;
      }
      const end = await steps[name](value);
      if (end !== undefined && typeof end === 'object' && 'stopReason' in end) return write({ id, result: end });
    }
    write({ id, result: { stopReason: 'end_turn' } });
  } catch (error) {
    write({ id, error: { code: -32000, message: error.message } });
  }
  for (const step of after) {
    const [[name, value]] = Object.entries(step);
    await steps[name](value);
  }
}

const sessionFile = (id) => `.sessions/${id}`;

const methods = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: { promptCapabilities: { image: true }, sessionCapabilities: options.has('--resume') ? { resume: {} } : {} } }),
  'session/new': (params) => {
    mcpServers = params.mcpServers;
    sessionId = `s-${process.pid}-${Date.now()}`;
    mkdirSync('.sessions', { recursive: true });
    writeFileSync(sessionFile(sessionId), '');
    const models = { currentModelId: 'one', availableModels: [{ modelId: 'one', name: 'One' }, { modelId: 'two', name: 'Two' }] };
    return options.has('--models') ? { sessionId, models } : { sessionId };
  },
  'session/resume': (params) => {
    if (!existsSync(sessionFile(params.sessionId))) throw new Error('no such session');
    sessionId = params.sessionId;
    return {};
  },
  'session/set_model': () => ({}),
};

if (options.has('--slow-start')) await sleep(1500);
if (options.has('--broken')) {
  process.stderr.write('cannot find my head\n');
  process.exit(3);
}
if (options.has('--stubborn')) {
  process.on('SIGTERM', () => undefined);
  setInterval(() => undefined, 1000);
}

eachLine(process.stdin, (line) => {
  const message = JSON.parse(line);
  if (process.env.AGENT_LOG) appendFileSync(process.env.AGENT_LOG, `${line}\n`);
  if (message.method === undefined) pending.get(message.id)?.(message.result ?? { outcome: { outcome: 'error' } });
  else if (message.method === 'session/prompt') {
    const text = message.params.prompt.filter((block) => block.type === 'text').map((block) => block.text).join('\n');
    const images = message.params.prompt.filter((block) => block.type === 'image').length;
    if (images > 0) chunk(`images:${images}`);
    void prompt(message.id, text);
  } else if (message.method === 'session/cancel') {
    if (!options.has('--deaf')) cancelled();
  } else if (message.id !== undefined) {
    try {
      const handler = methods[message.method];
      if (handler === undefined) write({ id: message.id, error: { code: -32601, message: 'Method not found' } });
      else write({ id: message.id, result: handler(message.params) });
    } catch (error) {
      write({ id: message.id, error: { code: -32000, message: error.message } });
    }
  }
});
