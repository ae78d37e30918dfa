import { checkDnsAnswer } from '@corral/contracts';
import { sendRaw } from '@corral/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'POST', 'POST', 'GET');
const known = ['zones', ZONE, '7001', 'rrsets', 'actions', 'set_records', 'add_records', 'change_ttl', 'A', 'TXT'];
const odd = ['', '.', '..', '@', '*', '%2F', '%00', '%', '%ff', '%2e%2e', '%40', 'globex', 'a.globex', 'constructor'];
const segment = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...known) },
  { weight: 2, arbitrary: fc.constantFrom('globex', '@', '*', 'www', 'xacme', 'ACME', ...odd) },
  { weight: 1, arbitrary: fc.stringMatching(/^[!-~]{0,12}$/) },
);
const routed = fc.tuple(
  fc.constantFrom('zones', 'zones', 'actions'),
  fc.constantFrom(ZONE, '7001', '%00', 'other.test'),
  fc.constant('rrsets'),
  segment,
  fc.constantFrom('A', 'TXT', 'NS', 'a', '%00'),
  fc.constantFrom('actions', 'x'),
  fc.constantFrom('set_records', 'add_records', 'remove_records', 'change_ttl', 'x'),
);
const path = fc.oneof(
  fc.array(segment, { maxLength: 7 }),
  fc.tuple(routed, fc.integer({ min: 1, max: 7 })).map(([all, length]) => all.slice(0, length)),
);
const query = fc.oneof(
  fc.constant(''),
  fc
    .array(
      fc.tuple(
        fc.constantFrom('page', 'per_page', 'id', 'sort', 'type', 'name', 'label_selector', 'mode', '__proto__', '%'),
        fc.constantFrom(
          '',
          '0',
          '1',
          'x',
          '%00',
          '%ff',
          '9007199254740993',
          'id:desc',
          'a in (',
          '!a',
          '-1',
          'A,B',
          '(',
        ),
      ),
      { maxLength: 4 },
    )
    .map((pairs) => `?${pairs.map(([key, value]) => `${key}=${value}`).join('&')}`),
);
const member = fc.constantFrom(
  'name',
  'type',
  'ttl',
  'labels',
  'records',
  'value',
  'comment',
  '__proto__',
  'Name',
  'x',
);
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    // Without names of acme, because valid requests would be sent upstream.
    fc.constantFrom(
      null,
      true,
      0,
      -1,
      1.5,
      300,
      2 ** 53,
      'A',
      '',
      '@',
      'globex',
      '\0',
      '\ud800',
      'é',
      'x'.repeat(5_000),
    ),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(member, tie('value'), { maxKeys: 5 }),
  ),
})).value;
const body = fc.oneof(
  fc.constant(undefined),
  json.map((value) => Buffer.from(JSON.stringify(value))),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  fc.tuple(json, fc.nat({ max: 40 })).map(([value, cut]) => Buffer.from(JSON.stringify(value)).subarray(0, cut)),
);
const headers = fc.subarray(
  [
    ['Content-Type', 'application/json'],
    ['Content-Encoding', 'gzip'],
    ['Accept', 'text/html'],
    ['X-Forwarded-For', '1.2.3.4, \u00ff'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['If-None-Match', '*'],
    ['Range', 'bytes=0-1'],
    ['Origin', 'https://evil.test'],
  ] as const,
  { maxLength: 3 },
);

it('no request causes a server error, and errors have the documented shape and cause no upstream call', async () => {
  const before = gateway.upstreamCalls();
  await fc.assert(
    fc.asyncProperty(method, path, query, body, headers, async (verb, segments, search, sent, extra) => {
      const answer = await sendRaw(gateway.url, {
        method: verb,
        path: `/v1/${segments.join('/')}${search}`,
        token: gateway.acme.token,
        headers: extra,
        ...(sent === undefined ? {} : { body: sent }),
      });
      expect(answer.status).toBeGreaterThanOrEqual(200);
      expect(answer.status).toBeLessThan(500);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      if (answer.status >= 400) checkDnsAnswer.error(answer.json);
      else expect(answer.status).toBe(200);
    }),
    { numRuns: 1_500 },
  );
  expect(gateway.upstreamCalls()).toBe(before);
});

it('no path outside the API causes a server error', async () => {
  const anyPath = fc.array(fc.constantFrom(...odd, 'docs', 'healthz', 'readyz', 'openapi.json', 'v1', 'V1', '/'), {
    maxLength: 5,
  });
  await fc.assert(
    fc.asyncProperty(method, anyPath, async (verb, segments) => {
      const answer = await sendRaw(gateway.url, { method: verb, path: `/${segments.join('/')}` });
      expect(answer.status).toBeGreaterThanOrEqual(200);
      expect(answer.status).toBeLessThan(500);
      if (answer.status >= 400) checkDnsAnswer.error(answer.json);
    }),
    { numRuns: 300 },
  );
});
