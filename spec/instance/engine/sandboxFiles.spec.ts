import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { JsonObject } from '../../../lib/protocol/jsonrpc.ts';
import { cleanUp, TestInstance } from '../support/testInstance.ts';
import type { Answer } from '../support/testInstance.ts';

describe('the files of a sandbox', () => {
  let test: TestInstance;
  let home: string;
  let sandboxId: string;

  beforeEach(async () => {
    test = await TestInstance.start();
    const vault = String((await test.post('/api/vaults', { name: 'v' })).data['id']);
    await test.post(`/api/vaults/${vault}/secrets`, { key: 'TOKEN', value: 'super-secret-token' });
    const id = await test.conversation({ vault_id: vault });
    await test.event(id, 'provision/done');
    sandboxId = String((await test.show(id))['sandbox_id']);
    home = path.join(test.instance.dataDir, 'sandboxes', sandboxId, 'home');
    mkdirSync(path.join(home, 'src'));
    writeFileSync(path.join(home, 'src', 'a.txt'), 'héllo super-secret-token');
    writeFileSync(path.join(home, 'bytes'), Buffer.from([0xff, 0x00, 0x01]));
    symlinkSync('/etc/passwd', path.join(home, 'escape'));
    symlinkSync('src/a.txt', path.join(home, 'inside'));
  });

  afterEach(cleanUp);

  function read(route: string, query: string): Promise<Answer> {
    return test.get(`/api/sandboxes/${sandboxId}/${route}?${query}`);
  }

  it('should be listed by name, type and size', async () => {
    const { data } = await read('files', 'path=/home/sprite');
    const entries = data['entries'] as JsonObject[];
    expect(entries.map((entry) => [entry['name'], entry['type']])).to.deep.equal([['bytes', 'file'], ['escape', 'symlink'], ['inside', 'symlink'], ['src', 'directory']]);
    expect(entries[0]).to.include({ size: 3 });
    expect(data).to.include({ truncated: false });
  });

  for (const name of ['src/a.txt', '/home/sprite/src/a.txt', 'inside', 'src/../src/a.txt']) {
    it(`should be read without their secrets as ${name}`, async () => {
      const { data } = await read('file', `path=${encodeURIComponent(name)}`);
      expect(data).to.deep.include({ path: name, encoding: 'utf-8', content: 'héllo [REDACTED]', truncated: false, size: 25 });
    });
  }

  it('should be read under their real path too', async () => {
    expect((await read('file', `path=${encodeURIComponent(path.join(home, 'inside'))}`)).status).to.equal(200);
  });

  it('should come as base64 when they are no UTF-8', async () => {
    expect((await read('file', 'path=bytes')).data).to.include({ encoding: 'base64', content: '/wAB' });
  });

  it('should be cut at the limit, never within a character', async () => {
    expect((await read('file', 'path=src/a.txt&max_bytes=2')).data).to.include({ content: 'h', truncated: true, size: 25, encoding: 'utf-8' });
  });

  const refusals: readonly [route: string, query: string, status: number, error: string][] = [
    ['file', 'path=nothing', 404, 'path_not_found'],
    ['file', 'path=src', 422, 'is_a_directory'],
    ['file', '', 422, 'invalid_path'],
    ['files', 'path=bytes', 422, 'not_a_directory'],
    ['file', 'path=escape', 422, 'path_outside_sandbox'],
    ['file', 'path=../../../secret.key', 422, 'path_outside_sandbox'],
    ['file', 'path=/etc/passwd', 422, 'path_outside_sandbox'],
    ['file', 'path=/home/sprite/../../../key', 422, 'path_outside_sandbox'],
    ['file', 'path=a%00b', 422, 'invalid_path'],
    ['diff', '', 422, 'sandbox_command_failed'],
  ];
  for (const [route, query, status, error] of refusals) {
    it(`should be refused with ${error} when ${route} asks for ${query || 'nothing'}`, async () => {
      const answer = await read(route, query);
      expect([answer.status, answer.body['error']]).to.deep.equal([status, error]);
    });
  }

  it('should show what git says without running what the repository configures', async () => {
    const git = (...args: string[]): void => void execFileSync('git', ['-C', home, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args]);
    git('init', '-q');
    git('add', 'src');
    git('commit', '-qm', 'x');
    git('config', 'diff.external', 'touch ran-external');
    git('config', 'core.fsmonitor', 'touch ran-monitor');
    writeFileSync(path.join(home, 'src', 'a.txt'), 'changed super-secret-token\n');
    expect((await read('git-status', '')).data['status']).to.match(/ M src\/a\.txt/);
    const { data } = await read('diff', 'path=.');
    expect(data['diff']).to.match(/\+changed \[REDACTED\]/);
    const names = ((await read('files', '')).data['entries'] as JsonObject[]).map((entry) => entry['name']);
    expect(names).to.not.include.members(['ran-external']);
    expect(names).to.not.include.members(['ran-monitor']);
  });

  it('should be readable with a full-scope key only', async () => {
    const sprite = await test.instance.mintKey('sprite');
    for (const route of ['files', 'file', 'diff', 'git-status']) {
      const { status, body } = await test.call('GET', `/api/sandboxes/${sandboxId}/${route}`, undefined, { authorization: `Bearer ${sprite}` });
      expect([status, body['reason'], body['required_scope']]).to.deep.equal([403, 'insufficient_scope', 'full']);
    }
  });

  it('should be refused when the sandbox is over', async () => {
    const [conversation] = (await test.get(`/api/sandboxes/${sandboxId}`)).data['conversations'] as JsonObject[];
    await test.post(`/api/conversations/${String(conversation!['id'])}/terminate`);
    const { status, body } = await read('files', '');
    expect(status).to.equal(409);
    expect(body).to.include({ error: 'sandbox_not_ready', status: 'terminated' });
  });
});
