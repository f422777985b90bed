import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { invalid, Refusal } from '../refusal.ts';
import { UniqueViolation } from '../store/store.ts';

type SchemaProblem = NonNullable<FastifyError['validation']>[number];

/** What Fastify itself refuses, in the envelope's words. */
const codes: Readonly<Record<number, string>> = { 400: 'bad_request', 404: 'not_found', 413: 'payload_too_large', 415: 'unsupported_media_type' };

/**
 * Answers with the one error envelope, whatever went wrong.
 *
 * @see Fountain HTTP and SSE contract, section 1.8
 */
export function sendError(error: unknown, reply: FastifyReply, onFault: (error: unknown) => void): FastifyReply {
  const refusal = asRefusal(error);
  if (refusal.status >= 500 && refusal.code === 'internal_error') onFault(error);
  const { retryAfter } = refusal.details;
  if (retryAfter !== undefined) void reply.header('retry-after', String(retryAfter));
  return reply.code(refusal.status).type('application/json; charset=utf-8').send(refusal.body);
}

/** Returns the refusal that an error comes to; one that nobody foresaw says nothing about itself. */
function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof UniqueViolation) return invalid({ name: ['has already been taken'] });
  const { validation, statusCode, message } = error as Partial<FastifyError>;
  if (validation !== undefined) return invalid(fieldErrors(validation));
  if (statusCode !== undefined && statusCode < 500) {
    return new Refusal(statusCode, codes[statusCode] ?? 'bad_request', message === undefined ? {} : { message });
  }
  return new Refusal(500, 'internal_error', { message: 'the server failed; its own output says more' });
}

/** Answers for a route that is not there. */
export function sendNotFound(_request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = new Refusal(404, 'not_found', { message: 'there is no such route' });
  return reply.code(404).type('application/json; charset=utf-8').send(refusal.body);
}

function fieldErrors(problems: readonly SchemaProblem[]): Record<string, string[]> {
  const errors: Record<string, string[]> = {};
  for (const problem of problems) {
    if (isEcho(problem)) continue;
    const messages = (errors[fieldOf(problem)] ??= []);
    const phrase = phraseOf(problem);
    if (!messages.includes(phrase)) messages.push(phrase);
  }
  if (Object.keys(errors).length === 0) errors['body'] = ['is invalid'];
  return errors;
}

/** Whether another problem says the same: one branch of a choice is the reason, and the choice and its null branch are not. */
function isEcho({ keyword, params }: SchemaProblem): boolean {
  return keyword === 'anyOf' || keyword === 'propertyNames' || (keyword === 'type' && params['type'] === 'null');
}

function fieldOf({ instancePath, params }: SchemaProblem): string {
  const missing = typeof params['missingProperty'] === 'string' ? [params['missingProperty']] : [];
  const parts = [...instancePath.split('/').slice(1), ...missing];
  return parts.join('/') || 'body';
}

function phraseOf({ keyword, params }: SchemaProblem): string {
  if (keyword === 'required' || keyword === 'minLength') return "can't be blank";
  if (keyword === 'maxLength') return `should be at most ${String(params['limit'])} character(s)`;
  if (keyword === 'maxProperties') return `should have at most ${String(params['limit'])} item(s)`;
  return 'is invalid';
}
