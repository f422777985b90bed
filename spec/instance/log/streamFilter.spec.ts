import { expect } from 'chai';
import { selects, selectsStagesOnly, streamFilter } from '../../../lib/instance/log/streamFilter.ts';

const kinds = [
  { kind: 'output', stream: 'stdout' },
  { kind: 'output', stream: 'stderr' },
  { kind: 'output', stream: 'acp' },
  { kind: 'stage', stream: '' },
] as const;

describe('streamFilter', () => {
  const cases: readonly [string | undefined, string][] = [
    [undefined, '1111'],
    ['', '1111'],
    [' , ', '1111'],
    ['acp', '0010'],
    [' acp , stage ', '0011'],
    ['stage', '0001'],
    ['stdout,stderr', '1100'],
    ['output', '0000'],
    ['ACP', '0000'],
  ];
  for (const [streams, expected] of cases) {
    it(`should select ${expected} of stdout, stderr, acp and stage for ${JSON.stringify(streams)}`, () => {
      const filter = streamFilter(streams);
      expect(kinds.map((event) => (selects(filter, event) ? '1' : '0')).join('')).to.equal(expected);
      if (selectsStagesOnly(filter)) expect(expected.slice(0, 3)).to.equal('000');
    });
  }
});
