import { describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { clusterOpenApi } from './openapi.js';
import { problemCodes } from './problem-codes.js';
import { clusterRoutes, problemsOf } from './routes.js';

type Document = { paths: Record<string, Record<string, { responses: object; parameters: { name: string }[] }>> };

describe('the OpenAPI document of the cluster API', () => {
  const document = clusterOpenApi('https://clusters.example.org') as Document;

  it('is valid', async () => {
    const result = await new Validator().validate(structuredClone(document));

    expect(result).toEqual({ valid: true });
  });

  it('has every route with its answers and problems', () => {
    for (const route of clusterRoutes) {
      const statuses = new Set([
        ...Object.keys(route.answers),
        ...problemsOf(route).map((code) => String(problemCodes[code].status)),
      ]);

      expect(Object.keys(document.paths[route.path]?.[route.method]?.responses ?? {}).sort()).toEqual(
        [...statuses].sort(),
      );
    }
  });

  it('names every path parameter', () => {
    for (const route of clusterRoutes) {
      const named = document.paths[route.path]?.[route.method]?.parameters.map(({ name }) => name);
      const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);

      expect(named).toEqual(expect.arrayContaining(inPath));
    }
  });

  it('says which answers are lines, and which parameters are times', () => {
    const { exportAudit: route } = Object.fromEntries(clusterRoutes.map((row) => [row.operationId, row]));
    const operation = document.paths[route?.path as string]?.get;

    expect(operation?.responses).toMatchObject({
      200: { content: { 'application/x-ndjson': { schema: { $ref: '#/components/schemas/auditEntry' } } } },
    });
    expect(operation?.parameters).toContainEqual(
      expect.objectContaining({ name: 'from', schema: { type: 'string', format: 'date-time' } }),
    );
  });

  it('has no operation twice', () => {
    const ids = clusterRoutes.map((route) => route.operationId);

    expect(new Set(ids).size).toBe(ids.length);
  });
});
