import { describe, expect, it } from '@jest/globals';
import { isForPeople } from '../accounts/account-access.js';
import { problemCodes } from '../problem-codes.js';
import { type ClusterRoute, clusterRoutes, problemsOf } from '../routes.js';
import { clusterOpenApi, problemsBeforeRouting } from './openapi.js';

/* Checks that apply to both documents are in ../openapi.test.ts. */

interface Refusal {
  readonly headers: object;
  readonly content: { 'application/problem+json': { schema: object; examples: object } };
}
interface Document {
  readonly info: { readonly description: string };
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}
interface Operation {
  readonly responses: Record<string, Refusal>;
  readonly security?: object[];
  readonly parameters: object[];
}

describe('the OpenAPI document of the cluster API', () => {
  const document = clusterOpenApi('https://clusters.example.org') as Document;
  const routes: readonly ClusterRoute[] = clusterRoutes;
  const operationOf = (route: ClusterRoute) => document.paths[route.path]?.[route.method] as Operation;
  const routeOf = (operationId: string) => routes.find((route) => route.operationId === operationId) as ClusterRoute;

  it('lists every route with its answers and problems', () => {
    for (const route of routes) {
      const codes = problemsOf(route);
      const statuses = new Set([
        ...Object.keys(route.answers),
        ...codes.map((code) => String(problemCodes[code].status)),
      ]);

      const { responses } = operationOf(route);
      expect(Object.keys(responses).sort()).toEqual([...statuses].sort());
      for (const code of codes) {
        const { status } = problemCodes[code];
        const { schema, examples } = (responses[status] as Refusal).content['application/problem+json'];
        expect(schema).toEqual({ $ref: '#/components/schemas/Problem' });
        expect(Object.keys(examples)).toContain(code);
      }
    }
  });

  it('mentions every problem code, with an operation or in the description', () => {
    const used = new Set<string>(routes.flatMap(problemsOf));
    const unused = Object.keys(problemCodes).filter((code) => !used.has(code));

    expect(unused.sort()).toEqual([...problemsBeforeRouting].sort());
    for (const code of unused) expect(document.info.description).toContain(`\`${code}\``);
  });

  it('requires a session where the route does, and admits tokens only where service accounts have access', () => {
    for (const route of routes) {
      expect([route.operationId, operationOf(route).security]).toEqual([
        route.operationId,
        route.access === 'public' ? [] : isForPeople(route) ? [{ session: [] }] : undefined,
      ]);
    }
  });

  it('shows the same things as the same types', () => {
    const { schemas } = document.components;
    const membersOf = (name: string) => (schemas[name] as { properties: object }).properties;
    const cluster = { $ref: '#/components/schemas/Cluster' };
    const operation = { $ref: '#/components/schemas/Operation' };

    expect(operationOf(routeOf('getCluster')).responses[200]?.content).toMatchObject({
      'application/json': { schema: cluster },
    });
    expect(membersOf('ClusterAccepted')).toMatchObject({ operation, resource: cluster });
    expect(membersOf('ClusterDryRun')).toMatchObject({ resource: cluster });
    expect(membersOf('ClusterList')).toMatchObject({ items: { items: cluster } });
    expect(membersOf('TeamEvent')).toMatchObject({ resource: { anyOf: expect.arrayContaining([cluster, operation]) } });
  });

  it('accepts null for optional members of requests', () => {
    const { schemas } = document.components;

    expect(schemas.ClusterSpecInput).toMatchObject({
      required: ['kubernetesVersion'],
      properties: {
        kubernetesVersion: { type: 'string' },
        region: { type: ['string', 'null'] },
        network: { anyOf: [{ $ref: '#/components/schemas/ClusterNetworkInput' }, { type: 'null' }] },
      },
    });
  });

  it('marks answers that are lines and parameters that are times', () => {
    const operation = operationOf(routeOf('exportAudit'));

    expect(operation.responses).toMatchObject({
      200: { content: { 'application/x-ndjson': { schema: { $ref: '#/components/schemas/AuditEntry' } } } },
    });
    expect(operation.parameters).toContainEqual(
      expect.objectContaining({ name: 'from', schema: expect.objectContaining({ format: 'date-time' }) }),
    );
  });

  it('marks answers that are events, and documents how to resume them', () => {
    const operation = document.paths['/api/v1/teams/{team}/events/']?.get;

    expect(operation?.responses).toMatchObject({
      200: {
        description: expect.stringMatching(/`node_pool\.deleted`.*`ready`.*`reset`.*`end`/s),
        content: { 'text/event-stream': { schema: { $ref: '#/components/schemas/TeamEvent' } } },
      },
    });
    expect(operation?.parameters).toContainEqual(expect.objectContaining({ name: 'Last-Event-ID', in: 'header' }));
  });

  it('lists entity tags where they exist', () => {
    const headers = (operationId: string, status: number) =>
      Object.keys(operationOf(routeOf(operationId)).responses[status]?.headers ?? {});

    expect(headers('getCluster', 200)).toContain('ETag');
    expect(headers('getCluster', 304)).toContain('ETag');
    expect(headers('putNodePool', 201)).toEqual(expect.arrayContaining(['ETag', 'Operation-Location']));
    expect(headers('listClusters', 200)).not.toContain('ETag');
  });
});
