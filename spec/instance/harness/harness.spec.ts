import { expect } from 'chai';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startHarness, type Harness, type HarnessOptions } from '../../../lib/instance/harness/harness.ts';
import type { ModelEvent } from '../../../lib/instance/harness/selectModel.ts';

const agent = fileURLToPath(new URL('scriptedAgent.mjs', import.meta.url));
const initialized = { protocolVersion: 1, agentCapabilities: {} };

type Script = Readonly<Record<string, unknown>>;

const usual: Script = {
  initialize: [{ result: initialized }],
  'session/new': [{ result: { sessionId: 's-1' } }],
  'session/prompt': [{ result: { stopReason: 'end_turn' } }],
};

function update(text: string): string {
  return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"${text}"}}}}`;
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 5000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('the condition did not come true in time');
    await delay(5);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A killed child whose new parent has not waited for it yet is still listed.
    return !existsSync(`/proc/${pid}/stat`) || !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

describe('startHarness', () => {
  let cwd: string;
  let messages: string[];
  let stdout: string;
  let stderr: string;
  let models: ModelEvent[];
  let started: Harness[];

  beforeEach(() => {
    cwd = mkdtempSync(path.join(tmpdir(), 'harness-'));
    [messages, stdout, stderr, models, started] = [[], '', '', [], []];
  });

  afterEach(async () => {
    await Promise.all(started.map((harness) => harness.stop()));
    rmSync(cwd, { recursive: true, force: true });
  });

  async function start(script: Script, changes: Partial<HarnessOptions> = {}, signal = new AbortController().signal): Promise<Harness> {
    const harness = await startHarness(
      {
        command: process.execPath,
        args: [agent, JSON.stringify(script)],
        cwd,
        env: { PATH: process.env['PATH'] ?? '' },
        runtimeSessionId: null,
        model: null,
        onMessage: (line) => messages.push(line),
        onPermission: () => Promise.resolve({ outcome: { outcome: 'cancelled' } }),
        onStdout: (text) => (stdout += text),
        onStderr: (text) => (stderr += text),
        onModel: (event) => models.push(event),
        ...changes,
      },
      signal,
    );
    started.push(harness);
    return harness;
  }

  async function failure(script: Script, changes: Partial<HarnessOptions> = {}): Promise<string> {
    return start(script, changes).then(
      () => 'started',
      (error: unknown) => (error as Error).message,
    );
  }

  const prompt = { text: 'go', images: [] };

  it('should open a new session and answer with the stop reason when the harness does', async () => {
    const harness = await start({ ...usual, 'session/prompt': [{ result: { stopReason: 'refusal' } }] });
    expect(harness).to.include({ runtimeSessionId: 's-1', start: 'new' });
    expect(await harness.prompt(prompt)).to.deep.equal({ kind: 'stop', stopReason: 'refusal' });
  });

  it('should hand updates on as they were written and in order, and only those before the answer before it settles', async () => {
    const odd = `{"method":"session/update" , "jsonrpc":"2.0","params":{"n":1.0,"n2":12345678901234567890,"text":"\\u00e9é\u2028"}}`;
    const harness = await start({ ...usual, 'session/prompt': [{ line: `${update('a')}\n${odd}` }, { result: { stopReason: 'end_turn' } }, { line: update('late') }] });
    await harness.prompt(prompt);
    expect(messages).to.deep.equal([update('a'), odd]);
    await until(() => messages.length === 3);
    expect(messages[2]).to.equal(update('late'));
  });

  it('should keep a line of 20 MB whole', async () => {
    const pauses = Array.from({ length: 3 }, () => ({ pause: 1 }));
    const harness = await start({ ...usual, 'session/prompt': [...pauses, 'echo', { result: {} }] });
    const text = 'é'.repeat(10_000_000);
    expect(await harness.prompt({ text, images: [] })).to.deep.equal({ kind: 'stop', stopReason: 'end_turn' });
    const echoed = JSON.parse(messages[0]!) as { params: { echo: { prompt: { text: string }[] } } };
    expect(echoed.params.echo.prompt[0]!.text === text).to.equal(true);
  });

  it('should tell what is no message of the protocol as output when the harness writes it', async () => {
    const noise = ['plain words', '{"level":"info"}', '[1]', '{"jsonrpc":"2.0","id":99,"result":{}}', '{"jsonrpc":"2.0",'];
    const harness = await start({ ...usual, 'session/prompt': [...noise.map((line) => ({ line })), { stderr: 'aside\n' }, { result: {} }] });
    await harness.prompt(prompt);
    expect(stdout).to.equal(`${noise.join('\n')}\n`);
    await until(() => stderr === 'aside\n');
    expect(messages).to.deep.equal([]);
  });

  it('should send images where the harness takes them, and say so where it does not', async () => {
    const images = [{ data: 'AAAA', media_type: 'image/png' }];
    const echo = { ...usual, 'session/prompt': ['echo', { result: {} }] };
    const seeing = await start({ ...echo, initialize: [{ result: { protocolVersion: 1, agentCapabilities: { promptCapabilities: { image: true } } } }] });
    await seeing.prompt({ text: '', images });
    expect(messages[0]).to.contain('"prompt":[{"type":"image","data":"AAAA","mimeType":"image/png"}]');
    const blind = await start(echo);
    await blind.prompt({ text: 'look', images });
    expect(messages[1]).to.contain('"prompt":[{"type":"text","text":"look"}]');
    expect(stderr).to.contain('takes no images');
    expect(await blind.prompt({ text: '', images })).to.deep.equal({ kind: 'error', reason: 'the agent takes no images' });
  });

  describe('going back to a session', () => {
    const resumable = { protocolVersion: 1, agentCapabilities: { loadSession: true, sessionCapabilities: { resume: {} } } };
    const loadable = { protocolVersion: 1, agentCapabilities: { loadSession: true } };
    const unknown = { error: { code: -32002, message: 'Resource not found' } };

    it('should resume where the harness can', async () => {
      const harness = await start({ ...usual, initialize: [{ result: resumable }], 'session/resume': ['echo', { result: {} }] }, { runtimeSessionId: 'old' });
      expect(harness).to.include({ runtimeSessionId: 'old', start: 'resumed' });
    });

    it('should load where it cannot resume, and drop the replay until it is quiet', async () => {
      const replay = [{ line: update('old 1') }, { result: null }, { line: update('old 2') }, { pause: 20 }, { line: update('old 3') }];
      const harness = await start(
        { ...usual, initialize: [{ result: loadable }], 'session/load': replay, 'session/prompt': [{ line: update('new') }, { result: {} }] },
        { runtimeSessionId: 'old', times: { quietMs: 200 } },
      );
      expect(harness).to.include({ runtimeSessionId: 'old', start: 'loaded' });
      await harness.prompt(prompt);
      expect(messages).to.deep.equal([update('new')]);
    });

    it('should open a new session when the harness does not know the old one', async () => {
      const script = { ...usual, initialize: [{ result: resumable }], 'session/resume': [unknown], 'session/load': [unknown] };
      expect(await start(script, { runtimeSessionId: 'old' })).to.include({ runtimeSessionId: 's-1', start: 'session_gone' });
    });

    it('should open a new session when the harness has no way back', async () => {
      expect(await start(usual, { runtimeSessionId: 'old' })).to.include({ runtimeSessionId: 's-1', start: 'session_gone' });
    });

    it('should keep the session when only a sign-in is missing', async () => {
      const script = { ...usual, initialize: [{ result: { ...resumable, authMethods: [{ id: 'x', name: 'Log in with X' }] } }], 'session/resume': [{ error: { code: -32000, message: 'Authentication required' } }] };
      expect(await failure(script, { runtimeSessionId: 'old' })).to.match(/^the agent is not signed in: Authentication required; .*Log in with X/);
    });
  });

  describe('models', () => {
    const models1 = { currentModelId: 'default', availableModels: [{ modelId: 'default' }, { modelId: 'swift-2' }] };

    function listing(setup: object, answer: object): Script {
      return { ...usual, 'session/new': [{ result: { sessionId: 's-1', ...setup } }], 'session/set_model': ['echo', answer], 'session/set_config_option': ['echo', answer] };
    }

    it('should ask for the configured model without its provider when the harness lists it so', async () => {
      await start(listing({ models: models1 }, { result: {} }), { model: 'acme/swift-2' });
      expect(messages).to.deep.equal(['{"jsonrpc":"2.0","method":"session/update","params":{"echo":{"sessionId":"s-1","modelId":"swift-2"}}}']);
      expect(models).to.deep.equal([{ state: 'done', requested: 'acme/swift-2', effective: 'swift-2', detail: null }]);
    });

    it('should set the model option where the harness has one', async () => {
      const option = { id: 'm', category: 'model', type: 'select', currentValue: 'a', options: [{ group: 'g', options: [{ value: 'a' }, { value: 'acme/b' }] }] };
      await start(listing({ configOptions: [{ id: 'mode' }, option] }, { result: {} }), { model: 'acme/b' });
      expect(messages[0]).to.contain('{"sessionId":"s-1","configId":"m","value":"acme/b"}');
      expect(models).to.deep.equal([{ state: 'done', requested: 'acme/b', effective: 'acme/b', detail: null }]);
    });

    it('should report a refusal and go on when the harness refuses', async () => {
      const harness = await start(listing({ models: models1 }, { error: { code: -32602, message: 'no', data: { details: 'not on your plan' } } }), { model: 'swift-2' });
      expect(models).to.deep.equal([{ state: 'failed', requested: 'swift-2', effective: 'default', detail: 'no: not on your plan' }]);
      expect(await harness.prompt(prompt)).to.include({ kind: 'stop' });
    });

    it('should report a model that the harness does not list, and keep silent where it lists none', async () => {
      await start(listing({ models: models1 }, { result: {} }), { model: 'acme/other' });
      await start(usual, { model: 'acme/other' });
      expect(models).to.deep.equal([{ state: 'failed', requested: 'acme/other', effective: 'default', detail: 'the agent offers default, swift-2' }]);
    });
  });

  describe('questions', () => {
    const params = { sessionId: 's-1', toolCall: { toolCallId: 't', surprise: { n: 1 } }, options: [{ optionId: 'go', name: 'Go', kind: 'allow_once' }], extra: [true] };

    it('should pass params and id as they are, after the updates before them, and carry the answer back', async () => {
      const seen: unknown[] = [];
      const harness = await start(
        { ...usual, 'session/prompt': [{ line: update('first') }, { ask: { jsonrpc: '2.0', id: 7, method: 'session/request_permission', params } }, { result: {} }] },
        {
          onPermission: (request) => {
            seen.push(messages.length, request);
            return Promise.resolve({ outcome: { outcome: 'selected', optionId: 'go' } });
          },
        },
      );
      await harness.prompt(prompt);
      expect(seen).to.deep.equal([1, { harnessId: '7', raw: params }]);
      expect(messages[1]).to.contain('{"result":{"outcome":{"outcome":"selected","optionId":"go"}}}');
    });

    it('should abort the question when the harness withdraws it', async () => {
      const withdrawn: boolean[] = [];
      const cancel = { line: { jsonrpc: '2.0', method: '$/cancel_request', params: { requestId: 'q' } } };
      const harness = await start(
        { ...usual, 'session/prompt': [{ line: { jsonrpc: '2.0', id: 'q', method: 'session/request_permission', params } }, cancel, { result: {} }] },
        {
          onPermission: (_request, signal) =>
            new Promise((resolve) => {
              signal.addEventListener('abort', () => {
                withdrawn.push(true);
                resolve({ outcome: { outcome: 'cancelled' } });
              });
            }),
        },
      );
      await harness.prompt(prompt);
      expect(withdrawn).to.deep.equal([true]);
    });

    it('should answer "method not found" when the harness asks for files or terminals', async () => {
      const asks = ['fs/read_text_file', 'terminal/create', 'elicitation/create'].map((method, id) => ({ ask: { jsonrpc: '2.0', id, method, params: {} } }));
      const harness = await start({ ...usual, 'session/prompt': [...asks, { result: {} }] });
      await harness.prompt(prompt);
      expect(messages.map((line) => (JSON.parse(line) as { params: { answer: { error: { code: number } } } }).params.answer.error.code)).to.deep.equal([-32601, -32601, -32601]);
    });
  });

  describe('ends', () => {
    it('should answer "cancelled" when the turn is cancelled', async () => {
      const harness = await start({ ...usual, 'session/prompt': [{ line: update('on it') }, { until: 'session/cancel' }, { result: { stopReason: 'cancelled' } }] });
      const outcome = harness.prompt(prompt);
      await until(() => messages.length === 1);
      harness.cancel();
      expect(await outcome).to.deep.equal({ kind: 'stop', stopReason: 'cancelled' });
    });

    it("should give the harness's own words when it answers with an error", async () => {
      const harness = await start({ ...usual, 'session/prompt': [{ error: { code: -32603, message: 'Internal error', data: { details: 'quota used up' } } }] });
      expect(await harness.prompt(prompt)).to.deep.equal({ kind: 'error', reason: 'Internal error: quota used up' });
    });

    it('should hand on every line and quote the last output when the harness crashes mid-turn', async () => {
      const harness = await start({ ...usual, 'session/prompt': [{ line: update('a') }, { stderr: 'panic: out of cheese\n' }, { exit: 3 }] });
      expect(await harness.prompt(prompt)).to.deep.equal({
        kind: 'exit',
        exitCode: 3,
        reason: "the agent's program ended with exit code 3 before it answered; its last output: panic: out of cheese",
      });
      expect(messages).to.deep.equal([update('a')]);
      expect(await harness.prompt(prompt)).to.include({ kind: 'exit', exitCode: 3 }).and.to.have.property('reason').that.contains('before the prompt reached it');
    });

    it('should bound what it quotes when the last output is long', async () => {
      const harness = await start({ ...usual, 'session/prompt': [{ stderr: 'x'.repeat(100_000) }, { exit: 1 }] });
      const outcome = await harness.prompt(prompt);
      expect(outcome).to.have.property('reason').with.length.below(1200);
      expect((await harness.exited).lastOutput).to.have.lengthOf(4096);
    });

    it('should end the harness and say why when a callback throws', async () => {
      const harness = await start({ ...usual, 'session/prompt': [{ line: update('a') }] }, {
        onMessage: () => {
          throw new Error('the disk is full');
        },
      });
      expect(await harness.prompt(prompt)).to.include({ kind: 'exit' }).and.to.have.property('reason').that.contains('the disk is full');
    });
  });

  describe('failing starts', () => {
    it('should name the program when it is not there', async () => {
      expect(await failure(usual, { command: 'no-such-agent' })).to.equal('could not start "no-such-agent": there is no such program on PATH');
      expect(await failure(usual, { cwd: path.join(cwd, 'gone') })).to.contain('is not there');
      expect(await failure(usual, { command: agent })).to.equal(`could not start "${agent}": it is not executable`);
    });

    it('should quote its output when it ends before its session is open', async () => {
      expect(await failure({ initialize: [{ stderr: 'no licence\n' }, { exit: 4 }] })).to.equal(
        "the agent's program ended with exit code 4 before its session was open; its last output: no licence",
      );
    });

    it('should give up and leave nothing when "initialize" is not answered', async () => {
      const script = { deaf: true, initialize: [{ start: 'member' }, { line: 'thinking about it' }] };
      expect(await failure(script, { times: { initializeMs: 500, stopMs: 50 } })).to.match(/^the agent did not answer "initialize" within 0\.5 s; its last output: .*thinking about it/s);
      expect(isAlive(Number(/started (\d+)/.exec(stderr)?.[1]))).to.equal(false);
    });

    it('should refuse another protocol version, an error and a session without an id', async () => {
      expect(await failure({ initialize: [{ result: { protocolVersion: 9 } }] })).to.contain('speaks version 9');
      expect(await failure({ initialize: [{ error: { code: -32603, message: 'not today' } }] })).to.equal('the agent refused "initialize": not today');
      expect(await failure({ ...usual, 'session/new': [{ error: { code: -32603, message: 'no room' } }] })).to.equal('the agent opened no session: no room');
      expect(await failure({ ...usual, 'session/new': [{ result: {} }] })).to.contain('without an id');
    });

    it('should stop when it is aborted while it starts', async () => {
      const abort = new AbortController();
      const failed = start({ initialize: [{ stderr: 'here' }] }, {}, abort.signal).then(() => null, (error: unknown) => error);
      await until(() => stderr === 'here');
      abort.abort();
      expect(await failed).to.have.property('message', 'the agent was stopped while it started');
    });
  });

  describe('stop', () => {
    it('should leave nothing running, not even children with a group of their own, when the harness ignores SIGTERM', async () => {
      const harness = await start({ ...usual, deaf: true, 'session/prompt': [{ start: 'member' }, { start: 'leader' }, { result: {} }] }, { times: { stopMs: 100 } });
      await harness.prompt(prompt);
      await until(() => stderr.split('\n').length > 2);
      const pids = [harness.pid, ...Array.from(stderr.matchAll(/started (\d+)/g), (match) => Number(match[1]))];
      expect(pids.map(isAlive)).to.deep.equal([true, true, true]);
      await harness.stop();
      expect(pids.map(isAlive)).to.deep.equal([false, false, false]);
      expect(await harness.exited).to.include({ code: null, signal: 'SIGKILL' });
    });

    it('should end a running turn when it is aborted', async () => {
      const abort = new AbortController();
      const harness = await start({ ...usual, 'session/prompt': [{ line: update('a') }] }, {}, abort.signal);
      const outcome = harness.prompt(prompt);
      await until(() => messages.length === 1);
      abort.abort();
      expect(await outcome).to.include({ kind: 'exit' });
    });

    it('should end what a harness left behind when it exits by itself', async () => {
      const harness = await start({ ...usual, 'session/prompt': [{ start: 'member' }, { exit: 0 }] });
      expect(await harness.prompt(prompt)).to.include({ kind: 'exit', exitCode: 0 });
      expect(isAlive(Number(/started (\d+)/.exec(stderr)?.[1]))).to.equal(false);
    });
  });
});
