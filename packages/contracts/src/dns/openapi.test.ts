import { describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { dnsErrorCodes } from './error-codes.js';
import { dnsOpenApi } from './openapi.js';
import { type DnsRoute, dnsRoutes, dnsZoneRoutes } from './routes.js';

interface Operation {
  operationId: string;
  parameters: { name: string; in: string; required: boolean; schema: object }[];
  requestBody?: { required: boolean };
  security?: object[];
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}
type Document = { servers: object[]; paths: Record<string, Record<string, Operation>> };

const routes: readonly DnsRoute[] = dnsRoutes;
const document = dnsOpenApi('https://dns.example.test/v1', routes) as Document;
const operationOf = (route: DnsRoute) => document.paths[route.path]?.[route.method] as Operation;

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();

    const result = await validator.validate(structuredClone(document));

    expect(result).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  it('resolves all its references', async () => {
    const validator = new Validator();
    await validator.validate(structuredClone(document));

    expect(JSON.stringify(validator.resolveRefs())).not.toContain('$ref');
  });

  it('names the address it was made for', () => {
    expect(document.servers).toEqual([{ url: 'https://dns.example.test/v1' }]);
  });

  it('holds every route, and nothing that is no route', () => {
    const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { operationId }]) => `${operationId}: ${method} ${path}`),
    );

    expect(documented.sort()).toEqual(
      routes.map(({ operationId, method, path }) => `${operationId}: ${method} ${path}`).sort(),
    );
  });

  it('leaves out what is not served', () => {
    const { paths } = dnsOpenApi('/v1', dnsZoneRoutes) as Document;

    expect(Object.keys(paths)).not.toContain('/demos');
    expect(Object.keys(paths)).toContain('/zones');
  });

  it('asks for a token everywhere but where a course code does as well', () => {
    const withoutToken = routes.filter((route) => operationOf(route).security !== undefined);

    expect(withoutToken.map((route) => route.operationId)).toEqual(['createDemo']);
  });

  it('has no two operations of one id', () => {
    expect(new Set(routes.map((route) => route.operationId)).size).toBe(routes.length);
  });

  it.each(routes.map((route) => [route.operationId, route] as const))(
    'tells of %s all that a caller needs',
    (_id, route) => {
      const operation = operationOf(route);
      const inPath = operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);

      expect(inPath).toEqual([...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]));
      expect(operation.requestBody !== undefined).toBe(route.body !== undefined);
      expect(operation.responses[route.status]?.content?.['application/json'] !== undefined).toBe(
        route.answer !== null,
      );
      for (const { status } of Object.values(dnsErrorCodes)) expect(operation.responses[status]).toBeDefined();
    },
  );
});

describe('the route table', () => {
  it('names its methods and parameters in the way routers and OpenAPI read alike', () => {
    for (const route of routes) expect(route.path).toMatch(/^(\/([a-z_]+|\{[a-z]+\}))+$/);
  });

  it('answers 200 to what changes nothing upstream asynchronously, and 201 to what does', () => {
    for (const route of dnsZoneRoutes) {
      const expected = route.kind === 'write' && route.method !== 'put' ? 201 : 200;
      expect([route.operationId, route.status]).toEqual([route.operationId, expected]);
    }
  });
});
