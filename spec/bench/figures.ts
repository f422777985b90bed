import { BenchServer, programs, Subject } from './subject.ts';

/** One measured figure. `ratio` is better the smaller it is, but where `atLeast` is set. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly yardstick: number;
  readonly unit: string;
  readonly ratio: number;
  readonly goal: number;
  readonly atLeast?: boolean;
}

/** Node 20 starts so slowly by itself that we may add less. */
const startGoal = process.versions.node.startsWith('20.') ? 1.3 : 1.45;

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN;
}

type Name = keyof typeof programs;

/** Measures programs in turn, so that what else the machine does meets all alike; returns each one's values. */
async function sideBySide<K extends Name>(names: readonly K[], runs: number, measure: (name: K) => Promise<number>): Promise<Record<K, number[]>> {
  const values = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<K, number[]>;
  for (let run = 0; run < runs; run += 1) for (const name of names) values[name].push(await measure(name));
  return values;
}

function figure(name: string, unit: string, value: number, yardstick: number, goal: number): Figure {
  return { name, unit, value, yardstick, ratio: value / yardstick, goal };
}

function rate(name: string, unit: string, value: number, yardstick: number, goal: number): Figure {
  return { ...figure(name, unit, value, yardstick, goal), atLeast: true };
}

const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} } };

/** Spawn to the answer to `initialize`, and the resident size behind it. */
export async function startUp(runs: number): Promise<Figure[]> {
  const memory: Record<string, number[]> = { bare: [], fountain: [] };
  const times = await sideBySide(['bare', 'fountain', 'help'], runs, async (name) => {
    const subject = new Subject(programs[name]);
    subject.send(initialize);
    const ms = await subject.firstByte();
    memory[name]?.push(subject.memory('VmRSS'));
    await subject.end();
    return ms;
  });
  const bare = median(times.bare);
  return [
    figure('start-up', 'ms', median(times.fountain), bare, startGoal),
    figure('--help', 'ms', median(times.help), bare, 2),
    figure('memory after initialize', 'MiB', median(memory['fountain'] ?? []), median(memory['bare'] ?? []), 1.15),
  ];
}

async function opened(name: 'fountain' | 'yardstick', baseUrl: string): Promise<Subject> {
  const subject = new Subject(programs[name], baseUrl);
  await subject.call('initialize', { protocolVersion: 1, clientCapabilities: {} });
  return subject;
}

/** Replays of many updates: rate, first update, peak memory, and that of a history ten times as long. */
export async function replay(runs: number, updates: number): Promise<Figure[]> {
  const server = await BenchServer.start();
  const first: Record<string, number[]> = { fountain: [], yardstick: [] };
  const peaks: number[] = [];
  try {
    const rates = await sideBySide(['yardstick', 'fountain'], runs, async (name) => {
      const subject = await opened(name, server.baseUrl);
      const { sentAt, firstAt, answeredAt } = await subject.call('session/load', { sessionId: `replay-${updates}`, cwd: '/', mcpServers: [] });
      if (subject.lines !== updates + 2) throw new Error(`${name} printed ${subject.lines} lines for ${updates} updates`);
      first[name]?.push(firstAt - sentAt);
      if (name === 'fountain') peaks.push(subject.memory('VmHWM'));
      await subject.end();
      return (updates / (answeredAt - sentAt)) * 1000;
    });
    const long = await opened('fountain', server.baseUrl);
    await long.call('session/load', { sessionId: `replay-${updates * 10}`, cwd: '/', mcpServers: [] });
    const longPeak = long.memory('VmHWM');
    await long.end();
    const [yardstickFirst, ourFirst] = [median(first['yardstick'] ?? []), median(first['fountain'] ?? [])];
    return [
      rate('replay', 'updates/s', median(rates.fountain), median(rates.yardstick), 1.2),
      { name: 'first update of it (ms later than the yardstick; goal 30)', unit: 'ms', value: ourFirst, yardstick: yardstickFirst, ratio: ourFirst - yardstickFirst, goal: 30 },
      { name: 'peak memory of it (of 120 MiB)', unit: 'MiB', value: median(peaks), yardstick: 120, ratio: median(peaks) / 120, goal: 1 },
      figure('peak memory, ten times longer', 'MiB', longPeak, median(peaks), 1.1),
    ];
  } finally {
    server.close();
  }
}

/** A turn as fast as it comes, and one at a pace: rate and latency. */
export async function live(runs: number, updates: number): Promise<Figure[]> {
  const server = await BenchServer.start();
  let nth = 0;
  const prompt = (subject: Subject, sessionId: string, onLine?: (line: string) => void) =>
    subject.call('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'go' }] }, onLine);
  const session = async (subject: Subject, sessionId: string, name: string): Promise<string> => {
    if (name === 'fountain') await subject.call('session/load', { sessionId, cwd: '/', mcpServers: [] });
    return sessionId;
  };
  try {
    const rates = await sideBySide(['yardstick', 'fountain'], runs, async (name) => {
      const subject = await opened(name, server.baseUrl);
      const id = await session(subject, `turn-${updates}-0-${(nth += 1)}`, name);
      const { sentAt, answeredAt } = await prompt(subject, id);
      await subject.end();
      return (updates / (answeredAt - sentAt)) * 1000;
    });
    const latencies: Record<string, number[]> = { yardstick: [], fountain: [] };
    await sideBySide(['yardstick', 'fountain'], runs, async (name) => {
      const subject = await opened(name, server.baseUrl);
      const id = await session(subject, `turn-400-200-${(nth += 1)}`, name);
      await prompt(subject, id, (line) => {
        const sent = /@(\d+)@/.exec(line)?.[1];
        if (sent !== undefined) latencies[name]?.push(Number(process.hrtime.bigint() - BigInt(sent)) / 1e6);
      });
      await subject.end();
      return 0;
    });
    const { yardstick = [], fountain = [] } = latencies;
    return [
      rate('live turn', 'updates/s', median(rates.fountain), median(rates.yardstick), 1),
      figure('latency of an update, p50', 'ms', median(fountain), median(yardstick), 1.5),
      figure('latency of an update, p99', 'ms', quantile(fountain, 0.99), quantile(yardstick, 0.99), 2),
    ];
  } finally {
    server.close();
  }
}

/** A prompt behind few events and behind many, and one event of two sizes. */
export async function growth(runs: number, many: number): Promise<Figure[]> {
  const server = await BenchServer.start();
  const promptMs = async (events: number): Promise<number> => {
    const subject = await opened('fountain', server.baseUrl);
    const sessionId = `replay-${events}`;
    await subject.call('session/load', { sessionId, cwd: '/', mcpServers: [] });
    const { sentAt, answeredAt } = await subject.call('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'go' }] });
    await subject.end();
    return answeredAt - sentAt;
  };
  const bigMs = async (bytes: number): Promise<number> => {
    const subject = await opened('fountain', server.baseUrl);
    const { sentAt, answeredAt } = await subject.call('session/load', { sessionId: `big-${bytes}`, cwd: '/', mcpServers: [] });
    await subject.end();
    return answeredAt - sentAt;
  };
  const values: Record<'few' | 'many' | 'small' | 'large', number[]> = { few: [], many: [], small: [], large: [] };
  try {
    for (let run = 0; run < runs; run += 1) {
      values.few.push(await promptMs(10));
      values.many.push(await promptMs(many));
      values.small.push(await bigMs(10_000_000));
      values.large.push(await bigMs(20_000_000));
    }
    return [
      figure(`prompt behind ${many} events (against 10)`, 'ms', median(values.many), median(values.few), 1.3),
      figure('event of 20 MB (against 10 MB)', 'ms', median(values.large), median(values.small), 2.5),
    ];
  } finally {
    server.close();
  }
}
