import { expect } from 'chai';
import { scene } from '../support/scene.ts';
import { dialects } from '../support/scripted/eventFrame.ts';
import { sandboxSessionId, type Script } from '../support/scripted/turn.ts';
import type { JsonObject } from '../../lib/protocol/jsonrpc.ts';

/** A stored line with this text for its update, and this for its session id. */
const storedLine = (update: string, sessionId = `"${sandboxSessionId}"`): string =>
  `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":${sessionId},"update":${update}}}`;

const updates = (...all: readonly JsonObject[]): Script => (turn) => {
  turn.start();
  for (const update of all) turn.update(update);
  turn.done();
};

const lines = (...all: readonly string[]): Script => (turn) => {
  turn.start();
  for (const line of all) turn.line(line);
  turn.done();
};

/** What the sandbox says reaches the client as it was said, in order and before the answer; only addresses change. */
describe('fountain acp: forwarding', () => {
  for (const dialect of dialects) {
    it(`should forward every update in order, and then the answer, from ${dialect.name}`, scene({ dialect }, async ({ instance, client }) => {
      const spoken = Array.from({ length: 2000 }, (_, at) => `${at} `);
      instance.scripts.push((turn) => {
        turn.start();
        for (const words of spoken) turn.say(words);
        turn.done();
      });
      const sessionId = await client.open();
      const { index } = await client.prompt(sessionId).answered();
      await client.caughtUp();
      expect(client.text(sessionId)).to.equal(spoken.join(''));
      expect(client.updates().at(-1)?.index).to.be.lessThan(index);
      expect(client.updates().every((update) => update.sessionId === sessionId)).to.equal(true);
    }));
  }

  it('should pass kinds and members on that it does not know', scene(async ({ instance, client }) => {
    const all = [
      { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'hm' }, messageId: 'm-1' },
      { sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'do' } },
      { sessionUpdate: 'plan', entries: [{ content: 'c', priority: 'low', status: 'pending' }] },
      { sessionUpdate: 'available_commands_update', availableCommands: [{ name: 'n', description: 'd' }] },
      { sessionUpdate: 'current_mode_update', currentModeId: 'plan' },
      { sessionUpdate: 'usage_update', used: 3, size: 9, cost: { amount: 0.25, currency: 'EUR' } },
      { sessionUpdate: 'kind_of_tomorrow', locations: [{ path: '/kept' }], deep: [{ a: null }, [], {}], _meta: { k: [1] } },
      { noKind: true },
    ];
    instance.scripts.push(updates(...all));
    const sessionId = await client.open();
    await client.prompt(sessionId).result();
    expect(client.updatesOf(sessionId)).to.deep.equal(all);
  }));

  const untouched = [
    '{"sessionUpdate":"x","n":[12345678901234567890,1.0,1E5,-0,0.10,1e-7],"big":123456789012345678901234567890.5}',
    '{"zeta":1,"sessionUpdate":"x","10":"ten","2":"two","a":{"b":1,"9":0,"a":2}}',
    '{"sessionUpdate":"x","twice":1,"twice":2}',
    '{"sessionUpdate":"x","rawInput":{"__proto__":{"polluted":true},"constructor":"c","toString":1}}',
    '{"sessionUpdate":"x","text":"\\u00e9\\/\\u2028 raw:\u2028\u2029 \u007f 🦜 \\ud83e\\udd9c"}',
    `{"sessionUpdate":"x","rawInput":{"sessionId":"${sandboxSessionId}-of-a-tool","params":{"sessionId":"inner"}}}`,
    '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"quote \\" brace } \\\\"},"messageId":"m"}',
    '{"sessionUpdate":"tool_call","toolCallId":"t","title":"\\"locations\\":[1]","rawInput":{"locations":[{"path":"/of/the/tool"}]}}',
    '{"sessionUpdate":"tool_call_update","toolCallId":"t","locations":null,"status":"completed"}',
  ];
  for (const update of untouched) {
    it(`should pass on byte for byte ${update.slice(0, 70)}`, scene(async ({ instance, client }) => {
      instance.scripts.push(lines(storedLine(update), storedLine('{"sessionUpdate":"next"}')));
      const sessionId = await client.open();
      await client.prompt(sessionId).result();
      const [first, second] = client.updates(sessionId);
      expect(first?.line).to.contain(`"update":${update}`);
      expect(second?.update).to.deep.equal({ sessionUpdate: 'next' });
    }));
  }

  it('should address a line to the client however it is spelled', scene(async ({ instance, client }) => {
    const id = sandboxSessionId;
    const spelled = [
      `{"params":{"update":{"sessionUpdate":"a"},"sessionId":"${id}"},"method":"session/update","jsonrpc":"2.0"}`,
      `{ "jsonrpc" : "2.0" , "method":"session/update","params" : { "sessionId" : "${id}" , "update" : {"sessionUpdate":"b"} } }\n`,
      `{\n  "jsonrpc": "2.0",\r\n  "method": "session/update",\n  "params": {\n    "sessionId": "${id}",\n    "update": {\n      "sessionUpdate": "c"\n    }\n  }\n}\n`,
      storedLine('{"sessionUpdate":"d"}', '"quoted \\"id\\" \\\\"'),
      storedLine('{"sessionUpdate":"e"}', '7'),
      `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"${id}","sessionId":"${id}","update":{"sessionUpdate":"f"},"_meta":{"own":1}}}`,
      `{"jsonrpc":"2.0","method":"session\\/update","params":{"session\\u0049d":"${id}","update":{"sessionUpdate":"g"}}}`,
    ];
    instance.scripts.push(lines(...spelled));
    const sessionId = await client.open();
    await client.prompt(sessionId).result();
    expect(client.updatesOf(sessionId).map((update) => update['sessionUpdate']).join('')).to.equal('abcdefg');
    expect(client.messages.map(({ line }) => line).join('\n')).not.to.contain(id);
    expect(client.messages.find(({ line }) => line.includes('"f"'))?.params).to.have.deep.property('_meta', { own: 1 });
  }));

  it('should keep what is no update inside', scene(async ({ instance, client }) => {
    instance.scripts.push((turn) => {
      turn.start();
      turn.output('stdout', storedLine('{"sessionUpdate":"LEAK"}'));
      turn.output('stderr', storedLine('{"sessionUpdate":"LEAK"}'));
      turn.output('acp-debug', storedLine('{"sessionUpdate":"LEAK"}'));
      turn.line(`{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"sessionId":"${sandboxSessionId}","path":"/LEAK"}}`);
      turn.line('{"jsonrpc":"2.0","id":1,"result":{"content":"LEAK"}}');
      turn.line('{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"LEAK"}}');
      turn.line('{"jsonrpc":"2.0","method":"session/other","params":{"sessionId":"LEAK"}}');
      turn.line(`{"jsonrpc":"2.0","id":3,"method":"terminal/create","params":{"sessionId":"${sandboxSessionId}","command":"LEAK"}}`);
      turn.say('fine');
      turn.done();
    });
    const sessionId = await client.open();
    await client.prompt(sessionId).result();
    expect(client.messages.map(({ line }) => line).join('\n')).not.to.contain('LEAK');
    expect(client.text(sessionId)).to.equal('fine');
  }));

  it('should skip what cannot be read and come to the end of the turn', scene(async ({ instance, client }) => {
    instance.scripts.push((turn) => {
      turn.start();
      for (const line of ['', 'no json', '{"jsonrpc":"2.0","method":"session/upd', '[]', 'null', '5', '{}', storedLine('null'), '{"jsonrpc":"2.0","method":"session/update"}', '{"jsonrpc":"2.0","method":"session/update","params":[]}']) {
        turn.line(line);
      }
      for (const data of [null, 5, ['x'], { jsonrpc: '2.0' }, undefined]) turn.output('acp', data);
      turn.say('good');
      turn.done();
    });
    const sessionId = await client.open();
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('good');
  }));

  it('should not flood stderr when much cannot be read', scene(async ({ instance, client }) => {
    instance.scripts.push((turn) => {
      turn.start();
      for (let nth = 0; nth < 2000; nth += 1) turn.line(`junk ${nth}`);
      turn.done();
    });
    const sessionId = await client.open();
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    expect(client.stderr.length).to.be.lessThan(20_000);
  }));

  it('should understand stage metadata that are an object', scene(async ({ instance, client }) => {
    instance.scripts.push((turn) => {
      turn.start();
      turn.conversation.log({ kind: 'stage', stage: 'turn', state: 'failed', data: { turn_id: turn.id, reason: 'as an object' }, turnId: turn.id });
    });
    const sessionId = await client.open();
    expect((await client.prompt(sessionId).error()).message).to.contain('as an object');
  }));
});

const locations = [{ path: '/home/sprite/a.ts', line: 4 }, { path: '/home/sprite/b.ts' }];

/** What names things of the sandbox is kept where a client does not act on it. */
describe('fountain acp: the machine boundary', () => {
  it('should move the locations of tool calls into _meta, beside what is there', scene(async ({ instance, client }) => {
    instance.scripts.push(updates(
      { sessionUpdate: 'tool_call', toolCallId: 't', title: 'Read', locations, kind: 'read' },
      { sessionUpdate: 'tool_call_update', toolCallId: 't', _meta: { own: { x: 1 } }, locations, status: 'completed' },
      { sessionUpdate: 'tool_call', toolCallId: 'u', title: 'None', locations: [] },
      { sessionUpdate: 'tool_call_update', toolCallId: 'u', locations, _meta: null },
    ));
    const sessionId = await client.open();
    await client.prompt(sessionId).result();
    const [first, second, third, fourth] = client.updatesOf(sessionId);
    expect(first).to.deep.equal({ sessionUpdate: 'tool_call', toolCallId: 't', title: 'Read', kind: 'read', _meta: { 'fountain.sandboxLocations': locations } });
    expect(second).to.deep.equal({ sessionUpdate: 'tool_call_update', toolCallId: 't', status: 'completed', _meta: { own: { x: 1 }, 'fountain.sandboxLocations': locations } });
    expect(third).not.to.have.property('locations');
    expect(fourth).to.deep.equal({ sessionUpdate: 'tool_call_update', toolCallId: 'u', _meta: { 'fountain.sandboxLocations': locations } });
  }));

  it('should leave the rest of a line alone when it moves locations', scene(async ({ instance, client }) => {
    const rest = '"rawInput":{"__proto__":{"x":1},"big":12345678901234567890,"1":1.0},"title":"t\\u00e9"';
    instance.scripts.push(lines(storedLine(`{"sessionUpdate":"tool_call","toolCallId":"t","locations":[{"path":"/w","line":1.0}],${rest}}`)));
    const sessionId = await client.open();
    await client.prompt(sessionId).result();
    const [update] = client.updates(sessionId);
    expect(update?.line).to.contain(rest).and.to.contain('[{"path":"/w","line":1.0}]');
    expect(update?.update).not.to.have.property('locations');
  }));

  it('should keep the terminals of the sandbox under _meta, and every other content', scene(async ({ instance, client }) => {
    const terminal = { type: 'terminal', terminalId: 'term-3' };
    const diff = { type: 'diff', path: '/w/a', oldText: null, newText: 'n' };
    const words = { type: 'content', content: { type: 'text', text: 'w' } };
    instance.scripts.push(updates(
      { sessionUpdate: 'tool_call', toolCallId: 't', title: 'Run', content: [words, terminal, diff] },
      { sessionUpdate: 'tool_call_update', toolCallId: 't', content: [terminal] },
      { sessionUpdate: 'tool_call_update', toolCallId: 't', content: [words, diff] },
    ));
    const sessionId = await client.open();
    await client.prompt(sessionId).result();
    const [mixed, alone, none] = client.updatesOf(sessionId);
    expect(mixed).to.have.deep.property('content', [words, diff]);
    expect(mixed?.['_meta']).to.have.deep.property('fountain.sandboxTerminals', [terminal]);
    expect(JSON.stringify(alone?.['content'] ?? [])).not.to.contain('terminal');
    expect(JSON.stringify(alone?.['_meta'])).to.contain('term-3');
    expect(none).to.deep.equal({ sessionUpdate: 'tool_call_update', toolCallId: 't', content: [words, diff] });
  }));

  const gated: readonly [string, JsonObject, JsonObject][] = [
    ['notice', { sessionUpdate: 'notice', severity: 'info', title: 'n' }, { session: { notices: {} } }],
    ['compaction_update', { sessionUpdate: 'compaction_update', compactionId: 'c', status: 'in_progress' }, { session: { compaction: {} } }],
    ['compaction_summary_chunk', { sessionUpdate: 'compaction_summary_chunk', compactionId: 'c', content: { type: 'text', text: 's' } }, { session: { compaction: {} } }],
  ];
  for (const [kind, update, capability] of gated) {
    it(`should send ${kind} to those alone who declare that they take it`, scene(async ({ instance, client, launch }) => {
      const declaring = launch();
      for (const [who, capabilities, wanted] of [[client, {}, 0], [client, { session: { notices: null, compaction: null } }, 0], [declaring, capability, 1]] as const) {
        instance.scripts.push(updates(update, { sessionUpdate: 'after' }));
        const sessionId = await who.open(capabilities);
        await who.prompt(sessionId).result();
        expect(who.updatesOf(sessionId)).to.deep.equal([...(wanted ? [update] : []), { sessionUpdate: 'after' }]);
      }
    }));
  }

  it('should send boolean options to those alone who declare that they take them', scene(async ({ instance, client, launch }) => {
    const select = { id: 'model', name: 'Model', type: 'select', currentValue: 'a', options: [] };
    const boolean = { id: 'fast', name: 'Fast', type: 'boolean', currentValue: true };
    const declaring = launch();
    for (const [who, capabilities, kept] of [[client, {}, [select]], [declaring, { session: { configOptions: { boolean: {} } } }, [select, boolean]]] as const) {
      instance.scripts.push(updates({ sessionUpdate: 'config_option_update', configOptions: [select, boolean] }));
      const sessionId = await who.open(capabilities);
      await who.prompt(sessionId).result();
      expect(who.updatesOf(sessionId)).to.deep.equal([{ sessionUpdate: 'config_option_update', configOptions: kept }]);
    }
  }));

  it('should shorten a line that clients would choke on, say so under _meta, and go on', scene(async ({ instance, client }) => {
    const long = 'long text 🦜 '.repeat(1_000_000);
    instance.scripts.push(updates(
      { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: long } },
      { sessionUpdate: 'tool_call_update', toolCallId: 't', rawOutput: { out: [long] }, status: 'completed' },
      { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'after' } },
    ));
    const sessionId = await client.open();
    expect(await client.prompt(sessionId).stopReason(15_000)).to.equal('end_turn');
    const [text, output, after] = client.updates(sessionId);
    for (const update of [text, output]) {
      expect(Buffer.byteLength(update?.line ?? '')).to.be.lessThan(10_000_000);
      expect(JSON.stringify(update?.update['_meta'])).to.match(/fountain/);
      expect((update?.line ?? '').isWellFormed()).to.equal(true);
    }
    expect(output?.update).to.include({ toolCallId: 't', status: 'completed' });
    expect(after?.update).to.deep.equal({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'after' } });
  })).timeout(20_000);
});
