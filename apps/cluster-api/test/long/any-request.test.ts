import { checkClusterAnswer } from '@corral/contracts';
import { sendRaw } from '@corral/testing';
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { listen } from '../support/listen.js';
import { startClusterApi } from '../support/start-cluster-api.js';

const oneOf = (words: string) => fc.constantFrom(...words.split(' '));
const orEmpty = (words: fc.Arbitrary<string>) => fc.oneof(fc.constant(''), words);

const segment = fc.oneof(
  {
    weight: 3,
    arbitrary: oneOf('clusters connections operations node-pools web main dns-tokens dns-usage audit export'),
  },
  { weight: 1, arbitrary: oneOf('invitations members accept renew 1 2147483648') },
  { weight: 2, arbitrary: orEmpty(oneOf('. .. * %2F %00 % %ff %2e%2e %5c constructor __proto__ ACME')) },
  { weight: 1, arbitrary: fc.stringMatching(/^[!-~]{0,12}$/) },
);
const root = oneOf(
  '/api/v1/teams/acme /api/v1/teams/globex /api/v1 /auth /a/acme/team/api /a/globex/team/api /teams/api/teams /billing/webhook',
);
const parameter = oneOf(
  'limit cursor dryRun phase state target __proto__ % %00 kind outcome name type token actor from to',
);
const parameterValue = orEmpty(oneOf('0 1 true TRUE %00 %ff 9007199254740993 Ready WyJhIl0 ( 2026-11-21T12:00:00Z'));
const query = fc.array(fc.tuple(parameter, parameterValue), { maxLength: 3 });
const path = fc
  .tuple(orEmpty(root), fc.array(segment, { maxLength: 5 }), fc.constantFrom('', '/'), query)
  .map(([start, segments, end, pairs]) => {
    const text = pairs.map((pair) => pair.join('=')).join('&');
    return `${start}/${segments.join('/')}${end}${text === '' ? '' : `?${text}`}`;
  });
const member = fc.oneof(
  oneOf('spec name provider token providerConfig connectionRef region kubernetesVersion nodePools network podCIDR'),
  oneOf('machineType image minimum email ttlSeconds __proto__ x scopes withinName withinTypes expiresAt role team'),
  oneOf('is_accepted slug subscription members'),
);
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 2 ** 53, 1e308, '', '\0', '\ud800', 'é', 'x'.repeat(5_000)),
    oneOf('hcloud main web hel1 1.33.4 10.0.0.0/8 ::/0 admin@acme.test'),
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
const method = oneOf('GET POST PUT DELETE PATCH OPTIONS');

it('no request causes a 500, and every refusal is a problem document', async () => {
  const test = await startClusterApi({ config: { devSignIn: true } });
  const server = await listen(test.app);
  await fc.assert(
    fc.asyncProperty(
      fc.record({ method, path, headers, body }),
      fc.constantFrom('admin' as const, 'member' as const),
      async ({ body: sent, headers: own, ...request }, role) => {
        const {
          status,
          json: answer,
          text,
        } = await sendRaw(server.url, {
          ...request,
          headers: [['Cookie', test.acme[role].cookie], ...own],
          ...(sent === undefined ? {} : { body: sent }),
        });

        expect([status, text]).not.toEqual([500, expect.anything()]);
        expect(status).toBeGreaterThanOrEqual(200);
        if (status >= 400) checkClusterAnswer.problem(answer);
      },
    ),
    { numRuns: 400 },
  );
  await server.close();
  await test.close();
});
