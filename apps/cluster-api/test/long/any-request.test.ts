import { checkClusterAnswer } from '@corral/contracts';
import type { Served } from '@corral/http-api';
import { sendRaw } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { listen } from '../support/listen.js';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

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
  const known =
    'clusters connections operations node-pools web main dns-tokens dns-usage audit export invitations members accept renew 1 2147483648'.split(
      ' ',
    );
  const odd = ['', '.', '..', '*', '%2F', '%00', '%', '%ff', '%2e%2e', '%5c', 'constructor', '__proto__', 'ACME'];
  const segment = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...known) },
    { weight: 2, arbitrary: fc.constantFrom(...odd) },
    { weight: 1, arbitrary: fc.stringMatching(/^[!-~]{0,12}$/) },
  );
  const roots = ['/api/v1/teams/acme', '/api/v1/teams/acme', '/api/v1/teams/globex', '/api/v1', '/auth', ''].concat([
    '/a/acme/team/api',
    '/a/globex/team/api',
    '/teams/api/teams',
    '/billing/webhook',
  ]);
  const path = fc
    .tuple(fc.constantFrom(...roots), fc.array(segment, { maxLength: 5 }), fc.constantFrom('', '/'))
    .map(([root, segments, end]) => `${root}/${segments.join('/')}${end}`);
  const parameters =
    'limit cursor dryRun phase state target __proto__ % %00 kind outcome name type token actor from to'.split(' ');
  const values = ['', ...'0 1 true TRUE %00 %ff 9007199254740993 Ready WyJhIl0 ( 2026-11-21T12:00:00Z'.split(' ')];
  const query = fc
    .array(fc.tuple(fc.constantFrom(...parameters), fc.constantFrom(...values)), { maxLength: 3 })
    .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.map(([key, value]) => `${key}=${value}`).join('&')}`));
  const member = fc.constantFrom(
    ...'spec spec name provider token providerConfig connectionRef region kubernetesVersion nodePools network'.split(
      ' ',
    ),
    ...'podCIDR machineType image minimum email ttlSeconds __proto__ x scopes withinName withinTypes expiresAt'.split(
      ' ',
    ),
    ...'role team is_accepted slug subscription members'.split(' '),
  );
  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 2 ** 53, 1e308, '', '\0', '\ud800', 'é', 'x'.repeat(5_000)),
      fc.constantFrom(...'hcloud main web hel1 1.33.4 10.0.0.0/8 ::/0 admin@acme.test'.split(' ')),
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
