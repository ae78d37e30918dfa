import { dnsBodyLimits } from '@corral/contracts';
import { chunked, type RawRequest, renderRequest, sendBytes, sendRaw } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { expectError } from './support/expect-refusal.js';
import { startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

let gateway: TestGateway;
let callsBefore: number;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());
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
    ['is present twice, the second one invalid', (token) => [`Bearer ${token}`, 'Bearer x']],
    ['is present twice, the first one invalid', (token) => ['Bearer x', `Bearer ${token}`]],
    ['is present twice, one with another scheme', (token) => ['Basic eDp5', `Bearer ${token}`]],
    ['is empty', () => ['']],
    ['has no token', () => ['Bearer']],
    ['has an empty token', () => ['Bearer ']],
    ['has no scheme', (token) => [token]],
    ['has another scheme', (token) => [`Token ${token}`]],
    ['is Basic', (token) => [`Basic ${Buffer.from(`x:${token}`).toString('base64')}`]],
    ['has a token with a space', (token) => [`Bearer ${token.slice(0, 30)} ${token.slice(30)}`]],
    ['has two tokens', (token) => [`Bearer ${token} ${token}`]],
    ['has two tokens separated by a comma', (token) => [`Bearer ${token}, Bearer ${token}`]],
    ['has a token that is too short', (token) => [`Bearer ${token.slice(1)}`]],
    ['has a token that is too long', (token) => [`Bearer ${token}a`]],
    ['has a token in quotes', (token) => [`Bearer "${token}"`]],
    ['has a token of letters beyond ASCII', () => [`Bearer ${'\u00e9'.repeat(64)}`]],
    ['has a token of 8,000 characters', () => [`Bearer ${'a'.repeat(8_000)}`]],
    ['has a token with SQL', () => ["Bearer ' OR 1=1 --"]],
  ])('is rejected when it %s', async (_what, values) => {
    expectError(await zonesWith(...values(gateway.acme.token)), 401, 'unauthorized');
  });

  it.each<[string, (token: string) => string]>([
    ['in lower case', (token) => `bearer ${token}`],
    ['with two spaces', (token) => `Bearer  ${token}`],
    ['with a trailing space', (token) => `Bearer ${token} `],
  ])('is accepted %s', async (_what, value) => {
    expect((await zonesWith(value(gateway.acme.token))).status).toBe(200);
  });

  it('is asked for by a challenge, which says what is wrong of a token that was sent', async () => {
    expect((await zonesWith()).headers['www-authenticate']).toBe('Bearer realm="Corral"');
    expect((await zonesWith('Bearer x')).headers['www-authenticate']).toBe(
      'Bearer realm="Corral", error="invalid_token"',
    );
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
  it('over 1 MiB is refused by its length or its chunks', async () => {
    const body = JSON.stringify({ padding: 'x'.repeat(dnsBodyLimits.recordSets.bytes) });
    const chunks = create({ headers: [['Transfer-Encoding', 'chunked']], body: chunked(body) });

    expectError(await sendRaw(gateway.url, create({ body })), 413, 'payload_too_large');
    expectError(await sendRaw(gateway.url, chunks), 413, 'payload_too_large');
  });

  it('that is compressed is refused before it arrives, so that it cannot expand', async () => {
    const announced = renderRequest(create({ headers: [['Content-Encoding', 'gzip']], body: 'all of it' }))
      .toString()
      .replace('all of it', '');

    expectError(await bytes(announced), 415, 'unsupported_media_type');
  });

  it('in chunks of one byte is refused', async () => {
    const body = `${'1\r\n[\r\n'.repeat(2_000)}0\r\n\r\n`;

    const answer = await sendRaw(gateway.url, create({ headers: [['Transfer-Encoding', 'chunked']], body }));

    expectError(answer, 400, 'invalid_input');
  });

  it('of a DELETE has the same size limit', async () => {
    const path = `/v1/zones/${ZONE}/rrsets/api.acme/A`;
    const body = 'x'.repeat(dnsBodyLimits.recordSets.bytes + 1);

    expectError(await sendRaw(gateway.url, create({ method: 'DELETE', path, body })), 413, 'payload_too_large');
  });

  it.each(['{"force":true}', '{broken', '[]', 'x'.repeat(300_000)])(
    'of a DELETE is refused, because it has no effect: %.20s',
    async (body) => {
      const path = `/v1/zones/${ZONE}/rrsets/api.acme/A`;

      expectError(await sendRaw(gateway.url, create({ method: 'DELETE', path, body })), 400, 'invalid_input');
    },
  );

  it('of a GET is ignored', async () => {
    const answer = await sendRaw(gateway.url, create({ method: 'GET', path: '/v1/zones', body: '{broken' }));

    expect(answer.status).toBe(200);
  });

  it.each<[string, (readonly [string, string])[], string]>([
    ['chunk sizes that are not numbers', [['Transfer-Encoding', 'chunked']], 'zz\r\n{}\r\n0\r\n\r\n'],
    ['a chunk longer than its size', [['Transfer-Encoding', 'chunked']], '1\r\n{}\r\n0\r\n\r\n'],
    ['an absurd chunk size', [['Transfer-Encoding', 'chunked']], 'fffffffffffffffff\r\n{}'],
    [
      'both lengths and chunks',
      [
        ['Transfer-Encoding', 'chunked'],
        ['Content-Length', '2'],
      ],
      '2\r\n{}\r\n0\r\n\r\n',
    ],
    ['two lengths', [['Content-Length', '2']], '{}x'],
    ['an unknown transfer encoding', [['Transfer-Encoding', 'gzip']], '{}'],
  ])('with %s is invalid HTTP', async (_what, headers, body) => {
    expectError(await sendRaw(gateway.url, create({ headers, body })), 400, 'invalid_input');
  });

  it.each(['-1', '2x', '0x2', '99999999999999999999999'])('of the length %s is invalid HTTP', async (length) => {
    const request = `POST /v1/zones/${ZONE}/rrsets HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n{}`;

    expectError(await bytes(request), 400, 'invalid_input');
  });

  it('that is shorter than its length is refused, even if it is valid JSON', async () => {
    const body = JSON.stringify({ name: 'api.acme', type: 'A', records: [{ value: '192.0.2.1' }] });
    const request = renderRequest(create({ body }))
      .toString()
      .replace(/Content-Length: \d+/, 'Content-Length: 5000');

    const answer = await sendBytes(gateway.url, request, { end: true });

    expectError(answer, 400, 'invalid_input');
  });
});

describe('invalid HTTP', () => {
  it.each([
    ['garbage', 'garbage\r\n\r\n'],
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a method that does not exist', 'BREW /v1/zones HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a method in lower case', 'get /v1/zones HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a version that does not exist', 'GET /v1/zones HTTP/7.7\r\nHost: x\r\n\r\n'],
    ['a target with a space', 'GET /v1/zo nes HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a NUL in the path', 'GET /v1/zo\0nes HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a NUL in a header', 'GET /v1/zones HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \0\r\n\r\n'],
    ['a header without a name', 'GET /v1/zones HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n'],
    ['a header with a space before its colon', 'GET /v1/zones HTTP/1.1\r\nHost : x\r\n\r\n'],
    ['two Host headers', 'GET /v1/zones HTTP/1.1\r\nHost: x\r\nhOST: y\r\n\r\n'],
    ['the same Host twice', 'GET /v1/zones HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n'],
    ['no Host', 'GET /v1/zones HTTP/1.1\r\n\r\n'],
    ['an invalid Host', 'GET /v1/zones HTTP/1.1\r\nHost: a/b\r\n\r\n'],
    ['an unknown expectation', 'GET /v1/zones HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n\r\n'],
    ['a target that is no URL', 'GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a folded header line', 'GET /v1/zones HTTP/1.1\r\nHost: x\r\n Authorization: Bearer y\r\n\r\n'],
  ])('such as %s gets an error in the format of this API', async (_what, request) => {
    const answer = await bytes(request);

    expectError(answer, 400, 'invalid_input');
    expect(answer.headers['x-correlation-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    ['one header of 100 kB', `X-Large: ${'x'.repeat(100_000)}`],
    ['2,000 headers', Array.from({ length: 2_000 }, (_, index) => `X-${index}: ${'x'.repeat(20)}`).join('\r\n')],
    ['a token of 100 kB', `Authorization: Bearer ${'x'.repeat(100_000)}`],
  ])('with %s is too large', async (_what, headers) => {
    expectError(await bytes(`GET /v1/zones HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`), 431, 'invalid_input');
  });

  it('with a path of 100 kB is too large', async () => {
    expectError(await bytes(`GET /v1/${'x'.repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`), 431, 'invalid_input');
  });

  it('a request for * is not found', async () => {
    expectError(await bytes('OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'), 404, 'not_found');
  });

  it('CONNECT is no method of any path', async () => {
    const answer = await bytes('CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n');

    expectError(answer, 405, 'method_not_allowed');
    expect(answer.headers.allow).toBe('GET, HEAD, POST, PUT, DELETE');
  });

  it('HTTP/1.0 is served', async () => {
    const request = `GET /v1/zones HTTP/1.0\r\nAuthorization: Bearer ${gateway.acme.token}\r\n\r\n`;

    expect((await bytes(request)).status).toBe(200);
  });
});
