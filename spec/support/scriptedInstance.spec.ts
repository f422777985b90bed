import { expect } from 'chai';
import { routes } from './scripted/departures.ts';
import { byHand } from './scripted/turn.ts';
import { ScriptedInstance } from './scriptedInstance.ts';
import { selfSigned } from './selfSigned.ts';

describe('ScriptedInstance', () => {
  const instance = new ScriptedInstance({ key: 'k' });
  const authorization = 'Bearer k';
  const get = (path: string, headers = {}): Promise<Response> => fetch(instance.baseUrl + path, { headers: { authorization, ...headers } });
  const post = (path: string, body: unknown): Promise<Response> =>
    fetch(instance.baseUrl + path, { method: 'POST', headers: { authorization }, body: JSON.stringify(body) });

  before(() => instance.transport.listen());
  after(() => instance.close());

  it('should refuse another key', async () => {
    expect((await get('/api/agents', { authorization: 'Bearer other' })).status).to.equal(401);
  });

  it('should replay what was logged after the last event id, of the streams asked for', async () => {
    const conversation = instance.conversation();
    const turn = conversation.past((past) => {
      past.start();
      past.output('stdout', 'noise');
      past.say('first');
      past.say('second');
      past.done('refusal');
    });
    const [, , first] = conversation.events;
    const path = `/api/conversations/${conversation.id}/stream?wait=false&streams=acp,stage`;
    const text = await (await get(path, { 'last-event-id': String(first?.id) })).text();
    expect(text).to.match(/^id: \d+\nevent: output\ndata: .*second/).and.to.contain(turn.id).and.to.contain('refusal');
    expect(text).not.to.contain('noise');
    expect(text).not.to.contain('first');
  });

  it('should play a turn by hand, hold its question, and let the first answer win', async () => {
    const conversation = instance.conversation();
    conversation.scripts.push(byHand);
    expect(await (await post(`/api/conversations/${conversation.id}/prompts`, { prompt: 'p', client_request_id: 'c' })).json()).to.deep.equal({
      status: 'queued',
      client_request_id: 'c',
    });
    const turn = await instance.turn(1);
    turn.start();
    const held = turn.ask();
    expect((await post(`/api/conversations/${conversation.id}/prompts`, { prompt: 'q' })).status).to.equal(400);
    const answers = [];
    for (const option_id of ['what', 'skip-it', 'skip-it']) {
      answers.push((await post(`/api/conversations/${conversation.id}/requests/${held.id}`, { option_id })).status);
    }
    expect(answers).to.deep.equal([422, 200, 409]);
    expect((await post(`/api/conversations/${conversation.id}/interrupt`, {})).status).to.equal(204);
    expect((await post(`/api/conversations/${conversation.id}/interrupt`, {})).status).to.equal(409);
    expect(turn.status).to.equal('interrupted');
  });

  it('should depart from its answer on the occasions named, after carrying the request out where told', async () => {
    instance.depart(routes.create, { status: 503, json: { error: 'provisioning' }, headers: { 'retry-after': '2' }, carriedOut: true }, { nth: [2] });
    const before = instance.conversations.size;
    const body = { agent_id: instance.agents[0]?.id };
    const statuses = [];
    for (let nth = 1; nth <= 3; nth += 1) statuses.push((await post('/api/conversations', body)).status);
    expect(statuses).to.deep.equal([201, 503, 201]);
    expect(instance.conversations.size - before).to.equal(3);
  });

  it('should hand live events and raw bytes to whoever follows, until it drops them', async () => {
    const conversation = instance.conversation();
    const response = await get(`/api/conversations/${conversation.id}/stream`);
    await conversation.followed();
    conversation.foreignTurn().say('live');
    conversation.raw(': raw\n\n', 1);
    conversation.drop('end');
    expect(await response.text()).to.match(/live.*\n\n: raw\n\n$/s);
  });

  it('should serve TLS with a certificate that it signed itself', async () => {
    const secure = new ScriptedInstance({ certificate: selfSigned() });
    await secure.transport.listen();
    const failure = await fetch(`${secure.baseUrl}/api/agents`).catch((error: unknown) => error as Error);
    expect((failure as Error).cause).to.have.property('code', 'DEPTH_ZERO_SELF_SIGNED_CERT');
    secure.close();
  });
});
