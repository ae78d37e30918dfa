import { dnsOpenApi, dnsRoutes } from '@corral/contracts';
import { sendRaw } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeDemo } from './support/demos.js';
import { expectError, expectRefusal } from './support/expect-refusal.js';
import { type Answer, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

const CONSOLE = 'https://cloud.example.org';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({
    config: {
      publicUrl: 'https://dns.example.test/v1',
      securityContact: 'mailto:security@example.test',
      consoleOrigins: [CONSOLE, 'http://127.0.0.1:4000'],
    },
  });
});
afterAll(() => gateway.close());

describe('public pages', () => {
  const send = (path: string, method = 'GET') => sendRaw(gateway.url, { path, method });

  describe('without a token', () => {
    it('/openapi.json contains the address that clients use', async () => {
      const answer = await send('/openapi.json');

      expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
      expect(answer.json).toEqual(JSON.parse(JSON.stringify(dnsOpenApi('https://dns.example.test/v1', dnsRoutes))));
    });

    it.each([
      ['/docs/', 'text/html; charset=utf-8', 'swagger-ui'],
      ['/docs/swagger-initializer.js', 'application/javascript; charset=utf-8', "'../openapi.json'"],
      ['/.well-known/security.txt', 'text/plain; charset=utf-8', 'Contact: mailto:security@example.test\n'],
      ['/healthz', 'application/json; charset=utf-8', '{"status":"ok","version":"development"}'],
      ['/readyz', 'application/json; charset=utf-8', '{"status":"ok"}'],
    ])('%s is a page', async (path, type, text) => {
      const answer = await send(path);

      expect([answer.status, answer.headers['content-type']]).toEqual([200, type]);
      expect(answer.text).toContain(text);
      if (path.endsWith('z')) expect(answer.headers['cache-control']).toBe('no-store');
    });

    it('/.well-known/security.txt vouches for its contact for less than a year', async () => {
      const [, expires = ''] = /^Expires: (\S+)$/m.exec((await send('/.well-known/security.txt')).text) ?? [];
      const days = (Date.parse(expires) - Date.now()) / 86_400_000;

      expect([days > 170, days < 365]).toEqual([true, true]);
    });

    it('/docs redirects to /docs/', async () => {
      const answer = await send('/docs');

      expect([answer.status, answer.headers.location]).toEqual([301, '/docs/']);
    });

    it.each(['/', '/docs/../package.json', '/docs/%00', '/docs/%2e%2e/package.json', '/%ff', '//'])(
      '%s is not found',
      async (path) => {
        expectError(await send(path), 404, 'not_found');
      },
    );
  });

  it.each(['/openapi.json', '/docs/'])(
    'a page that never changes %s is sent compressed, and only once to a client that caches it',
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

  it.each(['/v1/zones', '/healthz', '/docs/', '/none'])(
    'the answer to %s carries the security headers',
    async (path) => {
      const { headers } = await send(path);

      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      expect(headers['content-security-policy']).toContain("script-src 'self'");
      const others = ['x-powered-by', 'server', 'access-control-allow-origin'];
      expect(others.filter((name) => headers[name] !== undefined)).toEqual([]);
    },
  );
});

describe('scripts', () => {
  const preflight = (origin: string, path = '/zones', method = 'PUT') =>
    gateway.call('OPTIONS', path, {
      token: null,
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': method,
        'Access-Control-Request-Headers': 'authorization,content-type',
      },
    });
  const permissionsOf = ({ headers }: { headers: Headers }) =>
    Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));

  describe('a script of the console', () => {
    it('may send every method with a token, and asks for permission once in two hours', async () => {
      const answer = await preflight(CONSOLE);

      expect([answer.status, answer.text]).toEqual([204, '']);
      expect(permissionsOf(answer)).toEqual({
        'access-control-allow-origin': CONSOLE,
        'access-control-allow-methods': 'GET,POST,PUT,DELETE',
        'access-control-allow-headers': 'Authorization,Content-Type',
        'access-control-expose-headers': expect.any(String),
        'access-control-max-age': '7200',
      });
      expect(answer.headers.get('vary')).toContain('Origin');
    });

    it('reads the headers of limits and the id of the request, also of an error', async () => {
      for (const [token, status] of [
        [gateway.acme.token, 200],
        [null, 401],
      ] as const) {
        const answer = await gateway.call('GET', '/zones', { token, headers: { Origin: CONSOLE } });

        expect(answer.status).toBe(status);
        expect(permissionsOf(answer)).toEqual({
          'access-control-allow-origin': CONSOLE,
          'access-control-expose-headers':
            'RateLimit-Limit,RateLimit-Remaining,RateLimit-Reset,Retry-After,X-Correlation-Id',
        });
      }
    });

    it('is not charged for preflight requests', async () => {
      const remaining = async () =>
        Number((await gateway.call('GET', '/openapi.json', { token: null })).headers.get('ratelimit-remaining'));
      const before = await remaining();
      for (let time = 0; time < 20; time += 1) await preflight('http://127.0.0.1:4000');

      expect(before - (await remaining())).toBeLessThanOrEqual(1);
    });
  });

  it.each(['https://evil.test', 'https://cloud.example.org.evil.test', 'null'])(
    'a script of another origin of %s gets no permission',
    async (origin) => {
      const answers = [
        await preflight(origin),
        await gateway.call('GET', '/zones', { token: null, headers: { Origin: origin } }),
      ];

      for (const answer of answers) {
        expect(permissionsOf(answer)).toEqual({});
        expect(answer.headers.get('vary')).toContain('Origin');
      }
    },
  );
});

describe('the examples of the document', () => {
  /* Sends the example of every request body in the OpenAPI document to its operation. */

  interface Operation {
    readonly operationId: string;
    readonly requestBody?: { readonly content: Record<string, { readonly example: object }> };
  }
  const { paths } = dnsOpenApi('/v1', dnsRoutes) as { readonly paths: Record<string, Record<string, Operation>> };
  const examples = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId, requestBody }]) =>
      Object.values(requestBody?.content ?? {}).map(({ example }) => [operationId, method, path, example] as const),
    ),
  );

  /** What the operation needs before. @returns the values in its path */
  async function prepare(operationId: string, path: string): Promise<Record<string, string>> {
    const name = `${operationId}.acme`.toLowerCase();
    if (path.includes('{name}')) {
      const records = [{ value: '192.0.2.1' }, { value: '192.0.2.8' }];
      const kept = operationId === 'addRecords' ? records.slice(0, 1) : records;
      const body = { name, type: 'A', records: kept };
      expect((await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body })).status).toBe(201);
    }
    const label = path.includes('{label}') ? (await makeDemo(gateway)).label : '';
    return { zone: ZONE, name, type: 'A', label };
  }

  it.each(examples)('the example of a body of %s works', async (operationId, method, path, body) => {
    const values = await prepare(operationId, path);
    const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => values[name] ?? '');

    const { status, text } = await gateway.call(method.toUpperCase(), filled, { body });

    expect([status < 300, status, text]).toEqual([true, status, text]);
  });
});

describe('the documented limits', () => {
  const addresses = (count: number) => Array.from({ length: count }, (_, index) => ({ value: `10.0.0.${index}` }));
  const create = (name: string, records: { value: string }[], type = 'A') =>
    gateway.call('POST', `/zones/${ZONE}/rrsets`, { body: { name, type, records } });

  it('are 50 records per record set, for any write', async () => {
    const refused = async (send: () => Promise<Answer>) => {
      const answer = await expectRefusal(gateway, send, 403, 'resource_limit_exceeded');
      expect(answer.json.error.details).toEqual({ limits: [{ name: 'records_per_rrset' }] });
    };
    const to = (action: string, records: object[]) =>
      gateway.call('POST', `/zones/${ZONE}/rrsets/fifty.acme/A/actions/${action}`, { body: { records } });

    await refused(() => create('fifty.acme', addresses(51)));
    expect((await create('fifty.acme', addresses(50))).status).toBe(201);
    await refused(() => to('add_records', [{ value: '192.0.2.1' }]));
    await refused(() => to('set_records', addresses(51)));
  });

  it('are 4,096 characters per value', async () => {
    const full = `"${'x'.repeat(255)}" `;
    const quoted = (characters: number) => `${full.repeat(15)}"${'x'.repeat(characters - 15 * full.length - 2)}"`;
    const value = quoted(4_096);

    await expectRefusal(gateway, () => create('long.acme', [{ value: quoted(4_097) }], 'TXT'), 400, 'invalid_input');
    const { status, json } = await create('long.acme', [{ value }], 'TXT');
    expect([status, json.rrset.records]).toEqual([201, [{ value, comment: '' }]]);
  });
});
