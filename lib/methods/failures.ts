import { catchError, throwError, type MonoTypeOperatorFunction } from 'rxjs';
import { isApiError, statusOf } from '../protocol/apiError.ts';
import { AcpError, credentialsRejected, describe, internalError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/jsonrpc.ts';

/**
 * Words a failed call for the client: rejected credentials as such, anything else as the caller says.
 *
 * Errors: an {@link AcpError} in place of whatever came.
 *
 * @param where - The instance that was asked.
 * @param words - Returns the message for a cause in words.
 * @see Specification, "When something goes wrong"
 */
export function failAs<T>(where: string, words: (cause: string, data: JsonObject) => AcpError | string): MonoTypeOperatorFunction<T> {
  return catchError((error: unknown) => throwError(() => worded(error, where, words)));
}

function worded(error: unknown, where: string, words: (cause: string, data: JsonObject) => AcpError | string): AcpError {
  if (error instanceof AcpError) return error;
  const cause = describe(error);
  if (statusOf(error) === 401) return credentialsRejected(where, cause);
  const data = factsOf(error);
  const message = words(cause, data);
  return typeof message === 'string' ? internalError(message, data, error) : message;
}

/** What a program may want to know of a failed call. */
export function factsOf(error: unknown): JsonObject {
  if (!isApiError(error)) return {};
  const { status, code } = error.fault;
  return { ...(status !== undefined && { status }), ...(code !== undefined && { error: code }) };
}
