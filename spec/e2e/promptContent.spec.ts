import { expect } from 'chai';
import type { AcpClient } from '../support/acpClient.ts';
import { routes, type Departure } from '../support/scripted/departures.ts';
import type { ScriptedInstance } from '../support/scriptedInstance.ts';
import { eachAtOnce, scene } from '../support/scene.ts';

const text = (words: string): object => ({ type: 'text', text: words });
const image = (data: unknown, mimeType: unknown = 'image/png', more = {}): object => ({ type: 'image', data, mimeType, ...more });

const lastBody = (instance: ScriptedInstance): Record<string, unknown> | undefined => instance.seen(routes.prompts).at(-1)?.body;

async function bodyOf(instance: ScriptedInstance, client: AcpClient, sessionId: string, blocks: readonly unknown[], meta?: Record<string, unknown>): Promise<Record<string, unknown> | undefined> {
  await client.prompt(sessionId, blocks, meta).result();
  return lastBody(instance);
}

/** Text and images reach the instance in their order; every other block is dropped with a warning; nothing usable is refused. */
describe('fountain acp: prompt content', () => {
  it('should send texts joined by a line feed, and images in their order', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    const of = (blocks: readonly unknown[]): Promise<unknown> => bodyOf(instance, client, sessionId, blocks);
    expect(await of([text('solo')])).to.deep.equal({ prompt: 'solo', images: [] });
    expect(await of([text('a'), text(''), text('b\nc'), text(' d ')])).to.deep.equal({ prompt: 'a\nb\nc\n d ', images: [] });
    expect(await of([image('QQ=='), text('x'), image('Qg==', 'image/webp'), text('y')])).to.deep.equal({
      prompt: 'x\ny',
      images: [
        { data: 'QQ==', media_type: 'image/png' },
        { data: 'Qg==', media_type: 'image/webp' },
      ],
    });
    expect(await of([image('Qw==')])).to.deep.equal({ prompt: '', images: [{ data: 'Qw==', media_type: 'image/png' }] });
  }));

  it('should send nothing of an image but its data and its type', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    const block = image('RA==', 'image/gif', { uri: 'zed:///agent/pasted', annotations: { audience: ['user'] }, _meta: { n: 1 } });
    await client.prompt(sessionId, [block]).result();
    expect(instance.seen(routes.prompts)[0]?.rawBody).not.to.match(/zed:|annotations|_meta/);
  }));

  it('should drop blocks of other types and say which', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    const blocks = [
      text('read'),
      { type: 'resource_link', uri: 'file:///home/ada/private.ts', name: 'private.ts' },
      { type: 'resource', resource: { uri: 'file:///home/ada/b', text: 'EMBEDDED-CONTENT' } },
      { type: 'audio', mimeType: 'audio/ogg', data: 'T2dn' },
      { type: 'hologram', depth: 3 },
      text('this'),
    ];
    expect(await bodyOf(instance, client, sessionId, blocks)).to.deep.equal({ prompt: 'read\nthis', images: [] });
    for (const type of ['resource_link', 'resource', 'audio', 'hologram']) await client.noted(type);
    expect(client.stderr).not.to.contain('EMBEDDED-CONTENT');
  }));

  it('should drop a malformed block and send the rest', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    for (const block of [{ type: 'text' }, { type: 'text', text: 5 }, { type: 'image', mimeType: 'image/png' }, image(''), image(7), { type: 7 }]) {
      expect(await bodyOf(instance, client, sessionId, [block, text('kept')]), JSON.stringify(block)).to.deep.equal({ prompt: 'kept', images: [] });
    }
  }));

  const useless: readonly [string, unknown][] = [
    ['no prompt', undefined],
    ['null', null],
    ['a string', 'hi'],
    ['an object', { type: 'text', text: 'hi' }],
    ['no blocks', []],
    ['null for a block', [null]],
    ['a string for a block', ['hi']],
    ['an empty block', [{}]],
    ['a text block without text', [{ type: 'text' }]],
    ['blank text', [text(' \n\t\u3000')]],
    ['blank texts', [text(''), text(' ')]],
    ['an image without data', [image('')]],
    ['a link alone', [{ type: 'resource_link', uri: 'file:///x', name: 'x' }]],
  ];
  it('should refuse a prompt with nothing usable before anything is sent', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    for (const [name, prompt] of useless) {
      const error = await client.call('session/prompt', { sessionId, prompt }).error();
      expect(error.code, name).to.equal(-32602);
      expect(error.message, name).not.to.equal('');
    }
    expect(instance.seen(routes.prompts)).to.deep.equal([]);
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
  }));

  it('should answer -32002 and name the session when a prompt is for none that exists', scene(async ({ client }) => {
    await client.open();
    for (const sessionId of ['nope', '8b6f5dc4-9999-4999-8999-999999999999', '../agents', '']) {
      const error = await client.prompt(sessionId).error();
      expect(error.code, sessionId).to.be.oneOf(sessionId === '' ? [-32602, -32002] : [-32002]);
      if (error.code === -32002) expect(error.data).to.deep.include({ sessionId });
    }
    for (const sessionId of [undefined, null, 5]) {
      expect((await client.call('session/prompt', { sessionId, prompt: [text('x')] }).error()).code, String(sessionId)).to.equal(-32602);
    }
  }));

  it('should carry text of any script to the instance unchanged', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    for (const words of ['\u2028\u2029', 'עברית ‏ 🏳️‍🌈 e\u0301', 'tab\tquote"back\\slash\u0000nul', '\ufeffbom', '0'.repeat(200_000)]) {
      expect((await bodyOf(instance, client, sessionId, [text(`>${words}`)]))?.['prompt']).to.equal(`>${words}`);
    }
  }));
});

/** The submission's name goes to the instance as it is, once, and comes from the client alone. */
describe('fountain acp: client request ids', () => {
  it('should send the name with its own prompt and no other', scene(async ({ instance, client }) => {
    const sessionId = await client.open();
    const of = (meta?: Record<string, unknown>): Promise<Record<string, unknown> | undefined> => bodyOf(instance, client, sessionId, [text('x')], meta);
    expect(await of({ clientRequestId: 'plan-1', client_request_id: 'no', other: true })).to.deep.equal({ prompt: 'x', images: [], client_request_id: 'plan-1' });
    for (const meta of [undefined, {}, { clientRequestId: null }, { other: 'y' }]) {
      expect(await of(meta), JSON.stringify(meta)).to.deep.equal({ prompt: 'x', images: [] });
    }
    expect(await of({ clientRequestId: 'plan-1' })).to.have.property('client_request_id', 'plan-1');
  }));

  it('should send the name in a session that a channel resumed and in one that was loaded', scene(async ({ instance, client }) => {
    const bound = instance.conversation({ channel: 'c' });
    const old = instance.conversation();
    await client.initialize();
    await client.newSession({ channelId: 'c' });
    await client.load(old.id).result();
    for (const { id } of [bound, old]) expect(await bodyOf(instance, client, id, [text('x')], { clientRequestId: `for-${id}` })).to.have.property('client_request_id', `for-${id}`);
  }));

  it('should leave the judgement of the name to the instance', scene(async ({ instance, client }) => {
    const refusal = { error: 'validation_failed', errors: { client_request_id: ['should be at most 200 character(s)'] } };
    instance.depart(routes.prompts, { status: 422, json: refusal });
    const sessionId = await client.open();
    for (const clientRequestId of ['', 'x'.repeat(201), 'nul\u0000', 5, { a: 1 }]) {
      const error = await client.prompt(sessionId, 'x', { clientRequestId }).error();
      expect(error.message).to.contain('client_request_id').and.to.contain('at most 200');
      expect(lastBody(instance)?.['client_request_id']).to.deep.equal(clientRequestId);
    }
  }));
});

/** A prompt that was refused is told in the instance's words; one that may have been taken is never sent twice. */
describe('fountain acp: refused prompts', () => {
  const refusals: readonly [number, object, RegExp][] = [
    [400, { error: 'conversation_busy' }, /busy|running/],
    [400, { error: 'image exceeds the 10MB limit' }, /10MB limit/],
    [402, { error: 'insufficient_credits', message: 'top up first' }, /top up first/],
    [404, { error: 'not_found' }, /not_found|not found|no longer|gone/i],
    [409, { error: 'sandbox_at_capacity', message: 'one turn at a time' }, /one turn at a time/],
    [410, { error: 'conversation_terminated' }, /terminated/],
    [413, { error: 'payload_too_large' }, /413|too.large/],
    [422, { error: 'no_agent', message: 'its agent was deleted' }, /its agent was deleted/],
    [500, { errors: { detail: 'Internal Server Error' } }, /500|Internal Server Error/],
  ];
  it("should answer with the instance's words, once, when it refuses a prompt", eachAtOnce(refusals, (status, json, words) => scene(async ({ instance, client }) => {
    instance.depart(routes.prompts, { status, json }, { nth: [1] });
    const sessionId = await client.open();
    expect((await client.prompt(sessionId).error()).message).to.match(words);
    expect(instance.seen(routes.prompts)).to.have.lengthOf(1);
    if (status !== 404 && status !== 410) expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
  })));

  it('should answer with a login error when the key is rejected in the middle of the day', scene(async ({ instance, client }) => {
    instance.depart(routes.prompts, { status: 401, json: { error: 'x', reason: 'api_key_revoked' } }, { nth: [1] });
    const sessionId = await client.open();
    const error = await client.prompt(sessionId).error();
    expect(error.code).to.equal(-32000);
    expect(error.message).to.contain('fountain auth login');
  }));

  const doubts: readonly [string, Departure][] = [
    ['a connection that closes', { breaks: 'close' }],
    ['a reset', { breaks: 'reset' }],
    ['half an answer', { status: 200, headers: { 'content-type': 'application/json' }, text: '{"status":"que' }],
    ['an answer of a gateway', { status: 504, headers: { 'content-type': 'text/html' }, text: '<html>Gateway Timeout</html>' }],
    ['503 and a time to come back', { status: 503, json: { error: 'provisioning' }, headers: { 'retry-after': '1' } }],
  ];
  for (const clientRequestId of ['named', undefined]) {
    it(`should post a prompt ${clientRequestId ?? 'without a name'} once, and follow its turn, when the answer leaves its fate in doubt`, eachAtOnce(doubts, (_, departure) => scene(async ({ instance, client }) => {
      instance.depart(routes.prompts, { ...departure, carriedOut: true }, { nth: [1] });
      const sessionId = await client.open();
      const meta = clientRequestId === undefined ? undefined : { clientRequestId };
      expect(await client.prompt(sessionId, 'x', meta).stopReason()).to.equal('end_turn');
      expect(client.text(sessionId)).to.equal('hello');
      expect(instance.seen(routes.prompts)).to.have.lengthOf(1);
    })));
  }

  it('should wait as long as it is asked to when prompts are limited', scene(async ({ instance, client }) => {
    instance.depart(routes.prompts, { status: 429, json: { error: 'rate_limited', retry_after_seconds: 1 }, headers: { 'retry-after': '1' } }, { nth: [1] });
    const sessionId = await client.open();
    expect(await client.prompt(sessionId).stopReason()).to.equal('end_turn');
    const [limited, taken] = instance.seen(routes.prompts);
    expect((taken?.at ?? 0) - (limited?.at ?? 0)).to.be.at.least(950);
  }));

  it('should get a prompt through when a provisioning instance turned it away at first', scene(async ({ instance, client }) => {
    instance.depart(routes.prompts, { status: 503, json: { error: 'provisioning' }, headers: { 'retry-after': '1' } }, { nth: [1] });
    const sessionId = await client.open();
    const { result, error } = await client.prompt(sessionId, 'x', { clientRequestId: 'once' }).answered();
    const posted = instance.seen(routes.prompts);
    if (result) {
      expect(posted).to.have.lengthOf(2);
      expect((posted[1]?.at ?? 0) - (posted[0]?.at ?? 0)).to.be.at.least(950);
    } else expect(error?.message).to.contain('provisioning');
    expect(instance.of(sessionId).turns.length).to.equal(result ? 1 : 0);
  }));
});
