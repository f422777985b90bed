import { map, mergeMap, throwError, type Observable } from 'rxjs';
import type { Context } from '../context.ts';
import { AcpError, credentialsRejected, invalidParams } from '../protocol/errors.ts';
import { errorCodes, type JsonObject } from '../protocol/jsonrpc.ts';
import type { RequestFrame } from '../protocol/frames.ts';
import { failAs } from './failures.ts';
import { loginMethod } from './initialize.ts';

/**
 * Verifies the CLI's saved credentials against the instance. There is no login inside the protocol.
 *
 * Errors: -32602 for another method; -32000 where the credentials are missing, rejected, or can't be verified.
 *
 * @see Specification, "Invocation": `authenticate`
 */
export function authenticate({ params }: RequestFrame, { instance$ }: Context): Observable<JsonObject> {
  const { methodId } = params;
  if (methodId !== loginMethod) return throwError(() => invalidParams(`unknown auth method "${String(methodId)}"; there is "${loginMethod}"`));
  return instance$.pipe(
    mergeMap((instance) =>
      instance.me().pipe(
        map(() => ({})),
        failAs(instance.where, (cause, data) =>
          data['status'] === 403
            ? credentialsRejected(instance.where, cause)
            : new AcpError(errorCodes.authRequired, `not authenticated for ${instance.where}: ${cause}; check it with "fountain auth login"`, data),
        ),
      ),
    ),
  );
}

