import { expect } from 'chai';
import fc from 'fast-check';
import { splitCommand } from '../../../lib/instance/programs/commandLine.ts';

function words(line: string): string[] {
  const { command, args } = splitCommand(line, 'runtime_command');
  return [command, ...args];
}

describe('splitCommand', () => {
  for (const [line, expected] of [
    ['agent', ['agent']],
    ['  agent   --acp\t-x \n', ['agent', '--acp', '-x']],
    [`agent 'a b' "c d" e\\ f`, ['agent', 'a b', 'c d', 'e f']],
    [`agent "say \\"hi\\" \\n" 'it\\'`, ['agent', 'say "hi" \\n', 'it\\']],
    [`agent --name=x"y z"'w' ''`, ['agent', '--name=xy zw', '']],
    ['agent $HOME | cat *', ['agent', '$HOME', '|', 'cat', '*']],
  ] as const) {
    it(`should take ${JSON.stringify(line)} apart`, () => {
      expect(words(line)).to.deep.equal(expected);
    });
  }

  it('should take assignments in front as environment', () => {
    expect(splitCommand(`A=1 B_2='x y' agent C=3`, 'x')).to.deep.equal({ command: 'agent', args: ['C=3'], env: { A: '1', B_2: 'x y' } });
  });

  it('should throw when a quote is open or there is no command', () => {
    expect(() => words(`agent "x`)).to.throw('runtime_command has a quote that is not closed');
    expect(() => words(`agent 'x`)).to.throw('a quote that is not closed');
    expect(() => words('agent \\')).to.throw('a backslash at its end');
    for (const line of ['', '  ', 'A=1', "''"]) expect(() => words(line)).to.throw('runtime_command holds no command');
  });

  it('should give back what was quoted, whatever it is', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (args) => {
        const quoted = args.map((arg) => `'${arg.replaceAll("'", `'"'"'`)}'`);
        expect(words(['agent', ...quoted].join(' '))).to.deep.equal(['agent', ...args]);
      }),
    );
  });
});
