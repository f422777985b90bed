/**
 * JSON-RPC 2.0 as ACP uses it: message shapes and error codes.
 *
 * @see https://www.jsonrpc.org/specification
 */

/** A request id: the peer's, echoed in type and value. */
export type RequestId = string | number | null;

/** Any JSON object whose members are not known here. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The error member of a response. */
export interface ErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** JSON-RPC's codes, and those that ACP adds in the server range. */
export const errorCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  requestCancelled: -32800,
  authRequired: -32000,
  resourceNotFound: -32002,
} as const;

/** Whether a value is a JSON object: neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
