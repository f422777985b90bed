// Prints how many events an instance delivers to many clients at once, how late, and in how much memory.
// Run with: node --import tsx spec/instance/bench/fanOut.ts [conversations] [streams] [chunks]
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startInstance } from '../../../lib/instance/instance.ts';

const [conversations = 200, streams = 1000, chunks = 100] = process.argv.slice(2).map(Number);
const dataDir = await mkdtemp(path.join(os.tmpdir(), 'fountain-bench-'));
const instance = await startInstance({ port: 0, dataDir, sandboxQuota: 0, isolation: 'off' });
const megabytes = (): number => Math.round(process.memoryUsage().rss / 1024 / 1024);
const idle = megabytes();
let peak = idle;
const sampler = setInterval(() => (peak = Math.max(peak, megabytes())), 50);
const job = { baseUrl: instance.baseUrl, key: instance.key, conversations, streams, chunks, length: 200 };
const client = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(new URL('load.ts', import.meta.url)), JSON.stringify(job)], { stdio: ['ignore', 'pipe', 'inherit'] });
let output = '';
client.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
await new Promise((resolve) => client.once('close', resolve));
clearInterval(sampler);
interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}
interface Result {
  readonly ms: number;
  readonly delivered: number;
  readonly stored: number;
  readonly disorder: number;
  readonly burst: Latency;
  readonly steady: Latency;
}
const result = JSON.parse(output) as Result;
const perSecond = (count: number): string => Math.round((count / result.ms) * 1000).toLocaleString('en');
const words = ({ p50, p99, max }: Latency): string => `p50 ${p50} ms, p99 ${p99} ms, at most ${max} ms`;
process.stdout.write(`${conversations} conversations, ${streams} streams: ${result.delivered} events delivered in ${result.ms} ms, ${result.disorder} of them out of order
${perSecond(result.delivered)} events/s delivered, ${perSecond(result.stored)} events/s stored
from the server's clock to the client, all agents at once: ${words(result.burst)}
from the server's clock to the client, agents one after the other over 4 s: ${words(result.steady)}
server memory: ${idle} MB idle, ${peak} MB at most
`);
await instance.close();
await rm(dataDir, { recursive: true, force: true });
