import { checkClusterAnswer, clusterBodyLimits, problemCodes } from '@corral/contracts';
import type { Served } from '@corral/http-api';
import { chunked, type RawAnswer, type RawRequest, renderRequest, sendBytes, sendRaw } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { listen } from '../support/listen.js';
import { PUBLIC_URL, startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

let test: TestClusterApi;
let server: Served;
beforeAll(async () => {
  test = await startClusterApi();
  server = await listen(test.app);
});
afterAll(async () => {
  await server.close();
  await test.close();
});
afterEach(async () => {
  expect(await test.db.connection.count()).toBe(0);
  // The next client must still be served.
  await test.api.as(test.acme.admin).get('/api/v1/me/').expect(200);
});

const put = (change: Partial<RawRequest> = {}): RawRequest => ({
  method: 'PUT',
  path: test.acme.path('/connections/main/'),
  ...change,
  headers: [['Cookie', test.acme.admin.cookie], ['Content-Type', 'application/json'], ...(change.headers ?? [])],
});
const bytes = (text: string) => sendBytes(server.url, Buffer.from(text, 'latin1'));

function expectProblem({ status, headers, json }: RawAnswer, code: keyof typeof problemCodes): void {
  expect([status, json?.code]).toEqual([problemCodes[code].status, code]);
  checkClusterAnswer.problem(json);
  expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
  expect(json.type).toBe(`${PUBLIC_URL}/problems/${code}`);
  expect(json.instance).toBe(`urn:uuid:${headers['x-correlation-id']}`);
}

describe('a body on the wire', () => {
  const large = JSON.stringify({ padding: 'x'.repeat(clusterBodyLimits.bytes) });

  it('over 256 KiB is refused, with Content-Length and chunked', async () => {
    const chunks = put({ headers: [['Transfer-Encoding', 'chunked']], body: chunked(large) });

    expectProblem(await sendRaw(server.url, put({ body: large })), 'payload_too_large');
    expectProblem(await sendRaw(server.url, chunks), 'payload_too_large');
  });

  it('in chunks of one byte is refused', async () => {
    const pieces = put({ headers: [['Transfer-Encoding', 'chunked']], body: `${'1\r\n[\r\n'.repeat(2_000)}0\r\n\r\n` });

    expectProblem(await sendRaw(server.url, pieces), 'invalid_json');
  });

  it('without a session is not read', async () => {
    const request = { method: 'PUT', path: test.acme.path('/connections/main/'), body: large };

    expectProblem(await sendRaw(server.url, request), 'authentication_required');
  });

  it('that is compressed is refused before any of it arrives', async () => {
    const announced = renderRequest(put({ headers: [['Content-Encoding', 'gzip']], body: 'all of it' }))
      .toString()
      .replace('all of it', '');

    expectProblem(await bytes(announced), 'unsupported_media_type');
  });

  it.each<[string, (readonly [string, string])[], string]>([
    ['invalid chunk sizes', [['Transfer-Encoding', 'chunked']], 'zz\r\n{}\r\n0\r\n\r\n'],
    ['a chunk that is longer than its size', [['Transfer-Encoding', 'chunked']], '1\r\n{}\r\n0\r\n\r\n'],
    [
      'both Content-Length and chunks',
      [
        ['Transfer-Encoding', 'chunked'],
        ['Content-Length', '2'],
      ],
      '2\r\n{}\r\n0\r\n\r\n',
    ],
    ['extra bytes after its length', [['Content-Length', '2']], '{}x'],
  ])('with %s is invalid HTTP', async (_what, headers, body) => {
    expectProblem(await sendRaw(server.url, put({ headers, body })), 'invalid_http');
  });

  it('that ends before its length is refused, even when it looks complete', async () => {
    const body = JSON.stringify({ spec: { provider: 'hcloud', token: 't' } });
    const request = renderRequest(put({ body }))
      .toString()
      .replace(/Content-Length: \d+/, 'Content-Length: 5000');

    // The client cannot read a problem any more. What matters is that nothing was changed.
    expect((await sendBytes(server.url, request, { end: true })).status).toBe(400);
  });

  it('is refused by routes without a body, and ignored with GET', async () => {
    const path = test.acme.path('/clusters/web/hibernate/');
    const send = (method: string, body: string) => sendRaw(server.url, put({ method, path, body }));

    for (const body of ['{broken', '{"dryRun":true}', '[]', 'x'.repeat(200_000)]) {
      const answer = await send('POST', body);
      expectProblem(answer, 'validation_failed');
      expect(answer.json.detail).toBe('This request takes no body, and nothing was changed. Leave it out.');
    }
    for (const body of ['', '{}', ' { }\n', 'null']) expectProblem(await send('POST', body), 'not_found');
    const read = await sendRaw(server.url, put({ method: 'GET', path: '/api/v1/me/', body: '{broken' }));
    expect(read.status).toBe(200);
  });
});

describe('invalid HTTP', () => {
  it.each([
    ['garbage', 'garbage\r\n\r\n'],
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a method that does not exist', 'BREW /api/v1/me/ HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a target with a space', 'GET /api/v1/m e/ HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a NUL in the path', 'GET /api/v1/\0/ HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a header with a space before its colon', 'GET /api/v1/me/ HTTP/1.1\r\nHost : x\r\n\r\n'],
    ['two Host headers', 'GET /api/v1/me/ HTTP/1.1\r\nHost: x\r\nhOST: y\r\n\r\n'],
    ['the same Host twice', 'GET /api/v1/me/ HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n'],
    ['no Host', 'GET /api/v1/me/ HTTP/1.1\r\n\r\n'],
    ['an invalid Host', 'GET /api/v1/me/ HTTP/1.1\r\nHost: a/b\r\n\r\n'],
    ['an unknown expectation', 'POST /auth/logout/ HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n\r\n'],
    ['a target that is no URL', 'GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a folded header line', 'GET /api/v1/me/ HTTP/1.1\r\nHost: x\r\n Cookie: y\r\n\r\n'],
  ])('such as %s gets a problem', async (_what, request) => {
    expectProblem(await bytes(request), 'invalid_http');
  });

  it.each([
    ['a cookie of 100 kB', `Cookie: sessionid=${'x'.repeat(100_000)}`],
    ['2,000 headers', Array.from({ length: 2_000 }, (_, index) => `X-${index}: ${'x'.repeat(20)}`).join('\r\n')],
  ])('with %s is too large', async (_what, headers) => {
    expectProblem(await bytes(`GET /api/v1/me/ HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`), 'headers_too_large');
  });

  it('such as CONNECT is not a method of any path', async () => {
    const answer = await bytes('CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n');

    expectProblem(answer, 'method_not_allowed');
    expect(answer.headers.allow).toBe('GET, HEAD, POST, PUT, DELETE');
  });

  it('such as OPTIONS * is not found', async () => {
    expectProblem(await bytes('OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'), 'not_found');
  });
});

describe('a path without its trailing slash', () => {
  const locationOf = async (target: string) => {
    const { status, headers } = await sendRaw(server.url, {
      path: target,
      headers: [['Cookie', test.acme.member.cookie]],
    });
    return [status, headers.location];
  };

  it('is redirected to the path with it', async () => {
    expect(await locationOf('/api/v1/me')).toEqual([308, '/api/v1/me/']);
    expect(await locationOf('/api/v1/teams/acme/connections?phase=Ready')).toEqual([
      308,
      '/api/v1/teams/acme/connections/?phase=Ready',
    ]);
  });

  it.each([
    ['//evil.test/api/v1/me', [404, undefined]],
    ['/\\evil.test/api/v1/me', [404, undefined]],
    ['///api/v1/me', [308, '/api/v1/me/']],
    ['http://evil.test/api/v1/me', [308, '/api/v1/me/']],
    ['http://evil.test//evil.test/api/v1/me', [404, undefined]],
    ['/api/v1/teams/%2F%2Fevil.test/clusters', [308, '/api/v1/teams/%2F%2Fevil.test/clusters/']],
    ['/api/v1/teams/\\evil.test/clusters', [308, '/api/v1/teams/\\evil.test/clusters/']],
  ])('of the form %s never redirects to another host', async (target, expected) => {
    expect(await locationOf(target)).toEqual(expected);
  });

  it('is served without a redirect for other methods', async () => {
    const path = '/auth/logout';

    expect((await sendRaw(server.url, { method: 'POST', path })).status).toBe(204);
    expectProblem(await sendRaw(server.url, { method: 'PATCH', path }), 'method_not_allowed');
  });

  it('does not allow header injection into the answer', async () => {
    const { headers } = await sendRaw(server.url, { path: '/api/v1/teams/a%0d%0aSet-Cookie:x=1/clusters' });

    expect(headers['set-cookie']).toBeUndefined();
  });
});
