import { type ClusterQueryParameter, type ClusterRoute, clusterRoutes } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';
import { Problem } from '../problem.js';
import { checkQuery } from './query.js';

const routes = (clusterRoutes as readonly ClusterRoute[]).filter(({ anyQuery }) => anyQuery !== true);
const noNext = () => undefined;

function refusalOf(route: ClusterRoute, query: URLSearchParams): Problem | null {
  const req = { url: `/?${query}`, originalUrl: `/?${query}` } as Request;
  try {
    checkQuery(route)(req, { locals: {} } as Response, noNext);
    return null;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

function wrongValuesOf({ type, values }: ClusterQueryParameter): string[] {
  const byType = {
    boolean: ['1'],
    integer: ['x', '-1', '1'.repeat(20)],
    time: ['today', '2026-02-30T00:00:00Z'],
    string: [],
  };
  return ['\0', ...byType[type], ...(values === undefined ? [] : ['none of them'])];
}

/** Queries of the route with one fault each, and the parameter at fault. */
function wrongQueriesOf({ query = [] }: ClusterRoute): [name: string, query: URLSearchParams][] {
  const required = query.filter(({ isRequired }) => isRequired).map(({ name, values = ['x'] }) => [name, values[0]]);
  const valid = () => new URLSearchParams(required as [string, string][]);
  const withValue = (name: string, ...values: string[]): [string, URLSearchParams] => {
    const given = valid();
    given.delete(name);
    for (const value of values) given.append(name, value);
    return [name, given];
  };
  return [
    withValue('unknown', 'x'),
    ...query.flatMap((parameter) => [
      ...wrongValuesOf(parameter).map((value) => withValue(parameter.name, value)),
      withValue(parameter.name, 'x', 'x'),
      ...(parameter.isRequired ? [withValue(parameter.name)] : []),
    ]),
  ];
}

describe('the refusal of a wrong query of', () => {
  it.each(routes.map((route) => [route.operationId, route] as const))(
    '%s says at the parameter what to do',
    (_operation, route) => {
      for (const [name, query] of wrongQueriesOf(route)) {
        const refusal = refusalOf(route, query);
        expect([String(query), refusal?.errors?.map(({ pointer }) => pointer)]).toEqual([
          String(query),
          [`/query/${name}`],
        ]);
        expect(refusal?.detail).toMatch(/^query\.\w+ (must .+|is required|is not a known parameter: .+)\.$/);
      }
    },
  );
});
