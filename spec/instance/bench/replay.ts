// Prints how fast a long conversation is replayed, and what a prompt costs in a short and in a long one.
// Run with: node --import tsx spec/instance/bench/replay.ts [events]
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startInstance } from '../../../lib/instance/instance.ts';

const [events = 100_000] = process.argv.slice(2).map(Number);
const dataDir = await mkdtemp(path.join(os.tmpdir(), 'fountain-bench-'));
const instance = await startInstance({ port: 0, dataDir, isolation: 'off' });
const headers = { authorization: `Bearer ${instance.key}`, 'content-type': 'application/json' };

async function call(method: string, url: string, body?: unknown): Promise<{ data: { id: string; status?: string } }> {
  const response = await fetch(`${instance.baseUrl}${url}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as { data: { id: string } };
}

function drain(id: string, query: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    request(`${instance.baseUrl}/api/conversations/${id}/stream${query}`, { agent: false, headers }, (response) => {
      response.on('data', (chunk: Buffer) => (bytes += chunk.length)).on('end', () => resolve(bytes)).on('error', reject);
    }).end();
  });
}

async function turn(id: string, chunks: number): Promise<number> {
  const startedAt = performance.now();
  await call('POST', `/api/conversations/${id}/prompts`, { prompt: `${chunks} 200` });
  while ((await call('GET', `/api/conversations/${id}`)).data.status !== 'idle') await new Promise((resolve) => setTimeout(resolve, 1));
  return performance.now() - startedAt;
}

async function median(id: string): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < 21; index += 1) times.push(await turn(id, 1));
  return times.sort((a, b) => a - b)[10] ?? 0;
}

const agent = await call('POST', '/api/agents', { name: 'bench', runtime: 'acp', runtime_command: `perl ${fileURLToPath(new URL('agent.pl', import.meta.url))}` });
const { id } = (await call('POST', '/api/conversations', { agent_id: agent.data.id, prompt: '1 1' })).data;
while ((await call('GET', `/api/conversations/${id}`)).data.status !== 'idle') await new Promise((resolve) => setTimeout(resolve, 5));
const short = await median(id);
const storedIn = await turn(id, events);
const long = await median(id);
const startedAt = performance.now();
const bytes = await drain(id, '?wait=false');
const replayedIn = performance.now() - startedAt;
const stagesAt = performance.now();
await drain(id, '?wait=false&streams=stage');
const stagesIn = performance.now() - stagesAt;
process.stdout.write(`a turn of one chunk: ${short.toFixed(1)} ms in a new conversation, ${long.toFixed(1)} ms after ${events} events
${events} events of one turn stored in ${Math.round(storedIn)} ms
replayed in ${Math.round(replayedIn)} ms: ${Math.round(events / replayedIn) * 1000} events/s, ${(bytes / replayedIn / 1000).toFixed(0)} MB/s; its stage events alone in ${stagesIn.toFixed(1)} ms
`);
await instance.close();
await rm(dataDir, { recursive: true, force: true });
