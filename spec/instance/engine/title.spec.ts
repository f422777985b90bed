import { expect } from 'chai';
import { explicitTitle, harnessTitle } from '../../../lib/instance/engine/title.ts';
import { Redactor } from '../../../lib/instance/log/redactor.ts';
import { Refusal } from '../../../lib/instance/refusal.ts';
import { cleanUp, TestInstance } from '../support/testInstance.ts';

const none = new Redactor([]);
const untitled = { title: null, title_source: null, channel_id: null } as const;
const harness = { title: 'Old', title_source: 'harness', channel_id: null } as const;
const explicit = { title: 'Mine', title_source: 'explicit', channel_id: null } as const;
const unknown = { title: 'Ancient', title_source: null, channel_id: null } as const;

describe('harnessTitle', () => {
  const cases: readonly [string, Parameters<typeof harnessTitle>[0], unknown, ReturnType<typeof harnessTitle>][] = [
    ['set an untitled conversation', untitled, ' New \n title ', { title: 'New title', title_source: 'harness' }],
    ['replace its own', harness, 'New', { title: 'New', title_source: 'harness' }],
    ['clear its own with null', harness, null, { title: null, title_source: null }],
    ['clear its own with a blank', harness, ' \u0000 ', { title: null, title_source: null }],
    ['change nothing when it is the same', harness, 'Old', null],
    ['ignore what is no string', harness, 7, null],
    ['leave an explicit title', explicit, 'New', null],
    ['leave an explicit title when it clears', explicit, null, null],
    ['leave a title of unknown origin', unknown, 'New', null],
    ['change nothing when there is nothing to clear', untitled, null, null],
    ['leave the name of a teammate', { ...untitled, channel_id: 'fountain:team' }, 'New', null],
  ];
  for (const [name, row, title, expected] of cases) {
    it(`should ${name}`, () => expect(harnessTitle(row, title, none)).to.deep.equal(expected));
  }

  it('should redact before it shortens', () => {
    const secret = 'abcdefghij';
    const title = `${'x'.repeat(115)} ${secret}`;
    expect(harnessTitle(untitled, title, new Redactor([secret]))!.title).to.equal(`${'x'.repeat(115)} [RED`);
  });

  it('should redact a secret that NULs and line ends split', () => {
    expect(harnessTitle(untitled, 'a sec\u0000ret word', new Redactor(['secret word']))!.title).to.equal('a [REDACTED]');
    expect(harnessTitle(untitled, 'a secret\nword', new Redactor(['secret word']))!.title).to.equal('a [REDACTED]');
  });
});

describe('explicitTitle', () => {
  it('should claim a title, and release it with null or a blank', () => {
    expect(explicitTitle(' A  b ', none)).to.deep.equal({ title: 'A b', title_source: 'explicit' });
    expect(explicitTitle(null, none)).to.deep.equal({ title: null, title_source: null });
    expect(explicitTitle('  ', none)).to.deep.equal({ title: null, title_source: null });
  });

  it('should refuse what is too long rather than cut it', () => {
    expect(explicitTitle('é'.repeat(120), none).title).to.have.length(120);
    expect(() => explicitTitle('x'.repeat(121), none)).to.throw(Refusal);
    expect(() => explicitTitle('👨‍👩‍👧‍👦'.repeat(37), none)).to.throw(Refusal);
    expect(() => explicitTitle(7, none)).to.throw(Refusal);
  });
});

describe('PATCH /api/conversations/:id', () => {
  afterEach(cleanUp);

  it('should claim the title, even with the same text, so that the harness no longer changes it', async () => {
    const test = await TestInstance.start();
    const id = await test.conversation();
    await test.turn(id, [{ title: 'Same' }]);
    const { status, data } = await test.call('PATCH', `/api/conversations/${id}`, { title: 'Same' });
    expect(status).to.equal(200);
    expect(data).to.include({ title: 'Same' });
    await test.turn(id, [{ title: 'Other' }]);
    expect(await test.show(id)).to.include({ title: 'Same' });
    await test.call('PATCH', `/api/conversations/${id}`, { title: null });
    await test.turn(id, [{ title: 'Free again' }]);
    expect(await test.show(id)).to.include({ title: 'Free again' });
    const refused = await test.call('PATCH', `/api/conversations/${id}`, { title: 'x'.repeat(121) });
    expect([refused.status, refused.body['errors']]).to.deep.equal([422, { title: ['should be at most 120 character(s)'] }]);
  });
});
