import { expect } from 'chai';
import { AcpError, couldNotResolveAgent, credentialsRejected, describe as wordsOf, internalError, invalidParams, noAgentConfigured, noCredentials, runtimeWithoutAcp, toErrorObject, unknownSession } from '../../lib/protocol/errors.ts';

const where = 'https://fountain.example.test (profile work)';

describe('AcpError', () => {
  it('should keep code, words, data and cause', () => {
    const cause = new Error('below');
    const error = new AcpError(-32603, 'words', { status: 500 }, cause);
    expect(error).to.include({ code: -32603, message: 'words', cause });
    expect(error.data).to.deep.equal({ status: 500 });
  });
});

describe('toErrorObject', () => {
  it('should tell what the error says, and no data when there is none', () => {
    expect(toErrorObject(invalidParams('bad', { field: 'a' }))).to.deep.equal({ code: -32602, message: 'bad', data: { field: 'a' } });
    expect(toErrorObject(invalidParams('bad'))).to.deep.equal({ code: -32602, message: 'bad' });
  });

  it('should name it a fault of ours when anything else was thrown, without a stack trace', () => {
    expect(toErrorObject(new TypeError('x is not a function'))).to.deep.equal({ code: -32603, message: 'fountain failed: x is not a function' });
    expect(toErrorObject(undefined)).to.deep.equal({ code: -32603, message: 'fountain failed: an unknown fault' });
  });
});

describe('describe', () => {
  const cases: readonly [string, unknown, string][] = [
    ['the message', new Error('words'), 'words'],
    ["the cause's message when there is none", new Error('', { cause: new Error('below') }), 'below'],
    ['the name when there is nothing else', new TypeError(''), 'TypeError'],
    ['a string as it is', 'words', 'words'],
    ['words of its own for what is no error', { a: 1 }, 'an unknown fault'],
  ];
  for (const [name, thrown, words] of cases) it(`should return ${name}`, () => expect(wordsOf(thrown)).to.equal(words));
});

/** The texts of the specification's table, which a reader sees in an editor. */
const worded: readonly [string, AcpError, number, RegExp][] = [
  ['noAgentConfigured', noAgentConfigured(), -32602, /^no Fountain agent configured\b.*--agent/],
  ['runtimeWithoutAcp', runtimeWithoutAcp('coder', 'abacus'), -32602, /^agent "coder" runs the abacus runtime, which does not speak ACP\b/],
  ['noCredentials', noCredentials(where), -32000, /^no credentials for https:\/\/fountain\.example\.test \(profile work\).*fountain auth login/],
  ['credentialsRejected', credentialsRejected(where, 'http 401'), -32000, /^credentials for https:\/\/fountain\.example\.test \(profile work\) were rejected \(http 401\).*fountain auth login/],
  ['couldNotResolveAgent', couldNotResolveAgent('x', where, 'no agent named "x"'), -32603, /^could not resolve agent "x" on https:\/\/fountain\.example\.test \(profile work\): no agent named "x"$/],
  ['unknownSession', unknownSession('s', 'unknown session "s"'), -32002, /^unknown session "s"$/],
  ['internalError', internalError('words'), -32603, /^words$/],
  ['invalidParams', invalidParams('words'), -32602, /^words$/],
];
for (const [name, error, code, words] of worded) {
  describe(name, () => {
    it('should be worded as the specification has it', () => {
      expect(error.code).to.equal(code);
      expect(error.message).to.match(words);
    });
  });
}
