import { expect } from 'chai';
import fc from 'fast-check';
import { automaticOption, isPolicy, verdictFor, verdicts, widenedKey } from '../../../lib/instance/engine/permissionPolicy.ts';

const policies = fc.dictionary(fc.constantFrom('execute', 'edit', 'make test', 'default'), fc.constantFrom(...verdicts));
const calls = fc.record({ title: fc.constantFrom('make test', 'edit', 'else'), kind: fc.constantFrom('execute', 'edit', 'read') });

describe('verdictFor', () => {
  it('should look at the title, then the kind, then the default', () => {
    const policy = { 'make test': 'auto_allow', execute: 'ask', default: 'auto_deny' } as const;
    expect(verdictFor(policy, {}, { title: 'make test', kind: 'execute' })).to.equal('auto_allow');
    expect(verdictFor(policy, {}, { title: 'rm', kind: 'execute' })).to.equal('ask');
    expect(verdictFor(policy, {}, { title: 'rm', kind: 'edit' })).to.equal('auto_deny');
    expect(verdictFor({}, {}, { title: 'rm' })).to.equal('auto_allow');
  });

  it('should not let a title of the launch beat a kind of the agent', () => {
    const launch = { execute: 'auto_deny', 'make test': 'ask' } as const;
    expect(verdictFor({ execute: 'auto_deny' }, launch, { title: 'make test', kind: 'execute' })).to.equal('auto_deny');
  });

  it('should deny on a stored value that is no verdict', () => {
    expect(verdictFor({ execute: 'perhaps' as 'ask' }, {}, { kind: 'execute' })).to.equal('auto_deny');
  });

  it('should not take what an object inherits for a verdict', () => {
    expect(verdictFor({}, {}, { title: 'constructor', kind: 'toString' })).to.equal('auto_allow');
  });

  it('should never be weaker than the agent alone', () => {
    fc.assert(
      fc.property(policies, policies, calls, (agent, launch, call) => {
        expect(verdicts.indexOf(verdictFor(agent, launch, call))).to.be.at.least(verdicts.indexOf(verdictFor(agent, {}, call)));
      }),
    );
  });
});

describe('widenedKey', () => {
  it('should compare with the default of the launch where it lacks a key', () => {
    expect(widenedKey({ execute: 'ask' }, { default: 'ask' })).to.equal(null);
    expect(widenedKey({ execute: 'ask' }, { edit: 'ask' })).to.equal('execute');
    expect(widenedKey({ default: 'ask' }, { edit: 'auto_deny' })).to.equal('default');
    expect(widenedKey({ default: 'auto_deny' }, {})).to.equal(null);
  });
});

describe('isPolicy', () => {
  it('should take objects of verdicts only', () => {
    expect(isPolicy({ a: 'ask' })).to.equal(true);
    for (const value of [null, [], 'ask', { a: 'maybe' }, { a: { b: 'ask' } }]) expect(isPolicy(value)).to.equal(false);
  });
});

describe('automaticOption', () => {
  const once = { optionId: 'a', kind: 'allow_once' };
  const always = { optionId: 'b', kind: 'allow_always' };
  const reject = { optionId: 'c', kind: 'reject_once' };
  it('should prefer what lasts, and never allow where it has to deny', () => {
    expect(automaticOption([once, always, reject], 'auto_allow')).to.equal('b');
    expect(automaticOption([reject, once], 'auto_allow')).to.equal('a');
    expect(automaticOption([reject], 'auto_allow')).to.equal('c');
    expect(automaticOption([once, reject], 'auto_deny')).to.equal('c');
    expect(automaticOption([once, always], 'auto_deny')).to.equal(null);
    expect(automaticOption([], 'auto_allow')).to.equal(null);
  });
});
