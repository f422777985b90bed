import { errorCodes, type ErrorObject, type JsonObject } from './jsonrpc.ts';

/**
 * A failure that is told to the client as a JSON-RPC error: a code, words for a reader inside an editor, and few facts
 * for a program.
 */
export class AcpError extends Error {
  override readonly name = 'AcpError';
  readonly code: number;
  readonly data: JsonObject | undefined;

  constructor(code: number, message: string, data?: JsonObject, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.data = data;
  }
}

/** Returns what goes into the `error` member for any thrown value; what is no {@link AcpError} is a fault of ours. */
export function toErrorObject(error: unknown): ErrorObject {
  if (error instanceof AcpError) {
    return { code: error.code, message: error.message, ...(error.data && { data: error.data }) };
  }
  return { code: errorCodes.internalError, message: `fountain failed: ${describe(error)}` };
}

/** Returns the words of any thrown value, those of its cause where it has none itself; never a stack trace. */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : 'an unknown fault';
  if (error.message !== '') return error.message;
  return error.cause === undefined ? error.name : describe(error.cause);
}

/** -32602. */
export function invalidParams(message: string, data?: JsonObject): AcpError {
  return new AcpError(errorCodes.invalidParams, message, data);
}

/** -32603. */
export function internalError(message: string, data?: JsonObject, cause?: unknown): AcpError {
  return new AcpError(errorCodes.internalError, message, data, cause);
}

/** -32002: clients fall back to a new session on it. */
export function unknownSession(sessionId: string, words: string): AcpError {
  return new AcpError(errorCodes.resourceNotFound, words, { sessionId });
}

/** The message for a process without `--agent`. Specification, "When something goes wrong". */
export function noAgentConfigured(): AcpError {
  return invalidParams('no Fountain agent configured: give this client entry one with --agent <name-or-id>, as in "fountain acp --agent coder"');
}

/** The message for an agent without an ACP adapter. Specification, "When something goes wrong". */
export function runtimeWithoutAcp(agent: string, runtime: string): AcpError {
  return invalidParams(
    `agent "${agent}" runs the ${runtime} runtime, which does not speak ACP; use it from the conversations app, or with "fountain run"`,
  );
}

/** -32000: nothing to authenticate with. */
export function noCredentials(where: string): AcpError {
  return new AcpError(errorCodes.authRequired, `no credentials for ${where}; run "fountain auth login", or set FOUNTAIN_API_KEY`);
}

/** -32000. Specification, "When something goes wrong". */
export function credentialsRejected(where: string, cause: string): AcpError {
  return new AcpError(errorCodes.authRequired, `credentials for ${where} were rejected (${cause}); run "fountain auth login"`);
}

/** The message for a name that is not there. Specification, "When something goes wrong". */
export function couldNotResolveAgent(agent: string, where: string, cause: string, data?: JsonObject): AcpError {
  return internalError(`could not resolve agent "${agent}" on ${where}: ${cause}`, data);
}
