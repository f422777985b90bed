import { expect } from 'chai';
import { eventTime, rowTime } from '../../lib/instance/time.ts';

describe('eventTime', () => {
  it('should have microseconds and never go back', () => {
    const times = Array.from({ length: 3000 }, () => eventTime());
    expect(times.every((time) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(time))).to.equal(true);
    expect([...times].sort()).to.deep.equal(times);
  });
});

describe('rowTime', () => {
  it('should have seconds', () => {
    expect(rowTime()).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });
});
