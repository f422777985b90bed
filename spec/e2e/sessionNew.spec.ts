import { expect } from 'chai';
import { routes } from '../support/scripted/departures.ts';
import { coder, type ScriptedAgent, type ScriptedInstance } from '../support/scriptedInstance.ts';
import { scene } from '../support/scene.ts';

const named = (name: string, nth: number, facts: Partial<ScriptedAgent> = {}): ScriptedAgent => ({
  ...coder,
  id: `70e1d5c4-0000-4000-8000-00000000000${nth}`,
  name,
  model: `openai/model-${nth}`,
  ...facts,
});
const crowd = [named('écrivain', 1), named('porter two', 2), named('porter', 3), named('Porter', 4), named('porter', 5)];
const vault = { id: '1a4d1b1c-7a10-4d5e-9c11-0a0b0c0d0e01', name: 'night shift' };
const environment = { id: '1a4d1b1c-7a10-4d5e-9c11-0a0b0c0d0e02', name: 'ci' };

const createBody = (instance: ScriptedInstance, nth = 1): Record<string, unknown> | undefined => instance.seen(routes.create)[nth - 1]?.body;

/** `session/new` opens one conversation of exactly the agent that was chosen, with what the entry and `_meta` say and no more. */
describe('fountain acp: session/new', () => {
  for (const [given, nth] of [['porter', 3], ['Porter', 4], ['porter two', 2], ['écrivain', 1], [crowd[4]?.id ?? '', 5]] as const) {
    it(`should run exactly the agent "${given}" when others are named alike`, scene({ agents: crowd, args: ['--agent', given] }, async ({ instance, client }) => {
      await client.initialize();
      const result = await client.call('session/new', { cwd: '/', mcpServers: [] }).result();
      expect(createBody(instance)).to.deep.equal({ agent_id: crowd[nth - 1]?.id });
      expect(result['sessionId']).to.equal([...instance.conversations.keys()][0]);
      const { currentModelId, availableModels } = result['models'] as { currentModelId: string; availableModels: { modelId: string; name: string }[] };
      expect(currentModelId).to.equal(`openai/model-${nth}`);
      expect(availableModels).to.have.lengthOf(1);
      expect(availableModels[0]).to.include({ modelId: currentModelId });
      expect(availableModels[0]?.name).to.be.a('string').and.not.equal('');
    }));
  }

  for (const missing of ['PORTER', 'porte', '70e1d5c4-0000-4000-8000-0000000000ff']) {
    it(`should say so when there is no agent "${missing}"`, scene({ agents: crowd, args: ['--agent', missing] }, async ({ instance, client }) => {
      await client.initialize();
      const error = await client.call('session/new', { cwd: '/', mcpServers: [] }).error();
      expect(error.code).to.equal(-32603);
      expect(error.message).to.contain(`could not resolve agent "${missing}" on ${instance.baseUrl}`);
      expect(instance.seen(routes.create)).to.deep.equal([]);
    }));
  }

  it('should report one model when the agent has none set', scene({ agents: [{ ...coder, model: null }] }, async ({ client }) => {
    await client.initialize();
    const { models } = (await client.call('session/new', { cwd: '/', mcpServers: [] }).result()) as { models: { currentModelId: string; availableModels: { modelId: string }[] } };
    expect(models.currentModelId).not.to.equal('');
    expect(models.availableModels.map(({ modelId }) => modelId)).to.deep.equal([models.currentModelId]);
  }));

  it('should take an agent for one that speaks ACP unless it is said not to', scene({ agents: [{ id: coder.id, name: 'coder', runtime: 'claude' } as ScriptedAgent] }, async ({ client }) => {
    const sessionId = await client.open();
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
  }));

  it('should refuse an agent without an ACP adapter, in words', scene({ agents: [{ ...coder, runtime: 'cobol-shell', acp: false }] }, async ({ instance, client }) => {
    await client.initialize();
    const error = await client.call('session/new', { cwd: '/', mcpServers: [] }).error();
    expect(error.code).to.equal(-32602);
    expect(error.message).to.contain('agent "coder" runs the cobol-shell runtime, which does not speak ACP');
    expect(instance.seen(routes.create)).to.deep.equal([]);
  }));

  it('should say that no agent is configured when it was started without one, and live on', scene({ args: [] }, async ({ instance, client }) => {
    await client.initialize();
    const error = await client.call('session/new', { cwd: '/', mcpServers: [] }).error();
    expect(error.code).to.equal(-32602);
    expect(error.message).to.match(/^no Fountain agent configured/).and.to.contain('--agent');
    expect(instance.seen(routes.create)).to.deep.equal([]);
    await client.caughtUp();
  }));

  it('should send what the flags name, resolved', scene({
    vaults: [{ ...vault, name: 'Night shift', id: environment.id }, vault],
    environments: [environment],
    args: ['--agent', 'coder', '--vault', 'night shift', '--environment', 'ci', '--sandbox-mode', 'persistent', '--sandbox', 'box-9', '--permission', ' execute = ask , default=auto_deny'],
  }, async ({ instance, client }) => {
    await client.open();
    expect(createBody(instance)).to.deep.equal({
      agent_id: coder.id,
      vault_id: vault.id,
      environment_id: environment.id,
      sandbox_mode: 'persistent',
      sandbox_id: 'box-9',
      permission_policy: { execute: 'ask', default: 'auto_deny' },
    });
  }));

  it('should use ids of vault and environment as they are', scene({ args: ['--agent', coder.id, '--vault', vault.id, '--environment', environment.id, '--permission', 'ask'] }, async ({ instance, client }) => {
    await client.open();
    expect(createBody(instance)).to.deep.equal({ agent_id: coder.id, vault_id: vault.id, environment_id: environment.id, permission_policy: { default: 'ask' } });
    expect(instance.seen(routes.vaults)).to.deep.equal([]);
  }));

  for (const flag of ['vault', 'environment']) {
    it(`should open nothing when the ${flag} is not there`, scene({ args: ['--agent', 'coder', `--${flag}`, 'nowhere'] }, async ({ instance, client }) => {
      await client.initialize();
      const error = await client.call('session/new', { cwd: '/', mcpServers: [] }).error();
      expect(error.message).to.contain(flag).and.to.contain('nowhere');
      expect(instance.seen(routes.create)).to.deep.equal([]);
    }));
  }

  it('should resolve the name again for each session', scene(async ({ instance, client }) => {
    await client.open();
    instance.agents = [named('coder', 7)];
    await client.newSession();
    expect([createBody(instance, 1)?.['agent_id'], createBody(instance, 2)?.['agent_id']]).to.deep.equal([coder.id, named('', 7).id]);
  }));

  it('should let _meta bind a channel, refresh it and choose the sandbox, for this session alone', scene({ args: ['--agent', 'coder', '--sandbox-mode', 'ephemeral', '--sandbox', 'box-flag'] }, async ({ instance, client }) => {
    await client.initialize();
    const metas = [
      { channelId: 'room/5', other: { deep: true } },
      { channelId: 'room/5', freshSession: true },
      { freshSession: true },
      { sandboxMode: 'persistent', sandboxId: 'box-meta' },
      { channelId: '', freshSession: false },
      {},
    ];
    for (const meta of metas) await client.newSession(meta);
    const flags = { agent_id: coder.id, sandbox_mode: 'ephemeral', sandbox_id: 'box-flag' };
    expect(instance.seen(routes.create).map(({ body }) => body)).to.deep.equal([
      { ...flags, channel_id: 'room/5' },
      { ...flags, channel_id: 'room/5', fresh: true },
      flags,
      { ...flags, sandbox_mode: 'persistent', sandbox_id: 'box-meta' },
      flags,
      flags,
    ]);
  }));

  it('should resume the conversation that a channel is bound to, under its id', scene(async ({ instance, client }) => {
    const bound = instance.conversation({ channel: 'room/6' });
    await client.initialize();
    expect(await client.newSession({ channelId: 'room/6' })).to.equal(bound.id);
    expect(await client.prompt(bound.id).stopReason()).to.equal('end_turn');
    expect(await client.newSession({ channelId: 'room/6', freshSession: true })).not.to.equal(bound.id);
  }));

  it('should work whatever cwd and mcpServers are, and keep both to itself', scene({ args: ['--agent', 'coder', '--log-level', 'debug'] }, async ({ instance, client }) => {
    await client.initialize();
    const secret = { name: 'db', command: 'serve', env: [{ name: 'TOKEN', value: 'mcp-secret-77' }] };
    for (const params of [undefined, {}, { cwd: 'here/relative', mcpServers: [secret, {}, 5], additionalDirectories: ['/d'] }, { cwd: 5, mcpServers: 'x' }]) {
      expect(await client.call('session/new', params).result(), JSON.stringify(params)).to.have.property('sessionId');
    }
    expect(instance.seen(routes.create).map(({ rawBody }) => rawBody).join('')).not.to.match(/mcp-secret-77|relative/);
    expect(client.stderr).not.to.contain('mcp-secret-77');
  }));

  it('should answer before it says anything of the new session', scene(async ({ instance, client }) => {
    const commands = { sessionUpdate: 'available_commands_update', availableCommands: [] };
    instance.onOpened = (conversation) => conversation.past((turn) => turn.update(commands), { origin: 'autonomous' });
    await client.initialize();
    const call = client.call('session/new', { cwd: '/', mcpServers: [] });
    const { index } = await call.answered();
    const sessionId = String((await call.result())['sessionId']);
    await client.prompt(sessionId).result();
    for (const update of client.updates(sessionId)) expect(update.index).to.be.greaterThan(index);
  }));

  const refusals: readonly [number, object, RegExp[]][] = [
    [422, { errors: { permission_policy: { execute: ['may only narrow'], default: ['is invalid'] } } }, [/permission_policy/, /execute/, /may only narrow/, /default/]],
    [422, { error: 'validation_failed', errors: { channel_id: ['should be at most 255 character(s)'] } }, [/channel_id/, /at most 255/]],
    [422, { errors: [{ title: 'Invalid value', source: { pointer: '/sandbox_id' }, detail: 'expected a uuid' }] }, [/sandbox_id|expected a uuid/]],
    [422, { error: 'permission_policy_widens', message: 'the agent asks before execute' }, [/the agent asks before execute/]],
    [402, { error: 'subscription_required', upgrade_url: '/account/billing' }, [/subscription_required/, /\/account\/billing/]],
    [409, { error: 'sandbox_not_attachable', message: 'that sandbox is terminated', status: 'terminated' }, [/that sandbox is terminated/]],
    [429, { error: 'sandbox_quota_exceeded', message: '5 of 5 sandboxes are busy', active_sandboxes: 5, limit: 5 }, [/5 of 5 sandboxes are busy/]],
    [404, { errors: { detail: 'Not Found' } }, [/404|Not Found/]],
    [400, { error: 'the fixture is not for this account' }, [/the fixture is not for this account/]],
  ];
  for (const [status, json, words] of refusals) {
    it(`should pass the instance's words on when it refuses with ${status} ${Object.values(json).map(String).join(' ').slice(0, 40)}`, scene(async ({ instance, client }) => {
      instance.depart(routes.create, { status, json });
      await client.initialize();
      const error = await client.call('session/new', { cwd: '/', mcpServers: [] }).error();
      expect(error.code).to.be.oneOf([-32602, -32603]);
      for (const word of words) expect(error.message).to.match(word);
      expect(error.message).not.to.match(/\[object Object\]|undefined|null/);
      await client.caughtUp();
    }));
  }

  it('should not take an answer without an id for a session', scene(async ({ instance, client }) => {
    await client.initialize();
    for (const [at, json] of [{ data: {} }, {}, { data: null }, { data: { id: 5 } }].entries()) {
      instance.depart(routes.create, { status: 201, json }, { nth: [1] });
      const { message } = await client.call('session/new', { cwd: '/', mcpServers: [] }).error();
      expect(message, String(at)).not.to.match(/undefined|TypeError|Cannot read/);
    }
    expect(await client.newSession()).not.to.equal('');
  }));
});

/** What a client sets at spawn is acknowledged and not applied; what we do not have is refused. */
describe('fountain acp: session controls', () => {
  it('should acknowledge a config option without applying it or listing options', scene(async ({ client }) => {
    const sessionId = await client.open();
    for (const value of ['opus', { level: 'high' }, true]) {
      const result = await client.call('session/set_config_option', { sessionId, configId: 'model', value }).result();
      expect(result).not.to.have.property('configOptions');
      expect(result['_meta']).to.have.nested.property('fountain.applied', false);
    }
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
  }));

  it('should refuse a config option of a session that is not open', scene(async ({ client }) => {
    await client.open();
    expect((await client.call('session/set_config_option', { sessionId: 'nope', configId: 'a', value: 'b' }).error()).code).to.be.oneOf([-32002, -32602]);
  }));

  it('should not know session/set_model, session/set_mode and the methods it does not advertise', scene(async ({ client }) => {
    const sessionId = await client.open();
    for (const method of ['session/set_model', 'session/set_mode', 'logout', 'session/fork', 'fs/read_text_file']) {
      expect((await client.call(method, { sessionId, modelId: 'm', modeId: 'm' }).error()).code, method).to.equal(-32601);
    }
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
  }));
});
