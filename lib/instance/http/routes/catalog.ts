import type { FastifyInstance } from 'fastify';
import type { JsonObject } from '../../../protocol/jsonrpc.ts';
import { fixtureRuntime, fixtureSwitches, publicRuntimes } from '../../engine/instanceRuntimes.ts';
import { packageManagers } from '../../engine/provision.ts';
import { dataOf } from '../schemas.ts';
import type { Services } from '../services.ts';
import { localProvider } from '../views.ts';

/** Suggestions, and no allow-list; `default` leaves the choice to the agent's own program. */
const models: Readonly<Record<string, readonly string[]>> = {
  demo: ['fountain/demo'],
  claude: ['anthropic/default', 'anthropic/opus', 'anthropic/sonnet', 'anthropic/haiku'],
  codex: ['openai/default'],
  gemini: ['google/default', 'google/gemini-2.5-pro', 'google/gemini-2.5-flash'],
  opencode: ['anthropic/default', 'openai/default', 'google/default'],
  acp: [],
};

/** What this instance offers, its contract document, and whether it lives. Contract, sections 2.4 and 10.4. */
export function catalogRoutes(app: FastifyInstance, { context }: Services, document: () => JsonObject): void {
  const { env } = context.config;
  let openapi: JsonObject | null = null;

  app.get('/api/catalog', { schema: { summary: 'What this instance offers', response: { 200: dataOf({ type: 'object' }) } } }, () => {
    const { isEnabled } = fixtureSwitches(env);
    return {
      data: {
        runtimes: isEnabled ? [...publicRuntimes, fixtureRuntime] : publicRuntimes,
        models: isEnabled ? { ...models, [fixtureRuntime]: ['fixture/deterministic-v1'] } : models,
        model_providers: ['anthropic', 'openai', 'google', 'fountain'],
        sandbox_providers: { enabled: [localProvider], default: localProvider },
        package_managers: packageManagers,
        avatar: { bases: [], moods: [] },
        apps: { conversations: null, team: null },
        sandbox_api_access: ['owner', 'none'],
      },
    };
  });

  const open = { config: { access: 'public' as const } };
  app.get('/api/openapi.json', { ...open, schema: { summary: 'This document', response: { 200: { type: 'object' } } } }, () => (openapi ??= document()));
  app.get('/health', open, () => ({ status: 'ok' }));
  app.get('/health/ready', open, async () => {
    await context.store.count('accounts', {});
    return { status: 'ok' };
  });
}
