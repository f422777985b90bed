import type { RouteOptions } from 'fastify';
import { isJsonObject } from '../../protocol/jsonrpc.ts';
import type { JsonObject } from '../../protocol/jsonrpc.ts';
import type { Schema } from './schemas.ts';

/** A route as far as the contract document shows it. */
export type DocumentedRoute = Pick<RouteOptions, 'method' | 'url' | 'schema' | 'config'>;

/** Statuses that every route may answer with, and what they mean. */
const refusals: Readonly<Record<string, string>> = { '4XX': 'Refused', '5XX': 'The server failed' };

/**
 * Returns the OpenAPI document of the routes, made from the schemas that validate them.
 *
 * @param schemas - The named schemas that routes refer to.
 * @see Fountain HTTP and SSE contract, section 2.4
 */
export function openapiDocument(routes: readonly DocumentedRoute[], schemas: readonly (Schema & { readonly $id: string })[], version: string): JsonObject {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const methods = [route.method].flat().filter((method) => method !== 'HEAD' && method !== 'OPTIONS');
    const path = (paths[route.url.replace(/:(\w+)/g, '{$1}')] ??= {});
    for (const method of methods) path[method.toLowerCase()] = operation(route);
  }
  const components = Object.fromEntries(schemas.map(({ $id, ...schema }) => [$id, documented(schema)]));
  return {
    openapi: '3.1.0',
    info: { title: 'Fountain', version, description: 'Conversations with coding agents, on this machine.' },
    paths,
    components: { schemas: components, securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
    security: [{ key: [] }],
  };
}

function operation({ url, schema, config }: DocumentedRoute): JsonObject {
  const { body, querystring, response, summary } = (schema ?? {}) as { body?: unknown; querystring?: unknown; response?: unknown; summary?: string };
  const named = [...url.matchAll(/:(\w+)/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  return {
    ...(summary === undefined ? {} : { summary }),
    ...(config?.access === 'public' ? { security: [] } : {}),
    parameters: [...named, ...queryParameters(querystring)],
    ...(body === undefined ? {} : { requestBody: { required: true, content: { 'application/json': { schema: documented(body) } } } }),
    responses: { ...successes(response), ...Object.fromEntries(Object.entries(refusals).map(([status, description]) => [status, answer(description, { $ref: 'Error#' })])) },
  };
}

function queryParameters(querystring: unknown): JsonObject[] {
  const properties = isJsonObject(querystring) && isJsonObject(querystring['properties']) ? querystring['properties'] : {};
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', required: false, schema: documented(schema) }));
}

function successes(response: unknown): JsonObject {
  const entries = isJsonObject(response) ? Object.entries(response) : [];
  return Object.fromEntries(
    entries.map(([status, schema]) => {
      if (!isJsonObject(schema)) return [status, { description: 'Done' }];
      const { contentType, ...rest } = schema;
      if (schema['type'] === 'null') return [status, { description: 'Done' }];
      return [status, answer('Done', rest, typeof contentType === 'string' ? contentType : undefined)];
    }),
  );
}

function answer(description: string, schema: unknown, contentType = 'application/json'): JsonObject {
  return { description, content: { [contentType]: { schema: documented(schema) } } };
}

/** Returns a schema with its references in the document's form. */
function documented(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(documented);
  if (!isJsonObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, key === '$ref' && typeof value === 'string' ? `#/components/schemas/${value.replace(/#$/, '')}` : documented(value)]),
  );
}
