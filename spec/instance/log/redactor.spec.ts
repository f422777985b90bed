import { expect } from 'chai';
import fc from 'fast-check';
import { Redactor } from '../../../lib/instance/log/redactor.ts';

describe('Redactor', () => {
  it('should replace values of eight bytes and more, longer ones first', () => {
    const redactor = new Redactor(['secret-1', 'secret-12', 'short', 'ääää']);
    expect(redactor.text('secret-12 secret-1 short ääää')).to.equal('[REDACTED] [REDACTED] short [REDACTED]');
  });

  it('should take every character for itself', () => {
    expect(new Redactor(['a.*+?^$[](){}|\\-/b']).text('x a.*+?^$[](){}|\\-/b y')).to.equal('x [REDACTED] y');
  });

  it('should find in a message what JSON escapes', () => {
    const secret = 'line one\n"line" two';
    const redactor = new Redactor([secret]);
    const line = JSON.stringify({ params: { update: { content: { text: `it is ${secret}!` } } } });
    expect(redactor.message(line)).to.equal('{"params":{"update":{"content":{"text":"it is [REDACTED]!"}}}}');
    expect(new Redactor(['password']).message('{"text":"p\\u0061ssword"}')).to.equal('{"text":"[REDACTED]"}');
  });

  it('should leave a message without secrets as it was written', () => {
    const line = '{ "a" : 1.0, "text":"\\u0061\\/" }';
    expect(new Redactor(['password']).message(line)).to.equal(line);
  });

  it("should not replace the protocol's own words", () => {
    const redactor = new Redactor(['completed', 'agent_message_chunk', 'sessionUpdate']);
    const line = '{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","status":"completed","content":{"text":"completed"}}}}';
    expect(redactor.message(line)).to.equal('{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","status":"completed","content":{"text":"[REDACTED]"}}}}');
  });

  it('should replace member names that are free text', () => {
    expect(new Redactor(['password']).json({ rawInput: { 'password=1': 2 } })).to.deep.equal({ rawInput: { '[REDACTED]=1': 2 } });
  });

  it('should hold back the longest end that a secret begins with', () => {
    const redactor = new Redactor(['abcabcabd']);
    expect(redactor.split('xx abcab')).to.deep.equal(['xx ', 'abcab']);
    expect(redactor.split('xx abcabcab')).to.deep.equal(['xx ', 'abcabcab']);
    expect(redactor.split('xx')).to.deep.equal(['xx', '']);
  });

  it('should leave no secret in any text', () => {
    const secrets = fc.array(fc.string({ minLength: 8, maxLength: 12, unit: fc.constantFrom('a', 'b', '-') }), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(secrets, fc.string({ unit: fc.constantFrom('a', 'b', '-'), maxLength: 60 }), (values, text) => {
        const clean = new Redactor(values).text(text);
        for (const value of values) expect(clean).to.not.include(value);
      }),
    );
  });
});
