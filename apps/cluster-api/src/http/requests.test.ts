import { type ClusterQueryParameter, type ClusterRoute, clusterRoutes } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';
import fc from 'fast-check';
import { parseCursor, renderCursor } from '../paging.js';
import { Problem } from '../problem.js';
import { presumedOwnerOf, requestOwnerOf } from './caller.js';
import { checkQuery, findUnstorable } from './request.js';

describe('what cannot be kept', () => {
  it.each([
    ['NUL in a value', { a: { b: ['x', 'y\0'] } }, '/a/b/1'],
    ['half a surrogate pair', { a: '\ud83d' }, '/a'],
    ['the other half', { a: '\ude00x' }, '/a'],
    ['a number beyond a double', { a: [Number.POSITIVE_INFINITY] }, '/a/0'],
    ['NUL in a name', { a: { 'b\0': 1 } }, '/a'],
    ['a name with a slash and a tilde', { 'a/b~c': '\0' }, '/a~1b~0c'],
  ])('is found: %s', (_what, body, pointer) => {
    expect(findUnstorable(body)?.pointer).toBe(pointer);
  });

  it('excludes every other JSON value', () => {
    expect(findUnstorable({ a: [null, true, -0.5, 1e308, '', 'é', '😀', '\u0001'], b: {} })).toBeNull();
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5, stringUnit: 'grapheme' }), (value) => {
        fc.pre(!JSON.stringify(value).includes('\\u0000'));
        expect(findUnstorable(value)).toBeNull();
      }),
    );
  });
});

describe('the refusal of a wrong query of', () => {
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

describe('the owner of a request', () => {
  const aRequest = (path: string): Request =>
    ({ path, headers: {}, rawHeaders: ['Authorization', 'Bearer a-token'] }) as unknown as Request;
  const ofPerson = {
    locals: { account: null, session: { userId: 'ada', memberships: [{ teamId: 'a', slug: 'acme', teamNumber: 7 }] } },
  } as unknown as Response;
  const ofAccount = {
    locals: { session: null, account: { team: { id: 'a', slug: 'acme', number: 7 } } },
  } as unknown as Response;

  it.each([
    ['of a person to a team of theirs', ofPerson, '/api/v1/teams/acme/clusters', 'team a'],
    ['of a person to a team by its number', ofPerson, '/teams/api/teams/7/', 'team a'],
    ['of a person to no team', ofPerson, '/api/v1/me', 'user ada'],
    ['of a person to a team of others', ofPerson, '/api/v1/teams/globex/clusters', null],
    ['of an account to its team', ofAccount, '/api/v1/teams/acme/clusters', 'team a'],
    ['of an account to no team', ofAccount, '/api/v1/catalogue', 'team a'],
    ['of an account to a team of others', ofAccount, '/api/v1/teams/globex/clusters', null],
  ])('%s is remembered only where one name of a team leads to it', (_case, res, path, owner) => {
    expect(requestOwnerOf(aRequest(path), res)).toBe(owner);
  });

  it('is presumed by a text of bounded length, whatever the path', () => {
    const short = presumedOwnerOf(aRequest('/api/v1/teams/acme/clusters'));
    const long = presumedOwnerOf(aRequest(`/api/v1/teams/${'a'.repeat(16_000)}/clusters`));

    expect(short).toMatch(/ acme$/);
    expect(long?.length).toBeLessThan(110);
    expect(long).toBe(presumedOwnerOf(aRequest('/api/v1/me')));
  });
});

describe('a cursor', () => {
  const part = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', ''));

  it('is parsed to the values that it was rendered from, and needs no escaping in a query', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), (key) => {
        const cursor = renderCursor(key);

        expect(parseCursor(cursor, key.length)).toEqual(key);
        expect(encodeURIComponent(cursor)).toBe(cursor);
      }),
    );
  });

  it('is null with another number of fields, and any text parses without an exception', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), fc.nat(5), (key, fields) => {
        fc.pre(key.length !== fields);
        expect(parseCursor(renderCursor(key), fields)).toBeNull();
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        const parsed = parseCursor(text, 1);
        if (parsed !== null) expect(parsed).toEqual([expect.any(String)]);
      }),
    );
  });
});
