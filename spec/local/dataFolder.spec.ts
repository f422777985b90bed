import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { localDataFolder } from '../../lib/local/dataFolder.ts';

describe('localDataFolder', () => {
  it('should be the folder that the environment names', () => {
    expect(localDataFolder({ FOUNTAIN_LOCAL_DATA: '/data/x' })).to.equal('/data/x');
    expect(localDataFolder({ FOUNTAIN_LOCAL_DATA: 'x' })).to.equal(path.resolve('x'));
  });

  it("should be in the user's home folder when HOME is unset or empty too", () => {
    const module = pathToFileURL(path.resolve('lib/local/dataFolder.ts')).href;
    const code = `import(${JSON.stringify(module)}).then((m) => process.stdout.write(m.localDataFolder()))`;
    for (const env of [{}, { HOME: '' }]) {
      const printed = execFileSync(process.execPath, ['--import', 'tsx', '--eval', code], { env, encoding: 'utf8' });
      expect(printed).to.equal(path.join(os.userInfo().homedir, '.fountain', 'local'));
    }
  });
});
