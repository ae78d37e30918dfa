import { randomUUID } from 'node:crypto';
import { type ClusterRoute, clusterRoutes } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addConnection, declareDraft } from '../support/clusters.js';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';
import { pathOf } from '../support/tenancy/how-to-call.js';

let test: TestClusterApi;
let team: { slug: string; number: string };
beforeAll(async () => {
  test = await startClusterApi();
  const { slug, number } = await test.db.team.findUniqueOrThrow({ where: { id: test.acme.id } });
  team = { slug, number: String(number) };
  await addConnection(test, test.acme);
  await declareDraft(test, test.acme, 'none');
});
afterAll(() => test.close());

const routes: readonly ClusterRoute[] = clusterRoutes;
const withParameter = (fits: (parameter: { name: string; type: string }) => boolean) =>
  routes.flatMap((route) => (route.query ?? []).filter(fits).map(({ name }) => [route.operationId, name] as const));

/** Calls a route as an administrator of a team with a cluster `none`, so that every list exists. */
async function ask(operationId: string, query: string) {
  const route = routes.find((each) => each.operationId === operationId) as ClusterRoute;
  return test.api.as(test.acme.admin).get(`${pathOf(route, team)}?${query}`);
}

const days = [
  '+275760-09-13T00:00:00.000Z',
  '-271821-04-20T00:00:00.000Z',
  '294277-01-01T00:00:00Z',
  '+294277-01-01T00:00:00Z',
  '0000-01-01T00:00:00Z',
  '0001-01-01T00:00:00+00:01',
  '9999-12-31T23:59:59-00:01',
  '-4713-01-01T00:00:00Z',
  'NaN',
  'Invalid Date',
  'infinity',
  '-infinity',
  'epoch',
  '0',
  '1',
  '8640000000000001',
  '1e308',
  '',
];

describe('a time out of range', () => {
  it.each(withParameter(({ type }) => type === 'time'))('is refused by %s as %s', async (operationId, name) => {
    for (const day of days) {
      const { status, body } = await ask(operationId, `${name}=${encodeURIComponent(day)}`);

      expect([day, status, body.code]).toEqual([day, 422, 'validation_failed']);
    }
  });

  it('is refused as the end of a DNS token', async () => {
    for (const expiresAt of days) {
      const answer = await test.api
        .as(test.acme.admin)
        .post(test.acme.path('/dns-tokens/'))
        .send({ name: 'x', expiresAt });

      expect([expiresAt, answer.status]).toEqual([expiresAt, 422]);
    }
  });
});

describe('a made-up cursor', () => {
  const ids = [randomUUID(), 'api-1', 'dns-999999999999999999', 'api-99999999999999999999', '1e308', 'NaN', '-1'];
  const now = new Date().toISOString();
  const keys: unknown[][] = [
    ...days.flatMap((day) => ids.slice(0, 2).map((id) => [day, id])),
    ...ids.map((id) => [id]),
    ...ids.map((id) => [now, id]),
    [now],
    [],
    [1e308],
    [now, 1e308],
    [null, null],
    [{}, []],
    [now, randomUUID(), 'x'],
    ['9'.repeat(400)],
    [now, '9'.repeat(400)],
    ['9'.repeat(400), randomUUID()],
    ['\u0000', randomUUID()],
    ['\ud800'],
  ];
  const cursorOf = (key: unknown) => Buffer.from(JSON.stringify(key)).toString('base64url');

  it.each(withParameter(({ name }) => name === 'cursor'))(
    'is answered with a page or refused by %s',
    async (operationId) => {
      const statuses = new Set<number>();
      for (const key of keys) {
        const { status } = await ask(operationId, `cursor=${cursorOf(key)}`);
        statuses.add(status);

        expect([200, 422]).toContain(status);
        if (key.length === 2 && days.includes(key[0] as string)) expect([key, status]).toEqual([key, 422]);
      }
      expect(statuses).toContain(422);
    },
  );

  it.each(withParameter(({ name }) => name === 'limit'))(
    'or an out-of-range limit is refused by %s',
    async (operationId) => {
      for (const limit of ['1e308', 'NaN', 'Infinity', '-1', '0', '0x10', '1.5', '99999999999999999999', '999999999']) {
        expect([limit, (await ask(operationId, `limit=${limit}`)).status]).toEqual([limit, 422]);
      }
    },
  );
});

describe('a made-up event id', () => {
  it.each([
    '1e308.0.0',
    'NaN.NaN.NaN',
    '-1.0.0',
    '0.0.1000000000000000',
    '99999999999999999999.0.0',
    '0.99999999999999999999.0',
    '0.0',
    '0.0.0.0',
    '',
  ])('is refused: %s', async (text) => {
    const id = Buffer.from(text).toString('base64url') || '=';
    const answer = test.api.as(test.acme.admin).get(test.acme.path('/events/')).set('Last-Event-ID', id);

    await answer.expect(422);
  });
});
