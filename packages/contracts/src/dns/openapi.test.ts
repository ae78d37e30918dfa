import { describe, expect, it } from '@jest/globals';
import { dnsErrorCodes, dnsErrorsBeforeRouting, dnsUpstreamErrors } from './error-codes.js';
import { dnsErrorsOf, dnsUpstreamErrorsOf } from './errors-of.js';
import { dnsOpenApi } from './openapi.js';
import { type DnsRoute, dnsRoutes, dnsZoneRoutes } from './routes.js';

/* Checks that apply to both documents are in ../openapi.test.ts. */

interface Operation {
  requestBody?: { required: boolean };
  security?: object[];
  responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>;
}
type Document = { info: { description: string }; servers: object[]; paths: Record<string, Record<string, Operation>> };

const routes: readonly DnsRoute[] = dnsRoutes;
const document = dnsOpenApi('https://dns.example.test/v1', routes) as Document;
const operationOf = (route: DnsRoute) => document.paths[route.path]?.[route.method] as Operation;

describe('the OpenAPI document of the DNS API', () => {
  it('omits routes that are not served', () => {
    const { paths } = dnsOpenApi('/v1', dnsZoneRoutes) as Document;

    expect(Object.keys(paths)).not.toContain('/demos');
    expect(Object.keys(paths)).toContain('/zones');
  });

  it('requires a token except where a course code is accepted', () => {
    const withoutToken = routes.filter((route) => operationOf(route).security !== undefined);

    expect(withoutToken.map((route) => route.operationId)).toEqual(['createDemo']);
  });

  it.each(routes.map((route) => [route.operationId, route] as const))('documents %s completely', (_id, route) => {
    const { requestBody, responses } = operationOf(route);
    const refused = [
      ...dnsErrorsOf(route).map((code) => ({ code, status: dnsErrorCodes[code].status })),
      ...dnsUpstreamErrorsOf(route),
    ];

    expect(requestBody !== undefined).toBe(route.body !== undefined);
    expect(responses[route.status]?.content?.['application/json'] !== undefined).toBe(route.answer !== null);
    for (const { code, status } of refused) expect(responses[status]?.description).toContain(`\`${code}\``);
    const statuses = new Set([route.status, ...refused.map(({ status }) => status)]);
    expect(Object.keys(responses).sort()).toEqual([...statuses].map(String).sort());
  });

  it('describes the errors of requests that reach no operation', () => {
    for (const { status, code, meaning } of dnsErrorsBeforeRouting)
      expect(document.info.description).toContain(`${status} \`${code}\`: ${meaning}`);
  });

  it('mentions every code with an operation', () => {
    const used = new Set<string>(routes.flatMap(dnsErrorsOf));

    expect(Object.keys(dnsErrorCodes).filter((code) => !used.has(code))).toEqual([]);
    for (const { code, meaning } of dnsUpstreamErrors)
      expect(JSON.stringify(document)).toContain(`${code}\`: ${meaning}`);
  });
});

describe('the DNS route table', () => {
  it('uses path syntax that routers and OpenAPI share', () => {
    for (const route of routes) expect(route.path).toMatch(/^(\/([a-z_]+|\{[a-z]+\}))+$/);
  });

  it('answers 201 to asynchronous upstream changes and 200 otherwise', () => {
    for (const route of dnsZoneRoutes) {
      const expected = route.kind === 'write' && route.method !== 'put' ? 201 : 200;
      expect([route.operationId, route.status]).toEqual([route.operationId, expected]);
    }
  });
});
