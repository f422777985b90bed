import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processIdentity } from '../../../lib/instance/engine/processIdentity.ts';
import { contentOf, EventReader, nameOf } from '../support/eventReader.ts';
import type { Frame } from '../support/eventReader.ts';
import { isAlive } from '../support/isAlive.ts';
import { ServeProcess } from '../support/serveProcess.ts';
import { agentCommand, cleanUp, temporaryFolder, TestInstance } from '../support/testInstance.ts';
import type { Step } from '../support/testInstance.ts';
import { until } from '../support/until.ts';

/** How often the server is killed under load. */
const kills = 8;

describe('recover', () => {
  afterEach(cleanUp);

  /** Calls a server that runs in its own process. */
  async function call(base: string, key: string, method: string, url: string, body?: unknown): Promise<Record<string, unknown>> {
    const response = await fetch(`${base}${url}`, { method, headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' }, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    const text = await response.text();
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  }

  async function opened(base: string, key: string, flags: string, policy = {}): Promise<string> {
    const agent = (await call(base, key, 'POST', '/api/agents', { name: `a-${Math.random()}`, runtime: 'acp', runtime_command: `${agentCommand} ${flags}` }))['data'] as { id: string };
    const conversation = (await call(base, key, 'POST', '/api/conversations', { agent_id: agent.id, permission_policy: policy }))['data'] as { id: string };
    return conversation.id;
  }

  const prompt = (base: string, key: string, id: string, steps: readonly Step[]): Promise<unknown> => call(base, key, 'POST', `/api/conversations/${id}/prompts`, { prompt: JSON.stringify(steps) });

  it('should fail the turn that was running, end its open request, and leave no process, stubborn ones included', async () => {
    const dataDir = await temporaryFolder();
    const server = new ServeProcess(dataDir);
    const base = await server.listening();
    const id = await opened(base, server.key, '--stubborn --resume', { default: 'ask' });
    const reader = new EventReader({ url: `${base}/api/conversations/${id}/stream`, key: server.key });
    await prompt(base, server.key, id, [{ pid: 1 }, { spawn: 120 }, { ask: {} }]);
    await reader.frame('request/started', 20_000);
    const pids = [...JSON.stringify(reader.frames).matchAll(/pid:(\d+)/g)].map(([, pid]) => Number(pid));
    expect(pids).to.have.length(2);
    server.kill('SIGKILL');
    await server.ended();
    await until(() => reader.hasFailed || reader.hasEnded, 'the end of the stream');
    expect(pids.every(isAlive), 'the agent outlives the server').to.equal(true);

    const test = await TestInstance.start({ dataDir });
    await until(() => !pids.some(isAlive), 'the end of the agent');
    const events = await test.events(id);
    const seen = reader.frames.map((frame) => frame.id);
    expect(events.slice(0, seen.length).map((event) => event.id)).to.deep.equal(seen);
    const rest = events.filter((event) => event.id > seen.at(-1)!);
    expect(rest.map(nameOf)).to.deep.equal(['request/done', 'turn/failed']);
    expect(contentOf(rest[0]!)).to.include({ outcome: 'turn_ended', request_id: contentOf(events.find((event) => nameOf(event) === 'request/started')!)['request_id'] });
    expect(contentOf(rest[1]!)).to.include({ turn_number: 1, reason: 'the server restarted while the turn was running' });
    expect((await test.get(`/api/conversations/${id}/turns`)).list[0]).to.include({ status: 'failed' });
    expect(await test.show(id)).to.include({ status: 'idle' });
    expect((await test.turn(id, 'go on')).state).to.equal('done');
    expect((await test.names(id)).filter((name) => name === 'reattach/done')).to.have.length(1);
  }).timeout(60_000);

  it('should not end a process that has only the number of one of ours', async () => {
    const dataDir = await temporaryFolder();
    const stranger = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)'], { detached: true, stdio: 'ignore' });
    const mine = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)'], { detached: true, stdio: 'ignore' });
    try {
      await (await TestInstance.start({ dataDir })).close();
      const database = new DatabaseSync(path.join(dataDir, 'fountain.db'));
      const write = database.prepare('INSERT INTO processes (id, sandbox_id, pid, started) VALUES (?, ?, ?, ?)');
      write.run('1', 's', stranger.pid, 'another boot/1');
      write.run('2', 's', mine.pid, await processIdentity(mine.pid!));
      database.close();
      await TestInstance.start({ dataDir });
      await until(() => !isAlive(mine.pid!), 'the end of our process');
      expect(isAlive(stranger.pid!)).to.equal(true);
    } finally {
      stranger.kill('SIGKILL');
      mine.kill('SIGKILL');
    }
  });

  it('should provision again what was being provisioned', async () => {
    const dataDir = await temporaryFolder();
    const server = new ServeProcess(dataDir);
    const base = await server.listening();
    const environment = (await call(base, server.key, 'POST', '/api/environments', { name: 'e', setup_script: 'if [ ! -e ../../../second ]; then touch ../../../second; sleep 60; fi' }))['data'] as { id: string };
    const agent = (await call(base, server.key, 'POST', '/api/agents', { name: 'a', runtime: 'acp', runtime_command: agentCommand, environment_id: environment.id }))['data'] as { id: string };
    const conversation = (await call(base, server.key, 'POST', '/api/conversations', { agent_id: agent.id, prompt: 'x' }))['data'] as { id: string };
    await until(() => existsSync(path.join(dataDir, 'second')), 'the setup script', 20_000);
    server.kill('SIGKILL');
    await server.ended();
    const test = await TestInstance.start({ dataDir });
    await test.event(conversation.id, 'provision/done');
    expect(contentOf(await test.event(conversation.id, 'turn/failed'))).to.not.have.property('turn_number');
    expect((await test.turn(conversation.id, 'now')).state).to.equal('done');
  }).timeout(60_000);

  it('should not wait for ever for a machine that was being made anew when the server ended', async () => {
    const dataDir = await temporaryFolder();
    const first = await TestInstance.start({ dataDir, sandboxIdleSeconds: 0.1, sandboxCheckSeconds: 0.03 });
    const environment = await first.post('/api/environments', { name: 'e' });
    const id = await first.conversation({ agent_id: await first.agent({ environment_id: environment.data['id'] }) });
    await first.event(id, 'sandbox/done');
    await rm(path.join(dataDir, 'sandboxes'), { recursive: true });
    await first.turn(id, 'lost');
    await first.call('PATCH', `/api/environments/${String(environment.data['id'])}`, { setup_script: 'sleep 60' });
    await first.prompt(id, 'held');
    await first.event(id, 'setup/started');
    await first.close();
    const again = await TestInstance.start({ dataDir });
    await again.call('PATCH', `/api/environments/${String(environment.data['id'])}`, { setup_script: '' });
    expect((await again.turn(id, 'now')).state).to.equal('done');
    expect((await again.get('/api/sandboxes')).list.map((sandbox) => sandbox['status'])).to.deep.equal(['ready', 'failed', 'failed']);
  });

  it('should fail running turns with a reason when the server is stopped in good order', async () => {
    const dataDir = await temporaryFolder();
    const first = await TestInstance.start({ dataDir });
    const id = await first.conversation({}, '--resume');
    const reader = first.follow(id);
    await first.prompt(id, [{ pid: 1 }, { hang: 1 }]);
    const pid = await until(() => /pid:(\d+)/.exec(JSON.stringify(reader.frames))?.[1], 'the agent');
    await first.instance.close();
    await reader.ended();
    expect(nameOf(reader.frames.at(-1)!)).to.equal('turn/failed');
    expect(contentOf(reader.frames.at(-1)!)['reason']).to.include('the server was stopped');
    expect(isAlive(Number(pid))).to.equal(false);
    const again = await TestInstance.start({ dataDir });
    expect(await again.show(id)).to.include({ status: 'idle' });
    expect(((await again.show(id))['sandbox'] as { status: string }).status).to.equal('suspended');
    expect((await again.turn(id, 'go on')).state).to.equal('done');
  });

  it(`should lose no event that a client has seen, however often the server is killed under load (${kills} times)`, async () => {
    const dataDir = await temporaryFolder();
    const conversations: string[] = [];
    const seen = new Map<string, Frame[]>();
    let highest = 0;
    for (let round = 0; round < kills; round += 1) {
      const server = new ServeProcess(dataDir);
      const base = await server.listening();
      const { key } = server;
      while (conversations.length < 4) conversations.push(await opened(base, key, '--stubborn --resume'));
      const readers = conversations.map((id) => {
        const lastEventId = seen.get(id)?.at(-1)?.id ?? 0;
        return { id, reader: new EventReader({ url: `${base}/api/conversations/${id}/stream`, key, lastEventId }) };
      });
      const load = conversations.map(async (id) => {
        while (!server.hasEnded) {
          await prompt(base, key, id, [{ burst: { count: 300, length: 200 } }, { sleep: 20 }]).catch(() => undefined);
          await delay(5);
        }
      });
      await until(() => readers.some(({ reader }) => reader.frames.some((frame) => frame.stream === 'acp')), 'output', 20_000);
      await delay(Math.random() * 400);
      server.kill('SIGKILL');
      await server.ended();
      await Promise.all(load);
      await until(() => readers.every(({ reader }) => reader.hasFailed || reader.hasEnded), 'the end of the streams');
      for (const { id, reader } of readers) seen.set(id, [...(seen.get(id) ?? []), ...reader.frames]);
    }
    const test = await TestInstance.start({ dataDir });
    let total = 0;
    for (const id of conversations) {
      const stored = await test.events(id);
      const byId = new Map(stored.map((event) => [event.id, event.data]));
      const frames = seen.get(id) ?? [];
      total += frames.length;
      for (const frame of frames) expect(byId.get(frame.id), `event ${frame.id}`).to.equal(frame.data);
      const ids = frames.map((frame) => frame.id);
      expect(ids).to.deep.equal([...new Set(ids)].sort((a, b) => a - b));
      expect(ids).to.deep.equal(stored.map((event) => event.id).filter((number) => number <= ids.at(-1)!));
      // Each turn has one end, behind its start. One that still waited for its start when the server was killed has none.
      const stages = stored.filter((event) => event.stage === 'turn' && event.kind === 'stage');
      const states = new Map<string | null, string[]>();
      for (const { turn_id: turnId, state } of stages) states.set(turnId, [...(states.get(turnId) ?? []), state]);
      for (const [turnId, [first, ...others]] of states) {
        expect(others, `turn ${String(turnId)}`).to.have.length(first === 'started' ? 1 : 0);
        expect(others).not.to.contain('started');
      }
      expect((await test.get(`/api/conversations/${id}/turns`)).list.filter((turn) => ['running', 'pending'].includes(String(turn['status'])))).to.deep.equal([]);
      highest = Math.max(highest, stored.at(-1)!.id);
    }
    expect(total).to.be.greaterThan(kills * 50);
    const next = await test.turn(conversations[0]!, 'still here');
    expect(next.state).to.equal('done');
    expect(next.id).to.be.greaterThan(highest);
  }).timeout(180_000);
});
