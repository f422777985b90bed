import { expect } from 'chai';
import { scene } from '../support/scene.ts';
import { routes } from '../support/scripted/departures.ts';
import { eventFrame, today, type LoggedEvent } from '../support/scripted/eventFrame.ts';
import { byHand, sandboxSessionId, type ScriptedTurn } from '../support/scripted/turn.ts';
import type { AcpClient, Call } from '../support/acpClient.ts';
import type { ScriptedInstance } from '../support/scriptedInstance.ts';

interface Listening {
  readonly sessionId: string;
  readonly call: Call;
  readonly turn: ScriptedTurn;
}

/** A turn that has started, and a client that follows it. */
async function listen(instance: ScriptedInstance, client: AcpClient): Promise<Listening> {
  instance.scripts.push(byHand);
  const sessionId = await client.open();
  const call = client.prompt(sessionId);
  const turn = await instance.turn();
  turn.start();
  turn.say('<');
  await turn.conversation.followed();
  await client.said(sessionId, '<');
  return { sessionId, call, turn };
}

const said = (id: number | undefined, text: string): LoggedEvent => ({
  ...(id !== undefined && { id }),
  kind: 'output',
  stream: 'acp',
  data: JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: sandboxSessionId, update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } } }),
});
const frame = (id: number | undefined, text: string): string => eventFrame(said(id, text), today);

/** The stream is read as the standard has it, wherever packets cut it. */
describe('fountain acp: the event stream', () => {
  const spellings: readonly [string, (id: number, text: string) => string][] = [
    ['LF', (id, text) => frame(id, text)],
    ['CR LF', (id, text) => frame(id, text).replaceAll('\n', '\r\n')],
    ['CR', (id, text) => frame(id, text).replaceAll('\n', '\r')],
    ['mixed line ends', (id, text) => frame(id, text).replace('\n', '\r\n').replace(/\n\n$/, '\r\n\n')],
    ['no space after the colon', (id, text) => frame(id, text).replaceAll(/^(id|event|data): /gm, '$1:')],
    ['two spaces after the colon', (id, text) => frame(id, text).replace('\ndata: ', '\ndata:  ')],
    ['the id at the end', (id, text) => `${frame(id, text).replace(/^id: \d+\n/, '').trimEnd()}\nid: ${id}\n\n`],
    ['data over several lines', (id, text) => frame(id, text).replaceAll(',"', '\ndata: ,"')],
    ['unknown fields and lines', (id, text) => `colour: green\nbare\n:comment\n${frame(id, text)}`],
    ['comments around it', (id, text) => `: before\n\n:\n\n${frame(id, text)}: after\n\n`],
    ['a retry field', (id, text) => `retry: 5\n${frame(id, text)}`],
    ['no event field', (id, text) => frame(id, text).replace('event: output\n', '')],
    ['another event name', (id, text) => frame(id, text).replace('event: output', 'event: message')],
  ];
  for (const pieceBytes of [undefined, 1, 3]) {
    it(`should read every spelling of an event, in ${pieceBytes === undefined ? 'whole packets' : `packets of ${pieceBytes} bytes`}`, scene(async ({ instance, client }) => {
      const { sessionId, call, turn } = await listen(instance, client);
      for (const [name, spell] of spellings) {
        turn.conversation.raw(spell(instance.takeEventId(), `[${name} ż🦊中]`), pieceBytes);
      }
      turn.done();
      expect(await call.stopReason()).to.equal('end_turn');
      expect(client.text(sessionId)).to.equal(`<${spellings.map(([name]) => `[${name} ż🦊中]`).join('')}`);
    }));
  }

  it('should read past a byte order mark at the start of a stream', scene(async ({ instance, client }) => {
    const old = instance.conversation();
    old.past();
    instance.depart(routes.history, { stream: `\ufeff${frame(7, 'one')}${frame(9, ' two')}` });
    await client.initialize();
    await client.load(old.id).result();
    expect(client.text(old.id)).to.equal('one two');
  }));

  it('should skip an event that it cannot read, and go on', scene(async ({ instance, client }) => {
    const { sessionId, call, turn } = await listen(instance, client);
    const broken = ['', '[]', 'null', '7', '"s"', '<html>gateway</html>', '{}', '{"kind":"output"', '{"kind":"output","stream":"acp"}', '{"kind":"output","stream":"acp","data":null}', '{"kind":"output","stream":"acp","data":{"a":1}}', '{"kind":"stage","stage":null,"state":null,"data":null}', '{"kind":"stage","stage":"turn","state":"started","data":"no json","turn_id":5}', '{"kind":"weather","data":"x"}'];
    for (const data of broken) turn.conversation.raw(`event: output\ndata: ${data}\n\n`);
    turn.say('>');
    turn.done();
    expect(await call.stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('<>');
  }));

  it('should pass an event without an id on, and resume from the last id all the same', scene(async ({ instance, client }) => {
    const { sessionId, call, turn } = await listen(instance, client);
    const seen = turn.conversation.lastEventId;
    turn.conversation.raw(frame(undefined, 'no id'));
    turn.conversation.raw(': heartbeat\n\nid: \nevent: stage\ndata: {"kind":"stage","stage":"server","state":"done","stream":null,"data":"{}"}\n\n');
    await client.said(sessionId, 'no id');
    turn.conversation.drop('end');
    await turn.conversation.followed();
    const { headers } = instance.seen(routes.follow).at(-1) ?? {};
    expect(headers?.['last-event-id']).to.equal(String(seen));
    turn.done();
    expect(await call.stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('<no id');
  }));

  it('should not take half an event for one when the stream breaks off', scene(async ({ instance, client }) => {
    const { sessionId, call, turn } = await listen(instance, client);
    const seen = turn.conversation.lastEventId;
    turn.conversation.raw(frame(seen + 2, 'half').slice(0, -30));
    turn.conversation.drop('end');
    await turn.conversation.followed();
    turn.say('whole');
    turn.done();
    expect(await call.stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('<whole');
  }));

  it('should deliver an event once when the instance sends it again', scene(async ({ instance, client }) => {
    const { sessionId, call, turn } = await listen(instance, client);
    for (const event of turn.conversation.events) turn.conversation.raw(eventFrame(event, today));
    turn.say('a');
    turn.conversation.raw(eventFrame(turn.conversation.events.at(-1)!, today).repeat(3));
    turn.done();
    expect(await call.stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('<a');
  }));

  it('should take a stream whose content type names a charset', scene(async ({ instance, client }) => {
    instance.depart(routes.follow, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
    const sessionId = await client.open();
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
  }));

  it('should read a stream that begins with padding', scene(async ({ instance, client }) => {
    instance.depart(routes.follow, { prelude: `:${' '.repeat(4096)}\n\n: connected\n\nretry: 3000\n\n` });
    const sessionId = await client.open();
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    expect(client.text(sessionId)).to.equal('hello');
  }));

  it('should read one event of megabytes in small packets, in linear time', scene(async ({ instance, client }) => {
    const { sessionId, call, turn } = await listen(instance, client);
    turn.conversation.raw(frame(instance.takeEventId(), 'm'.repeat(4_000_000)), 8192);
    turn.say('!');
    turn.done();
    expect(await call.stopReason(10_000)).to.equal('end_turn');
    expect(client.text(sessionId)).to.have.lengthOf(4_000_002);
  }));
});
