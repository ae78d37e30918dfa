import { randomUUID } from 'node:crypto';
import { type ClusterRoute, checkClusterAnswer, clusterRoutes } from '@corral/contracts';
import type { Served } from '@corral/http-api';
import { sendRaw } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addConnection, declareDraft } from '../support/clusters.js';
import { listen } from '../support/listen.js';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';
import { pathOf } from '../support/tenancy/how-to-call.js';

describe('out of range', () => {
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
        for (const limit of [
          '1e308',
          'NaN',
          'Infinity',
          '-1',
          '0',
          '0x10',
          '1.5',
          '99999999999999999999',
          '999999999',
        ]) {
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
});

describe('any request', () => {
  let test: TestClusterApi;
  let server: Served;
  beforeAll(async () => {
    test = await startClusterApi({ config: { devSignIn: true } });
    server = await listen(test.app);
  });
  afterAll(async () => {
    await server.close();
    await test.close();
  });

  const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PUT', 'POST', 'GET');
  const known = [
    'clusters',
    'connections',
    'operations',
    'node-pools',
    'web',
    'main',
    'dns-tokens',
    'dns-usage',
    'audit',
    'export',
    'invitations',
    'members',
    'accept',
    'renew',
    '1',
    '2147483648',
  ];
  const odd = ['', '.', '..', '*', '%2F', '%00', '%', '%ff', '%2e%2e', '%5c', 'constructor', '__proto__', 'ACME'];
  const segment = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...known) },
    { weight: 2, arbitrary: fc.constantFrom(...odd) },
    { weight: 1, arbitrary: fc.stringMatching(/^[!-~]{0,12}$/) },
  );
  const path = fc
    .tuple(
      fc.constantFrom(
        '/api/v1/teams/acme',
        '/api/v1/teams/acme',
        '/api/v1/teams/globex',
        '/api/v1',
        '/auth',
        '',
        '/a/acme/team/api',
        '/a/globex/team/api',
        '/teams/api/teams',
        '/billing/webhook',
      ),
      fc.array(segment, { maxLength: 5 }),
      fc.constantFrom('', '/'),
    )
    .map(([root, segments, end]) => `${root}/${segments.join('/')}${end}`);
  const query = fc
    .array(
      fc.tuple(
        fc.constantFrom(
          'limit',
          'cursor',
          'dryRun',
          'phase',
          'state',
          'target',
          '__proto__',
          '%',
          '%00',
          'kind',
          'outcome',
          'name',
          'type',
          'token',
          'actor',
          'from',
          'to',
        ),
        fc.constantFrom(
          '',
          '0',
          '1',
          'true',
          'TRUE',
          '%00',
          '%ff',
          '9007199254740993',
          'Ready',
          'WyJhIl0',
          '(',
          '2026-11-21T12:00:00Z',
        ),
      ),
      { maxLength: 3 },
    )
    .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.map(([key, value]) => `${key}=${value}`).join('&')}`));
  const member = fc.constantFrom(
    'spec',
    'spec',
    'name',
    'provider',
    'token',
    'providerConfig',
    'connectionRef',
    'region',
    'kubernetesVersion',
    'nodePools',
    'network',
    'podCIDR',
    'machineType',
    'image',
    'minimum',
    'email',
    'ttlSeconds',
    '__proto__',
    'x',
    'scopes',
    'withinName',
    'withinTypes',
    'expiresAt',
    'role',
    'team',
    'is_accepted',
    'slug',
    'subscription',
    'members',
  );
  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      fc.constantFrom<unknown>(
        null,
        true,
        0,
        -1,
        1.5,
        2 ** 53,
        1e308,
        '',
        'hcloud',
        'main',
        'web',
        'hel1',
        '1.33.4',
        '10.0.0.0/8',
        '::/0',
        '\0',
        '\ud800',
        'é',
        'x'.repeat(5_000),
        'admin@acme.test',
      ),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(member, tie('value'), { maxKeys: 6 }),
    ),
  })).value;
  const body = fc.oneof(
    fc.constant(undefined),
    json.map((value) => Buffer.from(JSON.stringify({ spec: value }))),
    json.map((value) => Buffer.from(JSON.stringify(value))),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  );
  const headers = fc.subarray([
    ['Content-Type', 'application/json'],
    ['Content-Type', 'application/json'],
    ['Content-Encoding', 'gzip'],
    ['Accept', 'text/html'],
    ['X-Forwarded-For', '1.2.3.4, \u00ff'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['If-Match', '*'],
    ['If-Match', 'W/"a", "b", c'],
    ['If-None-Match', '"'],
    ['Idempotency-Key', 'k'],
    ['Idempotency-Key', '\u00ff'],
    ['Origin', 'http://corral.test'],
  ] as [string, string][]);

  it('no request causes a 500, and every refusal is a problem document', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ method, path, query, body, headers }),
        fc.constantFrom('admin', 'member'),
        async (request, role) => {
          const {
            status,
            json: answer,
            text,
          } = await sendRaw(server.url, {
            method: request.method,
            path: request.path + request.query,
            headers: [['Cookie', test.acme[role as 'admin' | 'member'].cookie], ...request.headers],
            ...(request.body === undefined ? {} : { body: request.body }),
          });

          expect([status, text]).not.toEqual([500, expect.anything()]);
          expect(status).toBeGreaterThanOrEqual(200);
          if (status >= 400) checkClusterAnswer.problem(answer);
        },
      ),
      { numRuns: 400 },
    );
  });
});
