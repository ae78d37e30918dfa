import { dnsOpenApi, dnsRoutes } from '@corral/contracts';
import { sendRaw } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectError } from './support/expect-refusal.js';
import { startGateway, type TestGateway } from './support/start-gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ config: { publicUrl: 'https://dns.example.test/v1' } });
});
afterAll(() => gateway.close());

const send = (path: string, method = 'GET') => sendRaw(gateway.url, { path, method });

describe('without a token', () => {
  it('/openapi.json contains the address that clients use', async () => {
    const answer = await send('/openapi.json');

    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    expect(answer.json).toEqual(JSON.parse(JSON.stringify(dnsOpenApi('https://dns.example.test/v1', dnsRoutes))));
  });

  it.each([
    ['/docs/', 'text/html; charset=utf-8', 'swagger-ui'],
    ['/docs/index.html', 'text/html; charset=utf-8', 'swagger-ui'],
    ['/docs/swagger-initializer.js', 'application/javascript; charset=utf-8', "'../openapi.json'"],
    ['/docs/swagger-ui.css', 'text/css; charset=utf-8', '.swagger-ui'],
  ])('%s is a page', async (path, type, text) => {
    const answer = await send(path);

    expect([answer.status, answer.headers['content-type']]).toEqual([200, type]);
    expect(answer.text).toContain(text);
  });

  it('/docs redirects to /docs/', async () => {
    const answer = await send('/docs');

    expect([answer.status, answer.headers.location]).toEqual([301, '/docs/']);
  });

  it.each(['/healthz', '/readyz'])('%s answers ok and must not be cached', async (path) => {
    const answer = await send(path);

    expect([answer.status, answer.json]).toEqual([200, { status: 'ok' }]);
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  it.each(['/openapi.json', '/docs/', '/healthz', '/readyz'])('HEAD %s has no body', async (path) => {
    const answer = await send(path, 'HEAD');

    expect([answer.status, answer.text]).toEqual([200, '']);
  });

  it.each([
    '/',
    '/v2/zones',
    '/V1/zones',
    '/v1x/zones',
    '/zones',
    '/metrics',
    '/openapi',
    '/openapi.yaml',
    '/docs/none',
    '/docs/..%2f..%2fpackage.json',
    '/docs/../package.json',
    '/docs/%2e%2e/%2e%2e/package.json',
    '/docs/%00',
    '/.env',
    '/favicon.ico',
    '/healthz/x',
    '/%',
  ])('%s is not found', async (path) => {
    expectError(await send(path), 404, 'not_found');
  });

  it.each(['POST', 'PUT', 'DELETE'])('%s is no method of a page', async (method) => {
    for (const path of ['/openapi.json', '/docs', '/docs/', '/docs/swagger-ui.css', '/healthz', '/readyz']) {
      const answer = await send(path, method);

      expectError(answer, 405, 'method_not_allowed');
      expect(answer.headers.allow).toBe('GET, HEAD');
    }
    expectError(await send('/docs/none', method), 404, 'not_found');
  });

  it.each(['/openapi.json', '/healthz', '/readyz'])('OPTIONS %s names its methods', async (path) => {
    const answer = await send(path, 'OPTIONS');

    expect([answer.status, answer.headers.allow]).toEqual([200, 'GET, HEAD']);
  });

  it('no answer shows what the gateway is built with, or allows another site to read it', async () => {
    for (const path of ['/v1/zones', '/healthz', '/docs/', '/none']) {
      const { headers } = await send(path);
      expect([headers['x-powered-by'], headers.server, headers['access-control-allow-origin']]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
    }
  });
});

describe('a page that never changes', () => {
  it.each(['/openapi.json', '/docs/', '/docs/swagger-ui-bundle.js'])(
    '%s is sent compressed, and only once to a client that caches it',
    async (path) => {
      const asked = { headers: { 'Accept-Encoding': 'gzip, br' } };
      const { status, headers } = await fetch(new URL(path, gateway.url), asked);
      const etag = headers.get('etag') as string;

      expect([status, headers.get('content-encoding'), headers.get('cache-control')]).toEqual([
        200,
        'gzip',
        'public, max-age=300',
      ]);
      const again = await sendRaw(gateway.url, { path, headers: [['If-None-Match', etag]] });
      expect([again.status, again.text, again.headers.etag]).toEqual([304, '', etag]);
    },
  );

  it('is sent uncompressed to a client that accepts no compression', async () => {
    const { headers, text } = await send('/docs/');

    expect([headers['content-encoding'], headers.vary]).toEqual([undefined, 'Accept-Encoding']);
    expect(text).toContain('swagger-ui');
  });
});

it.each(['/v1/zones', '/healthz', '/docs/', '/none'])('the answer to %s carries the security headers', async (path) => {
  const { headers } = await send(path);

  expect(headers['x-content-type-options']).toBe('nosniff');
  expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
  expect(headers['content-security-policy']).toContain("script-src 'self'");
});
