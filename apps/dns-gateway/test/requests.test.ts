import { gzipSync } from 'node:zlib';
import { checkDnsAnswer, type DnsRoute, dnsBodyLimits, dnsRoutes } from '@corral/contracts';
import { chunked, type RawRequest, renderRequest, sendBytes, sendRaw } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { expectError, expectRefusal, fieldsOf } from './support/expect-refusal.js';
import { startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
  gateway.cloud.admin.putRrset(ZONE, 'globex', 'A', { records: [{ value: '192.0.2.9' }] });
  await gateway.syncZone();
});
afterAll(() => gateway.close());

describe('HTTP that clients get wrong', () => {
  let callsBefore: number;
  beforeEach(() => {
    callsBefore = gateway.upstreamCalls();
  });
  afterEach(async () => {
    expect(gateway.upstreamCalls()).toBe(callsBefore);
    // The next client is served after any bad request.
    expect((await gateway.call('GET', '/zones')).status).toBe(200);
  });

  const create = (change: Partial<RawRequest>): RawRequest => ({
    method: 'POST',
    path: `/v1/zones/${ZONE}/rrsets`,
    token: gateway.acme.token,
    headers: [['Content-Type', 'application/json']],
    ...change,
  });
  const bytes = (text: string) => sendBytes(gateway.url, Buffer.from(text, 'latin1'));

  describe('the Authorization header', () => {
    const zonesWith = (...values: string[]) =>
      sendRaw(gateway.url, { path: '/v1/zones', headers: values.map((value) => ['Authorization', value] as const) });

    it.each<[string, (token: string) => string[]]>([
      ['is missing', () => []],
      ['is present twice', (token) => [`Bearer ${token}`, `Bearer ${token}`]],
      ['has another scheme', (token) => [`Token ${token}`]],
    ])('is rejected when it %s', async (_what, values) => {
      expectError(await zonesWith(...values(gateway.acme.token)), 401, 'unauthorized');
    });

    it('is the only place for a token', async () => {
      const { token } = gateway.acme;

      expectError(await sendRaw(gateway.url, { path: `/v1/zones?access_token=${token}` }), 401, 'unauthorized');
      const headers = [
        ['Cookie', `token=${token}`],
        ['X-Auth-Token', token],
        ['Auth-API-Token', token],
      ] as const;
      expectError(await sendRaw(gateway.url, { path: '/v1/zones', headers }), 401, 'unauthorized');
    });
  });

  describe('a raw body', () => {
    it('over 1 MiB is refused in chunks, too', async () => {
      const body = chunked(JSON.stringify({ padding: 'x'.repeat(dnsBodyLimits.recordSets.bytes) }));

      const answer = await sendRaw(gateway.url, create({ headers: [['Transfer-Encoding', 'chunked']], body }));

      expectError(answer, 413, 'payload_too_large');
    });

    it('that is compressed is refused before it arrives, so that it cannot expand', async () => {
      const announced = renderRequest(create({ headers: [['Content-Encoding', 'gzip']], body: 'all of it' }))
        .toString()
        .replace('all of it', '');

      expectError(await bytes(announced), 415, 'unsupported_media_type');
    });
  });

  it('invalid HTTP gets an error in the format of this API', async () => {
    const answer = await bytes('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

    expectError(answer, 400, 'invalid_input');
    expect(answer.headers['x-correlation-id']).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('bodies that clients get wrong', () => {
  const create = (body: unknown) => () => gateway.call('POST', `/zones/${ZONE}/rrsets`, { body });
  const records = [{ value: '192.0.2.1' }];
  const values = (count: number) => Array.from({ length: count }, (_, index) => ({ value: `192.0.2.${index}` }));

  /** Every write with a body, and a valid body for it. */
  const writes: [string, string, string, object][] = [
    ['createRrset', 'POST', '', { name: 'api.acme', type: 'A', records }],
    ['updateRrset', 'PUT', '/api.acme/A', { labels: {} }],
    ['setRecords', 'POST', '/api.acme/A/actions/set_records', { records }],
    ['addRecords', 'POST', '/api.acme/A/actions/add_records', { records }],
    ['removeRecords', 'POST', '/api.acme/A/actions/remove_records', { records }],
    ['changeTtl', 'POST', '/api.acme/A/actions/change_ttl', { ttl: 300 }],
  ];

  it.each(writes)(
    'the body of %s is one JSON object of limited size, sent as such',
    async (_operation, method, below, right) => {
      const text = JSON.stringify(right);
      const send =
        (body: unknown, headers: Record<string, string> = {}) =>
        () =>
          gateway.call(method, `/zones/${ZONE}/rrsets${below}`, { body, headers });

      for (const body of ['', '[]', text.replace('{', '{"x":1,"x":2,'), text.replace('{', '{"Records":[],')]) {
        await expectRefusal(gateway, send(body), 400, 'invalid_input');
      }
      await expectRefusal(gateway, send(text, { 'Content-Type': 'text/plain' }), 400, 'invalid_input');
      const padding = 'x'.repeat(dnsBodyLimits.recordSets.bytes);
      await expectRefusal(gateway, send(JSON.stringify({ ...right, padding })), 413, 'payload_too_large');
      for (const encoding of ['gzip', 'br', 'garbage']) {
        const headers = { 'Content-Encoding': encoding };
        await expectRefusal(gateway, send(gzipSync(text), headers), 415, 'unsupported_media_type');
      }
    },
  );

  describe('a creation', () => {
    it('is refused with all its invalid fields', async () => {
      const answer = await expectRefusal(gateway, create({ ttl: 'x', records: [] }), 400, 'invalid_input');

      expect(fieldsOf(answer).sort()).toEqual(['name', 'records', 'ttl', 'type']);
      const valueless = create({ name: 'api.acme', type: 'A', records: [{}] });
      expect(fieldsOf(await expectRefusal(gateway, valueless, 400, 'invalid_input'))).toEqual(['records[0].value']);
    });

    it('is checked in the order body, name, quota', async () => {
      await expectRefusal(gateway, create({ name: 'globex', type: 'A', records: [] }), 400, 'invalid_input');
      await expectRefusal(gateway, create({ name: 'globex', type: 'A', records: values(51) }), 403, 'forbidden');
    });
  });
});

describe('names that clients get wrong', () => {
  const records = [{ value: '192.0.2.1' }];
  /** Names that no team may write, as text. */
  const badNames: [string, string][] = [
    ['the apex', '@'],
    ['the name of another team', 'globex'],
    ['a name that ends with the team’s label', 'xacme'],
    ['upper case', 'API.acme'],
    ['a NUL', 'api\0.acme'],
  ];

  describe('a write', () => {
    it.each(badNames)('with %s as the name in its path is forbidden for any method', async (_what, name) => {
      const path = `/v1/zones/${ZONE}/rrsets/${encodeURIComponent(name)}/A`.replace('/../', '/%2e%2e/');
      const raw = (method: string, at: string, body?: object) => () =>
        sendRaw(gateway.url, {
          method,
          path: at,
          token: gateway.acme.token,
          headers: [['Content-Type', 'application/json']],
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });

      await expectRefusal(gateway, raw('DELETE', path), 403, 'forbidden');
      await expectRefusal(gateway, raw('PUT', path, {}), 403, 'forbidden');
      for (const action of ['set_records', 'add_records', 'remove_records', 'change_ttl']) {
        const body = action === 'change_ttl' ? { ttl: 60 } : { records };
        await expectRefusal(gateway, raw('POST', `${path}/actions/${action}`, body), 403, 'forbidden');
      }
      await expectRefusal(gateway, raw('GET', path), 404, 'not_found');
    });

    it.each(['NS', 'A\0'])('of the type %j is forbidden', async (type) => {
      const body = { name: 'api.acme', type, records };

      await expectRefusal(gateway, () => gateway.call('POST', `/zones/${ZONE}/rrsets`, { body }), 403, 'forbidden');
      const path = `/zones/${ZONE}/rrsets/api.acme/${encodeURIComponent(type)}`;
      await expectRefusal(gateway, () => gateway.call('DELETE', path), 403, 'forbidden');
      await expectRefusal(gateway, () => gateway.call('GET', path), 404, 'not_found');
    });
  });

  describe('a path', () => {
    it.each([
      [`/zones/${ZONE}%2Frrsets%2Fglobex%2FA`, 404],
      [`/zones/${ZONE}/rrsets/acme/../globex/A`, 404],
      [`/zones/${ZONE}/rrsets/globex/A`, 404],
      [`/zones/${ZONE}/rrsets/api.acme/A%00`, 404],
      [`/zones/%00/rrsets`, 404],
      [`/zones/${ZONE}/rrsets/%ed%a0%80/A`, 404],
      ['/actions/99999999999999999999999', 404],
      ['/actions', 400],
      ['/ZONES', 404],
    ])('GET %s is refused with %i', async (path, status) => {
      const send = () => sendRaw(gateway.url, { path: `/v1${path}`, token: gateway.acme.token });

      await expectRefusal(gateway, send, status, status === 404 ? 'not_found' : 'invalid_input');
    });

    it.each(['//v1/zones', '/v1/zones/?page=1'])('GET %s lists zones', async (path) => {
      const answer = await sendRaw(gateway.url, { path, token: gateway.acme.token });

      expect([answer.status, answer.json.zones?.length]).toEqual([200, 1]);
    });

    it.each(['update_records', 'SET_RECORDS', 'set_records/x'])('with the action %s does not exist', async (action) => {
      const path = `/v1/zones/${ZONE}/rrsets/api.acme/A/actions/${action}`;
      const send = () =>
        sendRaw(gateway.url, { method: 'POST', path, token: gateway.acme.token, body: JSON.stringify({ records }) });

      await expectRefusal(gateway, send, 404, 'not_found');
    });
  });
});

describe('a number in a query', () => {
  const numbers = (dnsRoutes as readonly DnsRoute[]).flatMap(({ operationId, path, query = [] }) =>
    query.filter(({ type }) => type === 'integer').map(({ name }) => [operationId, name, path] as const),
  );

  it.each(numbers)('of %s as %s is a whole number from 1 to 2^53 - 1', async (_operation, name, path) => {
    const ask = (value: string) => gateway.call('GET', `${path.replace('{zone}', ZONE)}?${name}=${value}`);

    for (const value of ['0', '1.5', '1e308', '9007199254740992', '']) {
      const { status, json } = await ask(value);
      expect([value, status, json.error.code]).toEqual([value, 400, 'invalid_input']);
    }
    expect((await ask('9007199254740991')).status).toBe(200);
  });
});

describe('random requests', () => {
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
          fc.constantFrom(...';0;1;x;%00;%ff;9007199254740993;id:desc;a in (;!a;-1;A,B;('.split(';')),
        ),
        { maxLength: 4 },
      )
      .map((pairs) => `?${pairs.map(([key, value]) => `${key}=${value}`).join('&')}`),
  );
  const member = fc.constantFrom(...'name type ttl labels records value comment __proto__ Name x'.split(' '));
  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      // The values contain no names of acme, because valid requests would be sent upstream.
      fc.constantFrom(null, true, 0, -1, 1.5, 300, 2 ** 53, 'A', '', '@', 'globex', '\0', '\ud800', 'x'.repeat(5_000)),
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
      { numRuns: 100 },
    );
    expect(gateway.upstreamCalls()).toBe(before);
  });
});
