// Drives an instance from a process of its own: conversations, streams on them, prompts, and what the streams saw.
import { request } from 'node:http';
import { fileURLToPath } from 'node:url';

interface Job {
  readonly baseUrl: string;
  readonly key: string;
  readonly conversations: number;
  readonly streams: number;
  readonly chunks: number;
  readonly length: number;
}

interface Stream {
  events: number;
  disorder: number;
  ended: number;
}

const job = JSON.parse(process.argv[2] ?? '{}') as Job;
const agentCommand = `perl ${fileURLToPath(new URL('agent.pl', import.meta.url))}`;
const latencies: number[] = [];
let turnsEnded = 0;
let wake = (): void => undefined;

async function call(method: string, url: string, body: unknown): Promise<{ data: { id: string } }> {
  const response = await fetch(`${job.baseUrl}${url}`, { method, headers: { authorization: `Bearer ${job.key}`, 'content-type': 'application/json' }, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${url}: ${await response.text()}`);
  return (await response.json()) as { data: { id: string } };
}

function attach(conversation: string): Promise<Stream> {
  const stream: Stream = { events: 0, disorder: 0, ended: 0 };
  let last = 0;
  let rest = '';
  return new Promise((resolve, reject) => {
    const get = request(`${job.baseUrl}/api/conversations/${conversation}/stream?streams=acp,stage`, { agent: false, headers: { authorization: `Bearer ${job.key}` } }, (response) => {
      resolve(stream);
      response.setEncoding('utf8').on('data', (text: string) => {
        const now = Date.now();
        const frames = `${rest}${text}`.split('\n\n');
        rest = frames.pop() ?? '';
        for (const frame of frames) {
          const id = Number(/^id: (\d+)/.exec(frame)?.[1] ?? 0);
          if (id === 0) continue;
          stream.events += 1;
          if (id <= last) stream.disorder += 1;
          last = id;
          latencies.push(now - Date.parse(`${frame.slice(frame.lastIndexOf('"ts":"') + 6).slice(0, 23)}Z`));
          if (!frame.includes('"stage":"turn","state":"done"')) continue;
          turnsEnded += 1;
          wake();
        }
      });
    });
    get.on('error', reject);
    get.end();
  });
}

const agent = await call('POST', '/api/agents', { name: `bench-${Date.now()}`, runtime: 'acp', runtime_command: agentCommand });
const ids: string[] = [];
for (let index = 0; index < job.conversations; index += 1) ids.push((await call('POST', '/api/conversations', { agent_id: agent.data.id })).data.id);
const streams = await Promise.all(Array.from({ length: job.streams }, (_, index) => attach(ids[index % ids.length] ?? '')));

/** Prompts every conversation, all at once or one after the other over a while, and waits until every stream saw the end. */
async function round(chunks: number, overMs = 0): Promise<number> {
  const startedAt = performance.now();
  const wanted = turnsEnded + streams.length;
  latencies.length = 0;
  await Promise.all(
    ids.map(async (id, index) => {
      await new Promise((resolve) => setTimeout(resolve, (index / ids.length) * overMs));
      await call('POST', `/api/conversations/${id}/prompts`, { prompt: `${chunks} ${job.length}` });
    }),
  );
  await new Promise<void>((resolve) => {
    wake = () => {
      if (turnsEnded === wanted) resolve();
    };
    wake();
  });
  return performance.now() - startedAt;
}

interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

function latency(): Latency {
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

await round(1);
const before = streams.reduce((sum, stream) => sum + stream.events, 0);
const ms = Math.round(await round(job.chunks));
const delivered = streams.reduce((sum, stream) => sum + stream.events, 0) - before;
const burst = latency();
await round(10, 4000);
const steady = latency();
const disorder = streams.reduce((sum, stream) => sum + stream.disorder, 0);
process.stdout.write(`${JSON.stringify({ ms, delivered, stored: ids.length * (job.chunks + 2), disorder, burst, steady })}\n`);
process.exit(0);
