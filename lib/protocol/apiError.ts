import { isJsonObject, type JsonObject } from './jsonrpc.ts';

/** What is known of a call to the instance that failed. */
export interface ApiFault {
  /** HTTP status; undefined where no answer came. */
  readonly status?: number | undefined;
  /** The error's code in the answer, such as `conversation_busy`; or the system's, such as `ECONNREFUSED`. */
  readonly code?: string | undefined;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** Whether the request may have reached the server and been carried out. */
  readonly maybeDone: boolean;
}

/** A call to the instance that failed, in words: `http 404: not_found`, `connection refused (ECONNREFUSED 127.0.0.1:9)`. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly fault: ApiFault;

  constructor(message: string, fault: ApiFault, cause?: unknown) {
    super(message, { cause });
    this.fault = fault;
  }
}

/** Whether a thrown value is an {@link ApiError}, of whatever bundle. */
export function isApiError(error: unknown): error is ApiError {
  return error instanceof Error && error.name === 'ApiError';
}

/** The HTTP status of a failed call; undefined where no answer came, or for another error. */
export function statusOf(error: unknown): number | undefined {
  return isApiError(error) ? error.fault.status : undefined;
}

/**
 * Returns the words for an answer that is no success: `http <status>`, then what its body says, field by field. A body
 * that is no JSON, such as a gateway's page, is left out.
 *
 * @see Fountain HTTP and SSE contract, "Error envelope"
 */
export function httpErrorWords(status: number, body: unknown): string {
  if (!isJsonObject(body)) return `http ${status}`;
  const { message, error, errors, upgrade_url: upgradeUrl } = body;
  const said = [message, error].find((part) => typeof part === 'string' && part !== '');
  const fields = isJsonObject(errors) || Array.isArray(errors) ? fieldErrors(errors) : '';
  const upgrade = typeof upgradeUrl === 'string' ? ` (upgrade: ${upgradeUrl})` : '';
  return [`http ${status}`, said, fields].filter((part) => part !== undefined && part !== '').join(': ') + upgrade;
}

/** The code of an error answer. */
export function httpErrorCode(body: unknown): string | undefined {
  const code = isJsonObject(body) ? (body['reason'] ?? body['error']) : undefined;
  return typeof code === 'string' ? code : undefined;
}

function fieldErrors(errors: JsonObject | readonly unknown[]): string {
  return Object.entries(flatten(errors, ''))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([field, words]) => (field === '' ? words.join(', ') : `${field}: ${words.join(', ')}`))
    .join('; ');
}

/** Nested fields get dotted names; a list of objects, as schema casts give, is read by its `detail`. */
function flatten(value: unknown, name: string): Record<string, string[]> {
  if (typeof value === 'string') return { [name]: [value] };
  if (Array.isArray(value)) return mergeAll(value.map((item) => flatten(detailOf(item), name)));
  if (!isJsonObject(value)) return value === null || value === undefined ? {} : { [name]: [JSON.stringify(value)] };
  return mergeAll(Object.entries(value).map(([key, inner]) => flatten(inner, name === '' ? key : `${name}.${key}`)));
}

function detailOf(item: unknown): unknown {
  return isJsonObject(item) && typeof item['detail'] === 'string' ? item['detail'] : item;
}

function mergeAll(parts: readonly Record<string, string[]>[]): Record<string, string[]> {
  const merged: Record<string, string[]> = {};
  for (const part of parts) {
    for (const [field, words] of Object.entries(part)) (merged[field] ??= []).push(...words);
  }
  return merged;
}
