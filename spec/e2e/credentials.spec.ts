import { expect } from 'chai';
import { scene, type Scene, type SceneOptions } from '../support/scene.ts';
import { routes } from '../support/scripted/departures.ts';

const fromFileAlone = { FOUNTAIN_API_KEY: null, FOUNTAIN_BASE_URL: null };

type File = (key: string, url: string) => string;

/** A scene whose credentials are in a file. */
function withFile(file: File, options: Omit<SceneOptions, 'files'> = {}): SceneOptions {
  return {
    env: () => fromFileAlone,
    ...options,
    files: ({ key, baseUrl }) => ({ '.fountain/credentials': file(key, baseUrl) }),
  };
}

async function usesTheKey({ instance, client }: Scene): Promise<void> {
  await client.open();
  expect(instance.requests).not.to.deep.equal([]);
  for (const { headers } of instance.requests) expect(headers.authorization).to.equal(`Bearer ${instance.key}`);
}

/** The key and the address are found independently: environment, then the profile's lines in a lenient file. */
describe('fountain acp: credentials', () => {
  const files: Record<string, File> = {
    'as the program writes it': (key, url) => `[default]\napi_key = "${key}"\nbase_url = "${url}"\n\n[other]\napi_key = "no"\n`,
    'without quotes and blanks': (key, url) => `[default]\napi_key=${key}\nbase_url=${url}`,
    'with CR LF': (key, url) => `[default]\r\napi_key = ${key}\r\nbase_url = "${url}"\r\n`,
    'with a byte order mark': (key, url) => `\ufeff[default]\napi_key = "${key}"\nbase_url = "${url}"\n`,
    'with comments and junk': (key, url) => `# keys\napi_key = early\nnonsense\n\n  [default]  \n\t# api_key = "commented"\n  api_key  =  "${key}"  \njunk\nbase_url = ${url}/\n#end`,
    'with a key given twice': (key, url) => `[default]\napi_key = "first"\napi_key = "${key}"\nbase_url = "${url}"\n`,
    'with a section given twice': (key, url) => `[default]\nbase_url = "${url}"\n[other]\nx = 1\n[default]\napi_key = "${key}"\n`,
    'with an opening quote alone': (key, url) => `[default]\napi_key = "${key}\nbase_url = "${url}\n`,
    'with slashes at the end of the address': (key, url) => `[default]\napi_key = "${key}"\nbase_url = "${url}///"\n`,
  };
  for (const [name, file] of Object.entries(files)) {
    it(`should read a file ${name}`, scene(withFile(file), usesTheKey));
  }

  it('should cut a value at the first equals sign alone', scene(withFile((key, url) => `[default]\napi_key = ${key}\nbase_url = ${url}\n`, { key: 'ftn_a=b==' }), usesTheKey));

  const profiles: File = (key, url) => `[default]\napi_key = "default-key"\nbase_url = "http://127.0.0.1:9"\n[night]\napi_key = "night-key"\nbase_url = "${url}"\n[day]\napi_key = "${key}"\nbase_url = "${url}"\n`;
  const ways: readonly [string, Omit<SceneOptions, 'files'>][] = [
    ['FOUNTAIN_PROFILE', { env: () => ({ ...fromFileAlone, FOUNTAIN_PROFILE: 'day' }) }],
    ['--profile before the command, whatever FOUNTAIN_PROFILE says', { globalArgs: ['--profile', 'day'], env: () => ({ ...fromFileAlone, FOUNTAIN_PROFILE: 'night' }) }],
    ['--profile after the command', { args: ['--agent', 'coder', '--profile', 'day'], env: () => ({ ...fromFileAlone, FOUNTAIN_PROFILE: 'night' }) }],
    ['--profile= before the command', { globalArgs: ['--profile=day'] }],
    ['--profile= among other flags', { args: ['--profile=day', '--agent', 'coder'] }],
  ];
  for (const [name, options] of ways) {
    it(`should use the profile that is named by ${name}`, scene(withFile(profiles, options), usesTheKey));
  }

  it('should have no credentials when the profile is not there, and name it', scene(withFile(profiles, { args: ['--agent', 'coder', '--profile', 'dusk'] }), async ({ instance, client }) => {
    expect((await client.initialize())['authMethods']).to.have.lengthOf(1);
    const error = await client.call('session/new', { cwd: '/', mcpServers: [] }).error();
    expect(error.code).to.equal(-32000);
    expect(error.message).to.contain('dusk').and.to.contain('fountain auth login');
    expect(instance.requests).to.deep.equal([]);
  }));

  it('should combine a key of the environment with the address of the profile', scene(withFile((_, url) => `[default]\napi_key = "wrong"\nbase_url = "${url}"\n`, { env: ({ key }) => ({ FOUNTAIN_API_KEY: key, FOUNTAIN_BASE_URL: null }) }), usesTheKey));

  it('should combine an address of the environment with the key of the profile', scene(withFile((key) => `[default]\napi_key = "${key}"\nbase_url = "http://127.0.0.1:9"\n`, { env: ({ baseUrl }) => ({ FOUNTAIN_API_KEY: null, FOUNTAIN_BASE_URL: baseUrl }) }), usesTheKey));

  it('should treat empty variables as absent', scene(withFile((key, url) => `[default]\napi_key = "${key}"\nbase_url = "${url}"\n`, { env: () => ({ FOUNTAIN_API_KEY: '', FOUNTAIN_BASE_URL: '', FOUNTAIN_PROFILE: '', FOUNTAIN_TOKEN: '' }) }), usesTheKey));

  it('should take FOUNTAIN_TOKEN where FOUNTAIN_API_KEY is not set', scene({ env: ({ key }) => ({ FOUNTAIN_API_KEY: null, FOUNTAIN_TOKEN: key }) }, usesTheKey));

  it('should take FOUNTAIN_API_KEY before FOUNTAIN_TOKEN', scene({ env: () => ({ FOUNTAIN_TOKEN: 'another' }) }, usesTheKey));

  it('should say that the file cannot be read when a directory is in its place, and live on', scene({ env: () => fromFileAlone, files: () => ({ '.fountain/credentials/x': '' }) }, async ({ client }) => {
    await client.initialize();
    const error = await client.call('session/new', { cwd: '/', mcpServers: [] }).error();
    expect(error.message).to.match(/credentials/).and.not.to.match(/undefined| {4}at /);
    await client.caughtUp();
  }));

  for (const [name, content] of [['an empty file', ''], ['binary rubbish', '\u0000\u0001\ufffd[default\n==\n]'], ['a profile without a key', '[default]\nbase_url = "http://127.0.0.1:9"\n']] as const) {
    it(`should have no credentials with ${name}`, scene(withFile(() => content), async ({ client }) => {
      expect((await client.initialize())['authMethods']).to.have.lengthOf(1);
      expect((await client.call('session/new', { cwd: '/', mcpServers: [] }).error()).code).to.equal(-32000);
    }));
  }

  for (const [name, key] of [['characters that no header can carry', 'ftn_zażółć'], ['a line end inside', 'ftn_a\nb: c']] as const) {
    it(`should refuse in words a key with ${name}`, scene({ env: () => ({ FOUNTAIN_API_KEY: key }) }, async ({ client }) => {
      await client.initialize();
      const error = await client.call('session/new', { cwd: '/', mcpServers: [] }).error();
      expect(error.message).not.to.match(/undefined|TypeError/).and.not.to.contain(key);
      await client.caughtUp();
    }));
  }

  it('should keep the key out of everything it says', scene({ key: 'ftn_hush_0a1b2c3d', args: ['--agent', 'coder', '--log-level', 'debug'] }, async ({ instance, client }) => {
    const sessionId = await client.open();
    expect(await client.prompt(sessionId, 'a secret plan').stopReason()).to.equal('end_turn');
    for (const departure of [{ status: 401, json: { error: 'no' } }, { breaks: 'reset' }, { status: 500, text: 'Bearer ftn_hush_0a1b2c3d is not welcome' }] as const) {
      instance.depart(routes.create, departure, { nth: [1] });
      await client.call('session/new', { cwd: '/', mcpServers: [] }).answered();
    }
    client.process.endInput();
    await client.process.exit();
    const everything = client.stderr + client.messages.map(({ line }) => line).join('\n');
    expect(everything).not.to.match(/hush_0a1b2c3d|0a1b2c3d/);
    expect(client.stderr).not.to.contain('a secret plan');
  }));
});
