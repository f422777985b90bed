import type { JsonObject } from '../protocol/jsonrpc.ts';

/** What a refusal carries beside its code. */
export interface RefusalDetails {
  /** Prose for a person. */
  readonly message?: string;
  /** Seconds after which the same call may succeed. */
  readonly retryAfter?: number;
  /** Further members of the body. */
  readonly fields?: JsonObject;
}

/**
 * A call that is refused, with the status and the body of its answer.
 *
 * @see Fountain HTTP and SSE contract, section 1.8
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: string;
  readonly details: RefusalDetails;

  constructor(status: number, code: string, details: RefusalDetails = {}) {
    super(details.message ?? code);
    this.status = status;
    this.code = code;
    this.details = details;
  }

  /** The JSON body of the answer. */
  get body(): JsonObject {
    const { message, fields } = this.details;
    return { error: this.code, ...(message === undefined ? {} : { message }), ...fields };
  }
}

/** Returns the refusal of something that is not there, or belongs to somebody else. */
export function notFound(code = 'not_found'): Refusal {
  return new Refusal(404, code);
}

/** Returns the refusal of input: messages by field. */
export function invalid(errors: Readonly<Record<string, readonly string[]>>): Refusal {
  return new Refusal(422, 'validation_failed', { fields: { errors } });
}

/** Returns the refusal of a sandbox's key where a person's is needed. */
export function insufficientScope(): Refusal {
  return new Refusal(403, 'this needs a full-scope API key', { fields: { reason: 'insufficient_scope', required_scope: 'full' } });
}
