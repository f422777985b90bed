import { expect } from 'chai';
import fc from 'fast-check';
import { ApiError, httpErrorCode, httpErrorWords, isApiError, statusOf } from '../../lib/protocol/apiError.ts';
import { holds } from '../support/properties.ts';

describe('ApiError', () => {
  it('should carry words, facts and the cause', () => {
    const cause = new Error('below');
    const error = new ApiError('http 404: not_found', { status: 404, maybeDone: false }, cause);
    expect(error).to.include({ name: 'ApiError', message: 'http 404: not_found', cause });
    expect(error.fault).to.deep.equal({ status: 404, maybeDone: false });
  });
});

describe('isApiError', () => {
  it('should know one from another bundle by its name', () => {
    const foreign = Object.assign(new Error('x'), { name: 'ApiError', fault: { maybeDone: false } });
    expect([new ApiError('x', { maybeDone: false }), foreign].map(isApiError)).to.deep.equal([true, true]);
    expect([new Error('x'), 'x', undefined, { name: 'ApiError' }].map(isApiError)).to.deep.equal([false, false, false, false]);
  });
});

describe('statusOf', () => {
  it('should return the status of an answer, and nothing when none came', () => {
    expect(statusOf(new ApiError('x', { status: 410, maybeDone: false }))).to.equal(410);
    expect(statusOf(new ApiError('x', { maybeDone: true }))).to.equal(undefined);
    expect(statusOf(new Error('x'))).to.equal(undefined);
  });
});

describe('httpErrorCode', () => {
  it('should prefer the reason, which is the narrower one', () => {
    expect(httpErrorCode({ error: 'forbidden', reason: 'email_unverified' })).to.equal('email_unverified');
    expect(httpErrorCode({ error: 'not_found' })).to.equal('not_found');
  });

  it('should return nothing when the body names no code', () => {
    for (const body of [undefined, null, 'not_found', [], {}, { error: 7 }]) expect(httpErrorCode(body)).to.equal(undefined);
  });
});

describe('httpErrorWords', () => {
  const cases: readonly [string, number, unknown, string][] = [
    ['the status alone when there is no body', 502, undefined, 'http 502'],
    ['the status alone when the body is no object', 500, ['x'], 'http 500'],
    ['the code', 404, { error: 'not_found' }, 'http 404: not_found'],
    ['the message before the code', 400, { error: 'conversation_busy', message: 'a turn is running' }, 'http 400: a turn is running'],
    ['the code when the message is empty', 400, { error: 'conversation_busy', message: '' }, 'http 400: conversation_busy'],
    ['fields sorted, words joined', 422, { errors: { name: ['is bad', 'is long'], agent: ["can't be blank"] } }, "http 422: agent: can't be blank; name: is bad, is long"],
    ['the code before the fields', 422, { error: 'validation_failed', errors: { title: ['is invalid'] } }, 'http 422: validation_failed: title: is invalid'],
    ['nested fields with dotted names', 422, { errors: { policy: { execute: ['widens'], edit: ['is invalid'] } } }, 'http 422: policy.edit: is invalid; policy.execute: widens'],
    ['a detail', 500, { errors: { detail: 'Internal Server Error' } }, 'http 500: detail: Internal Server Error'],
    ['a list of schema faults by their detail', 422, { errors: [{ title: 'Invalid', source: { pointer: '/agent_id' }, detail: 'Missing field: agent_id' }] }, 'http 422: Missing field: agent_id'],
    ['no fields when there are none', 422, { error: 'x', errors: {} }, 'http 422: x'],
    ['where to upgrade', 402, { error: 'insufficient_credits', upgrade_url: 'https://fountain.example.test/plan' }, 'http 402: insufficient_credits (upgrade: https://fountain.example.test/plan)'],
    ['words that are no list', 422, { errors: { limit: 3 } }, 'http 422: limit: 3'],
  ];
  for (const [name, status, body, words] of cases) it(`should tell ${name}`, () => expect(httpErrorWords(status, body)).to.equal(words));

  it('should begin with the status and stay one string, whatever the body', () => {
    const key = fc.string().filter((text) => !(text in {}));
    const body = fc.dictionary(key, fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.array(fc.string()), fc.dictionary(key, fc.array(fc.string()))));
    holds(
      fc.property(fc.integer({ min: 300, max: 599 }), fc.oneof(body, body.map((errors) => ({ error: 'x', errors }))), (status, answer) => {
        expect(httpErrorWords(status, answer)).to.match(new RegExp(`^http ${status}`));
      }),
    );
  });

  it('should tell every word of every field', () => {
    const word = fc.stringMatching(/^[a-z]{1,8}$/);
    holds(
      fc.property(fc.dictionary(word, fc.array(word, { minLength: 1 }), { minKeys: 1 }), (errors) => {
        const words = httpErrorWords(422, { errors });
        for (const [field, said] of Object.entries(errors)) expect(words).to.contain(`${field}: ${said.join(', ')}`);
      }),
    );
  });
});
