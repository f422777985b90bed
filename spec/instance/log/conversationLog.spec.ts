import { expect } from 'chai';
import { nameOf } from '../support/eventReader.ts';
import { cleanUp, TestInstance } from '../support/testInstance.ts';

describe('ConversationLog', () => {
  afterEach(cleanUp);

  it('should store one marker at the limit of output, drop the rest, and go on with stage events, also after a restart', async () => {
    const test = await TestInstance.start({ outputLimitBytes: 3000 });
    const id = await test.conversation({}, '--resume');
    const end = await test.turn(id, [{ burst: { count: 10, length: 200 } }, { say: 'more' }]);
    expect(end.state).to.equal('done');
    const output = (await test.events(id)).filter(({ kind }) => kind === 'output');
    const markers = output.filter(({ stream }) => stream === 'stderr');
    expect(markers).to.have.length(1);
    expect(markers[0]!.data).to.match(/limit of 3000 bytes/);
    expect(output.at(-1)).to.equal(markers[0]);
    const { dataDir } = test.instance;
    await test.close();
    const again = await TestInstance.start({ dataDir, outputLimitBytes: 3000 });
    await again.turn(id, 'even more');
    const after = (await again.events(id)).filter(({ kind }) => kind === 'output');
    expect(after).to.deep.equal(output);
  });

  it('should store a question beyond the limit, since somebody has to answer it', async () => {
    const test = await TestInstance.start({ outputLimitBytes: 100 });
    const id = await test.conversation({ permission_policy: { default: 'ask' } });
    await test.prompt(id, [{ burst: { count: 3, length: 100 } }, { ask: {} }]);
    await test.event(id, 'request/started');
    expect((await test.events(id)).slice(-2).map(nameOf)).to.deep.equal(['acp', 'request/started']);
  });

  it('should measure how long a stage took', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation();
    await test.turn(id, [{ sleep: 30 }]);
    const { list } = await test.get(`/api/conversations/${id}/events?streams=stage`);
    expect(list.find((event) => event['stage'] === 'turn' && event['state'] === 'started')!['duration_ms']).to.equal(null);
    expect(list.find((event) => event['stage'] === 'turn' && event['state'] === 'done')!['duration_ms']).to.be.within(30, 10_000);
  });

  it('should keep NUL and other odd characters of output', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation();
    await test.turn(id, [{ stderr: 'a\u0000b\u0001\u2028\r\n' }]);
    expect((await test.events(id)).find(({ stream }) => stream === 'stderr')!.data).to.equal('a\u0000b\u0001\u2028\r\n');
  });
});
