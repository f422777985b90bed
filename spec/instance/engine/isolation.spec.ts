import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { detectIsolation } from '../../../lib/instance/engine/isolation.ts';
import { contentOf } from '../support/eventReader.ts';
import { isAlive } from '../support/isAlive.ts';
import { cleanUp, temporaryFolder, TestInstance } from '../support/testInstance.ts';
import { until } from '../support/until.ts';

const works = spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-pid', '--proc', '/proc', 'true']).status === 0;

describe('detectIsolation', () => {
  afterEach(cleanUp);

  it('should say why there is none', () => {
    expect(detectIsolation('off')).to.include({ kind: 'none', reason: 'it is switched off' });
  });

  describe('bubblewrap', () => {
    before(function () {
      if (!works) this.skip();
    });

    it('should show a process its own folder, read-only system paths, and nothing else', async () => {
      const test = await TestInstance.start({ isolation: 'auto' });
      expect(test.instance.isolation).to.equal('bubblewrap');
      const outside = path.join(await temporaryFolder(), 'outside');
      writeFileSync(outside, 'private');
      const script = [
        'echo in > home-file', 'test -e /home/sprite/home-file && echo alias', `cat ${outside} 2>/dev/null || echo no-outside`,
        `cat ${test.instance.dataDir}/key 2>/dev/null || echo no-key`, 'touch /usr/x 2>/dev/null || echo no-system', 'ls -A /root 2>/dev/null | head -1; true',
        'test "$(ls /proc | grep -c "^[0-9]")" -lt 10 && echo few-processes',
      ].join('\n');
      const environment = await test.post('/api/environments', { name: 'e', setup_script: script });
      const id = await test.conversation({ agent_id: await test.agent({ environment_id: environment.data['id'] }) });
      await test.event(id, 'provision/done');
      const output = (await test.events(id)).filter(({ stream }) => stream === 'stdout').map(({ data }) => data).join('');
      expect(output).to.equal('alias\nno-outside\nno-key\nno-system\nfew-processes\n');
    });

    it('should run turns, end with the conversation and leave no process', async () => {
      const test = await TestInstance.start({ isolation: 'auto' });
      const id = await test.conversation({}, '--resume');
      await test.turn(id, [{ file: { path: 'made', text: 'x' } }, { env: 'HOME' }]);
      const home = /HOME=(.*)/.exec(await test.said(id))![1]!;
      expect(existsSync(path.join(home, 'made'))).to.equal(true);
      await test.prompt(id, [{ spawn: 60 }, { hang: 1 }]);
      await until(async () => (await test.said(id)).includes('pid:'), 'the agent');
      const marked = (): string[] => spawnSync('pgrep', ['-f', home], { encoding: 'utf8' }).stdout.split('\n').filter((pid) => pid !== '' && isAlive(Number(pid)));
      expect(marked()).to.not.deep.equal([]);
      await test.post(`/api/conversations/${id}/terminate`);
      await until(() => marked().length === 0, 'the end of all processes');
      expect(existsSync(home)).to.equal(false);
    });

    it('should keep what a repository makes git run inside of the sandbox', async () => {
      const test = await TestInstance.start({ isolation: 'auto' });
      const outside = path.join(await temporaryFolder(), 'escaped');
      const script = [
        'git init -q .', 'echo "* filter=x" > .gitattributes', 'echo one > a', 'git add .', 'git -c user.name=a -c user.email=a@b commit -qm x',
        `git config filter.x.clean "touch ran; touch ${outside}; cat"`, 'sleep 1', 'echo two > a',
      ].join('\n');
      const environment = await test.post('/api/environments', { name: 'git', setup_script: script });
      const id = await test.conversation({ agent_id: await test.agent({ environment_id: environment.data['id'] }) });
      await test.event(id, 'provision/done');
      const sandboxId = String((await test.show(id))['sandbox_id']);
      const { data, body } = await test.get(`/api/sandboxes/${sandboxId}/diff`);
      expect(data['diff'], JSON.stringify(body)).to.include('+two');
      expect(existsSync(outside)).to.equal(false);
      expect(existsSync(path.join(test.instance.dataDir, 'sandboxes', sandboxId, 'home', 'ran')), 'git ran it at all').to.equal(true);
    });

    it('should close the network of an environment that may reach nothing, and refuse what it cannot keep', async () => {
      const test = await TestInstance.start({ isolation: 'auto' });
      const closed = await test.post('/api/environments', { name: 'closed', networking_type: 'limited' });
      const id = await test.conversation({ agent_id: await test.agent({ environment_id: closed.data['id'] }) });
      await test.turn(id, [{ fetch: test.instance.baseUrl }]);
      expect(await test.said(id)).to.match(/^fetch failed/);
      const open = await test.conversation();
      await test.turn(open, [{ fetch: test.instance.baseUrl }]);
      expect(await test.said(open)).to.equal('fetch 404');
      const listed = await test.post('/api/environments', { name: 'listed', networking_type: 'limited', networking_config: { allowed_hosts: ['a.test'] } });
      const refused = await test.conversation({ agent_id: await test.agent({ environment_id: listed.data['id'] }) });
      expect(contentOf(await test.event(refused, 'network/failed'))['reason']).to.include('allowed_hosts');
    });
  });
});
