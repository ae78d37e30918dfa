import { clusterOpenApi, type ProblemCode, problemCodes } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PUBLIC_URL, startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

let test: TestClusterApi;
beforeAll(async () => {
  test = await startClusterApi();
});
afterAll(() => test.close());

describe('without a session', () => {
  it('/openapi.json is the document with the public URL', async () => {
    const answer = await test.api.get('/openapi.json').expect(200);

    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.body).toEqual(JSON.parse(JSON.stringify(clusterOpenApi(PUBLIC_URL))));
  });

  it.each([
    ['/docs/', 'text/html; charset=utf-8', 'swagger-ui'],
    ['/docs/swagger-initializer.js', 'application/javascript; charset=utf-8', "'../openapi.json'"],
    ['/docs/swagger-ui.css', 'text/css; charset=utf-8', '.swagger-ui'],
    ['/problems/', 'text/html; charset=utf-8', 'href="quota_exceeded"'],
  ])('%s is served', async (path, type, text) => {
    const answer = await test.api.get(path).expect(200);

    expect(answer.headers['content-type']).toBe(type);
    expect(answer.text).toContain(text);
  });

  it.each(Object.keys(problemCodes) as ProblemCode[])('/problems/%s explains the code', async (code) => {
    const { text } = await test.api.get(`/problems/${code}`).expect(200);

    expect(text).toContain(`<code>${code}</code>, HTTP status ${problemCodes[code].status}`);
    expect(text).toContain(problemCodes[code].meaning.split('`')[0] as string);
  });

  it.each([
    '/problems/none',
    '/problems/constructor',
    '/problems/__proto__',
    '/problems/%3Cscript%3E',
    '/problems/x/y',
  ])('%s is not found', async (path) => {
    const { body, text } = await test.api.get(path).expect(404);

    expect(body.code).toBe('not_found');
    expect(text).not.toContain('<script>');
  });

  it.each([
    ['/docs', 301, '/docs/'],
    ['/problems', 308, '/problems/'],
  ])('%s redirects to the page', async (path, status, location) => {
    expect((await test.api.get(path).expect(status)).headers.location).toBe(location);
  });

  it.each(['/healthz', '/readyz'])('%s answers ok and must not be cached', async (path) => {
    const answer = await test.api.get(path).expect(200);

    expect([answer.body, answer.headers['cache-control']]).toEqual([{ status: 'ok' }, 'no-store']);
  });

  it.each([
    '/api',
    '/api/v1/',
    '/api/v2/me/',
    '/API/v1/me/',
    '/metrics',
    '/docs/none',
    '/.env',
    '/favicon.ico',
    '/docs/..%2f..%2fpackage.json',
    '/docs/%2e%2e/package.json',
    '/api/v1/teams/acme/',
    '/%',
  ])('%s is not found', async (path) => {
    expect((await test.api.get(path).expect(404)).body.code).toBe('not_found');
  });
});

describe('a page', () => {
  it.each([
    '/',
    '/openapi.json',
    '/docs',
    '/docs/',
    '/docs/swagger-ui.css',
    '/healthz',
    '/readyz',
    '/problems',
    '/problems/',
    '/problems/not_found',
    '/console',
    '/console/',
    '/console/clusters',
  ])('%s answers other methods 405 with Allow', async (path) => {
    for (const method of ['post', 'put', 'delete', 'patch'] as const) {
      const answer = await test.api[method](path).expect(405);

      expect([answer.body.code, answer.headers.allow]).toEqual(['method_not_allowed', 'GET, HEAD']);
    }
  });
});

describe('every answer', () => {
  it.each(['/api/v1/me/', '/healthz', '/docs/', '/problems/', '/none/'])('to %s has security headers', async (path) => {
    const { headers } = await test.api.get(path);

    expect(headers['x-powered-by']).toBeUndefined();
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['content-security-policy']).toContain("script-src 'self'");
    expect(headers['x-correlation-id']).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('a page that never changes', () => {
  it.each(['/openapi.json', '/docs/', '/docs/swagger-ui-bundle.js', '/problems/', '/problems/not_found'])(
    '%s is compressed and answered 304 to a conditional request',
    async (path) => {
      const { status, headers } = await test.api.get(path).set('Accept-Encoding', 'gzip, br');

      expect([status, headers['content-encoding'], headers['cache-control']]).toEqual([
        200,
        'gzip',
        'public, max-age=300',
      ]);
      const again = await test.api.get(path).set('If-None-Match', headers.etag as string);
      expect([again.status, again.text, again.headers.etag]).toEqual([304, '', headers.etag]);
    },
  );

  it('is sent uncompressed to clients that do not accept gzip', async () => {
    const { headers, text } = await test.api.get('/docs/').set('Accept-Encoding', 'identity');

    expect([headers['content-encoding'], headers.vary]).toEqual([undefined, 'Accept-Encoding']);
    expect(text).toContain('swagger-ui');
  });
});
