import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { fixtureSwitches } from '../engine/instanceRuntimes.ts';
import { sendError, sendNotFound } from './errors.ts';
import { authenticate, checkAccept, checkHost, checkOrigin } from './guards.ts';
import { openapiDocument } from './openapi.ts';
import type { DocumentedRoute } from './openapi.ts';
import { accountRoutes } from './routes/accounts.ts';
import { agentRoutes } from './routes/agents.ts';
import { catalogRoutes } from './routes/catalog.ts';
import { conversationRoutes } from './routes/conversations.ts';
import { environmentRoutes } from './routes/environments.ts';
import { eventRoutes } from './routes/events.ts';
import { launchRoutes } from './routes/launches.ts';
import { sandboxRoutes } from './routes/sandboxes.ts';
import { secretRoutes } from './routes/secrets.ts';
import { turnRoutes } from './routes/turns.ts';
import { vaultRoutes } from './routes/vaults.ts';
import { namedSchemas } from './schemas.ts';
import type { Services } from './services.ts';

/**
 * Returns the HTTP server of an instance, not yet listening.
 *
 * @see Fountain HTTP and SSE contract
 */
export function httpServer(services: Services): FastifyInstance {
  const { config, keys } = services.context;
  const app = Fastify({
    bodyLimit: config.bodyLimitBytes,
    forceCloseConnections: true,
    // Ids of permission requests are part of a path and may be long.
    routerOptions: { maxParamLength: 512 },
    ajv: { customOptions: { coerceTypes: false, useDefaults: false, removeAdditional: false, allErrors: true, strict: false } },
    requestTimeout: 0,
    exposeHeadRoutes: false,
    frameworkErrors: (error, _request, reply) => void sendError(error, reply, services.context.onFailure),
  });
  const schemas = namedSchemas(fixtureSwitches(config.env).isConfigured);
  const routes: DocumentedRoute[] = [];
  for (const schema of schemas) app.addSchema(schema);
  // Answers are made from rows that are valid by construction; their schemas document them.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  acceptJsonAlone(app);
  app.setErrorHandler((error, _request, reply) => sendError(error, reply, services.context.onFailure));
  app.setNotFoundHandler(sendNotFound);
  app.decorateRequest('caller');
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith('/api')) routes.push(route);
  });
  app.addHook('onRequest', async (request, reply) => {
    checkHost(request, config);
    checkOrigin(request, reply, config);
    if (request.method === 'OPTIONS' || request.is404) return;
    const { access, isStream } = request.routeOptions.config;
    if (isStream !== true) checkAccept(request);
    if (access !== 'public') request.caller = await authenticate(request, keys, access === 'full');
  });
  app.addHook('onResponse', (request, reply, done) => {
    config.log('debug', `${request.method} ${request.url.split('?')[0] ?? ''} ${reply.statusCode} ${Math.round(reply.elapsedTime)} ms`);
    done();
  });
  app.options('/*', { config: { access: 'public' } }, (_request, reply) => reply.code(204).send());
  for (const add of groups) add(app, services);
  catalogRoutes(app, services, () => openapiDocument(routes, schemas, services.version));
  return app;
}

const groups = [accountRoutes, agentRoutes, vaultRoutes, environmentRoutes, secretRoutes, launchRoutes, conversationRoutes, turnRoutes, eventRoutes, sandboxRoutes];

/** A body of no bytes is none, whatever its type says; every other one is JSON. */
function acceptJsonAlone(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'ignore');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else void parse(request, body.toString(), done);
  });
}
