import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { JsonObject } from '../../../lib/protocol/jsonrpc.ts';
import { contentOf } from '../support/eventReader.ts';
import { cleanUp, TestInstance } from '../support/testInstance.ts';

interface Operation {
  readonly responses: Readonly<Record<string, { content?: Readonly<Record<string, { schema: JsonObject }>> }>>;
  readonly requestBody?: unknown;
}

/** One call of the walk through all routes: template, values for it, body, expected status. */
type Step = readonly [method: string, template: string, url: string, status: number, body?: unknown];

describe('openapiDocument', () => {
  afterEach(cleanUp);

  async function documentOf(test: TestInstance): Promise<JsonObject> {
    return (await (await fetch(`${test.instance.baseUrl}/api/openapi.json`)).json()) as JsonObject;
  }

  it('should describe what every route really answers', async () => {
    const test = await TestInstance.start({ accounts: [{ email: 'a@b.test', password: 'pass' }] });
    const document = await documentOf(test);
    const paths = document['paths'] as Record<string, Record<string, Operation>>;
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    ajv.addSchema({ $id: 'doc', components: document['components'] });
    const untried = new Set(Object.entries(paths).flatMap(([url, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${url}`)));

    const tried = async ([method, template, url, status, body]: Step): Promise<JsonObject> => {
      const answer = await test.call(method, url, body);
      expect(answer.status, `${method} ${url}: ${JSON.stringify(answer.body)}`).to.equal(status);
      untried.delete(`${method} ${template}`);
      const operation = paths[template]![method.toLowerCase()]!;
      const described = operation.responses[String(status)] ?? operation.responses[`${Math.floor(status / 100)}XX`];
      expect(described, `${method} ${template} ${status}`).to.not.equal(undefined);
      const schema = described!.content?.['application/json']?.schema;
      if (schema === undefined) return answer.body;
      const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"doc#/components')) as JsonObject);
      expect(validate(answer.body), `${method} ${url} answered ${JSON.stringify(answer.body)}: ${JSON.stringify(validate.errors)}`).to.equal(true);
      return answer.body;
    };
    const idOf = (body: JsonObject): string => String((body['data'] as JsonObject)['id']);

    await tried(['POST', '/api/auth/token', '/api/auth/token', 201, { email: 'a@b.test', password: 'pass' }]);
    await tried(['POST', '/api/auth/token', '/api/auth/token', 401, { email: 'a@b.test', password: 'wrong' }]);
    for (const url of ['/api/auth/me', '/api/catalog', '/api/openapi.json']) await tried(['GET', url, url, 200]);
    const ids: Record<string, string> = {};
    for (const name of ['vaults', 'environments']) {
      const id = idOf(await tried(['POST', `/api/${name}`, `/api/${name}`, 201, { name: 'n', description: 'd' }]));
      ids[name] = id;
      await tried(['POST', `/api/${name}`, `/api/${name}`, 422, { name: 'n' }]);
      await tried(['GET', `/api/${name}`, `/api/${name}`, 200]);
      await tried(['GET', `/api/${name}/{id}`, `/api/${name}/${id}`, 200]);
      await tried(['PUT', `/api/${name}/{id}`, `/api/${name}/${id}`, 200, { name: 'm' }]);
      await tried(['PATCH', `/api/${name}/{id}`, `/api/${name}/${id}`, 200, { metadata: { a: 1 } }]);
      await tried(['POST', `/api/${name}/{owner}/secrets`, `/api/${name}/${id}/secrets`, 201, { key: 'K', value: 'v' }]);
      await tried(['GET', `/api/${name}/{owner}/secrets`, `/api/${name}/${id}/secrets`, 200]);
      await tried(['DELETE', `/api/${name}/{owner}/secrets/{key}`, `/api/${name}/${id}/secrets/K`, 204]);
      await tried(['DELETE', `/api/${name}/{owner}/secrets/{key}`, `/api/${name}/${id}/secrets/K`, 404]);
    }
    const agentId = await test.agent({ permission_policy: { default: 'ask' } });
    const agent = idOf(await tried(['POST', '/api/agents', '/api/agents', 201, { name: 'demo-2', runtime: 'demo', model: 'fountain/demo' }]));
    await tried(['GET', '/api/agents', '/api/agents', 200]);
    await tried(['GET', '/api/agents/{id}', `/api/agents/${agent}`, 200]);
    await tried(['PUT', '/api/agents/{id}', `/api/agents/${agent}`, 200, { description: 'x' }]);
    await tried(['PATCH', '/api/agents/{id}', `/api/agents/${agent}`, 200, { sandbox_mode: 'persistent' }]);
    await tried(['DELETE', '/api/agents/{id}', `/api/agents/${agent}`, 204]);
    await tried(['GET', '/api/agents/{id}', `/api/agents/${agent}`, 404]);

    const launched = await tried(['POST', '/api/conversations', '/api/conversations', 201, { agent_id: agentId, channel_id: 'c' }]);
    await tried(['POST', '/api/conversations', '/api/conversations', 200, { agent_id: agentId, channel_id: 'c' }]);
    await tried(['POST', '/api/conversations', '/api/conversations', 422, { agent_id: agentId, permission_policy: { default: 'auto_allow' } }]);
    const id = idOf(launched);
    const url = `/api/conversations/${id}`;
    const template = '/api/conversations/{id}';
    await test.event(id, 'provision/done');
    const steps = JSON.stringify([{ say: 'x' }, { ask: {} }]);
    await tried(['POST', `${template}/prompts`, `${url}/prompts`, 200, { prompt: steps, images: [{ data: 'AAAA', media_type: 'image/gif' }] }]);
    const requestId = String(contentOf(await test.event(id, 'request/started'))['request_id']);
    await tried(['GET', '/api/conversations', '/api/conversations?status=running,idle&limit=5', 200]);
    await tried(['GET', template, url, 200]);
    await tried(['POST', `${template}/prompts`, `${url}/prompts`, 400, { prompt: 'x' }]);
    await tried(['POST', `${template}/requests/{requestId}`, `${url}/requests/${requestId}`, 422, { option_id: 'nope' }]);
    await tried(['POST', `${template}/requests/{requestId}`, `${url}/requests/${requestId}`, 200, { option_id: 'yes' }]);
    await test.terminal(id);
    const turns = await tried(['GET', `${template}/turns`, `${url}/turns`, 200]);
    const [turn] = turns['data'] as JsonObject[];
    await tried(['GET', `${template}/turns/{turnId}/images/{position}`, `${url}/turns/${String(turn!['id'])}/images/0`, 200]);
    await tried(['GET', `${template}/events`, `${url}/events?limit=3`, 200]);
    await tried(['GET', `${template}/events`, `${url}/events?after=99999999`, 200]);
    await tried(['GET', `${template}/stream`, `${url}/stream?wait=false`, 200]);
    await tried(['GET', `${template}/tree`, `${url}/tree`, 200]);
    await tried(['POST', `${template}/read`, `${url}/read`, 204]);
    await tried(['PATCH', template, url, 200, { title: 'T' }]);
    await tried(['PATCH', `${template}/labels`, `${url}/labels`, 200, { labels: { a: 'b' } }]);
    await tried(['POST', `${template}/interrupt`, `${url}/interrupt`, 409]);
    await test.prompt(id, [{ wait: 1 }]);
    await tried(['POST', `${template}/interrupt`, `${url}/interrupt`, 204, {}]);

    const sandboxId = String((await test.show(id))['sandbox_id']);
    writeFileSync(path.join(test.instance.dataDir, 'sandboxes', sandboxId, 'home', 'file'), 'x');
    await tried(['GET', '/api/sandboxes', '/api/sandboxes', 200]);
    await tried(['GET', '/api/sandboxes/{id}', `/api/sandboxes/${sandboxId}`, 200]);
    await tried(['GET', '/api/sandboxes/{id}/files', `/api/sandboxes/${sandboxId}/files`, 200]);
    await tried(['GET', '/api/sandboxes/{id}/file', `/api/sandboxes/${sandboxId}/file?path=file`, 200]);
    await tried(['GET', '/api/sandboxes/{id}/diff', `/api/sandboxes/${sandboxId}/diff`, 422]);
    await tried(['GET', '/api/sandboxes/{id}/git-status', `/api/sandboxes/${sandboxId}/git-status`, 422]);
    await tried(['DELETE', '/api/sandboxes/{id}', `/api/sandboxes/${sandboxId}`, 422]);
    await tried(['POST', `${template}/terminate`, `${url}/terminate`, 204]);
    await tried(['DELETE', template, url, 204]);
    await tried(['DELETE', '/api/vaults/{id}', `/api/vaults/${ids['vaults']!}`, 204]);
    await tried(['DELETE', '/api/environments/{id}', `/api/environments/${ids['environments']!}`, 204]);
    // It never ends by itself; its own spec follows it.
    untried.delete('GET /api/events/stream');
    expect([...untried]).to.deep.equal([]);
  });

  it('should be public, whole, and refer to nothing that it does not hold', async () => {
    const test = await TestInstance.start();
    const document = await documentOf(test);
    expect(document['openapi']).to.equal('3.1.0');
    const schemas = (document['components'] as { schemas: JsonObject }).schemas;
    for (const [, name] of JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)) expect(schemas).to.have.property(name!);
    expect(JSON.stringify(document)).to.not.include('fountain-fixture');
  });
});
