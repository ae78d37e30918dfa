import { dnsOpenApi, dnsRoutes } from '@corral/contracts';
import { sendRaw } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeDemo } from './support/demos.js';
import { expectError, expectRefusal } from './support/expect-refusal.js';
import { type Answer, startGateway, type TestGateway, type TestTeam, ZONE } from './support/start-gateway.js';

describe('public pages', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({
      config: { publicUrl: 'https://dns.example.test/v1', securityContact: 'mailto:security@example.test' },
    });
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

    it('/.well-known/security.txt names the contact, for less than a year from today', async () => {
      const { status, headers, text } = await send('/.well-known/security.txt');

      expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
      expect(text).toMatch(
        /^Contact: mailto:security@example\.test\nExpires: \S+T00:00:00\.000Z\nPreferred-Languages: en\n$/,
      );
      const days = (Date.parse(/Expires: (.*)/.exec(text)?.[1] ?? '') - Date.now()) / 86_400_000;
      expect(days > 170 && days < 365).toBe(true);
    });

    it('/docs redirects to /docs/', async () => {
      const answer = await send('/docs');

      expect([answer.status, answer.headers.location]).toEqual([301, '/docs/']);
    });

    it.each([
      ['/healthz', { status: 'ok', version: 'development' }],
      ['/readyz', { status: 'ok' }],
    ])('%s answers ok and must not be cached', async (path, body) => {
      const answer = await send(path);

      expect([answer.status, answer.json]).toEqual([200, body]);
      expect(answer.headers['cache-control']).toBe('no-store');
    });

    it.each(['/', '/docs/../package.json', '/docs/%00', '/.env'])('%s is not found', async (path) => {
      expectError(await send(path), 404, 'not_found');
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

  it.each(['/v1/zones', '/healthz', '/docs/', '/none'])(
    'the answer to %s carries the security headers',
    async (path) => {
      const { headers } = await send(path);

      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      expect(headers['content-security-policy']).toContain("script-src 'self'");
    },
  );
});

describe('scripts', () => {
  const CONSOLE = 'https://cloud.example.org';

  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({ config: { consoleOrigins: [CONSOLE, 'http://127.0.0.1:4000'] } });
  });
  afterAll(() => gateway.close());

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
      for (const token of [undefined, 'x'.repeat(64)]) {
        const answer = await gateway.call('GET', '/zones', {
          ...(token === undefined ? {} : { token }),
          headers: { Origin: CONSOLE },
        });

        expect(answer.status).toBe(token === undefined ? 200 : 401);
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

  describe('a script of another origin', () => {
    it.each([
      'https://evil.test',
      'https://cloud.example.org.evil.test',
      'http://cloud.example.org',
      'https://cloud.example.org:8443',
      'null',
    ])('of %s gets no permission', async (origin) => {
      const answers = [
        await preflight(origin),
        await gateway.call('GET', '/zones', { token: null, headers: { Origin: origin } }),
      ];

      for (const answer of answers) {
        expect(permissionsOf(answer)).toEqual({});
        expect(answer.headers.get('vary')).toContain('Origin');
      }
    });
  });
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

  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());

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

  describe('the example of a body', () => {
    it.each(examples)('of %s works', async (operationId, method, path, body) => {
      const values = await prepare(operationId, path);
      const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => values[name] ?? '');

      const { status, text } = await gateway.call(method.toUpperCase(), filled, { body });

      expect([status < 300, status, text]).toEqual([true, status, text]);
    });
  });
});

describe('the documented limits', () => {
  /* The rows of the documented limits table, except request rates. */

  let gateway: TestGateway;
  let teams = 0;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());

  const addresses = (count: number, from = 0) =>
    Array.from({ length: count }, (_, index) => ({
      value: `10.0.${Math.floor((from + index) / 250)}.${(from + index) % 250}`,
    }));
  const write = (team: TestTeam, action: string, body: object, name = 'set'): Promise<Answer> =>
    action === 'create'
      ? gateway.call('POST', `/zones/${ZONE}/rrsets`, {
          token: team.token,
          body: { name: `${name}.${team.slug}`, type: 'A', ...body },
        })
      : gateway.call('POST', `/zones/${ZONE}/rrsets/${name}.${team.slug}/A/actions/${action}`, {
          token: team.token,
          body,
        });

  /** A new team with this many records, in sets `s0`, `s1`, … of at most 50. */
  async function aTeamHolding(count: number): Promise<TestTeam> {
    teams += 1;
    const team = await gateway.createTeam(`team-${teams}`);
    for (let set = 0; set * 50 < count; set += 1) {
      const records = addresses(Math.min(50, count - set * 50));
      expect((await write(team, 'create', { records }, `s${set}`)).status).toBe(201);
    }
    return team;
  }
  const refusedPastTeam = async (send: () => Promise<Answer>) => {
    const answer = await expectRefusal(gateway, send, 403, 'resource_limit_exceeded');
    expect(answer.json.error.details).toEqual({ limits: [{ name: 'records_per_team' }] });
  };
  const refusedPastSet = async (send: () => Promise<Answer>) => {
    const answer = await expectRefusal(gateway, send, 403, 'resource_limit_exceeded');
    expect(answer.json.error.details).toEqual({ limits: [{ name: 'records_per_rrset' }] });
  };

  describe('the limit of 200 records per team', () => {
    it('is reached by any write and exceeded by none', async () => {
      const team = await aTeamHolding(199);
      expect((await write(team, 'add_records', { records: addresses(1, 100) }, 's3')).status).toBe(201);

      await refusedPastTeam(() => write(team, 'create', { records: addresses(1) }, 'more'));
      await refusedPastTeam(() => write(team, 'add_records', { records: addresses(1) }, 'more'));
    });

    it('allows writes that do not increase the number of records', async () => {
      const team = await aTeamHolding(200);

      expect((await write(team, 'set_records', { records: addresses(50, 500) }, 's0')).status).toBe(201);
      expect((await write(team, 'change_ttl', { ttl: 600 }, 's0')).status).toBe(201);
      expect((await write(team, 'remove_records', { records: addresses(20, 500) }, 's0')).status).toBe(201);
      expect((await write(team, 'create', { records: addresses(20) }, 'more')).status).toBe(201);
      await refusedPastTeam(() => write(team, 'set_records', { records: addresses(21) }, 'more'));
    });

    it('counts records created outside the gateway, and none of other teams', async () => {
      const team = await aTeamHolding(100);
      gateway.cloud.admin.putRrset(ZONE, `by-hand.${team.slug}`, 'MX', { records: addresses(99) });
      await gateway.syncZone();

      expect((await write(team, 'create', { records: addresses(1) }, 'more')).status).toBe(201);
      await refusedPastTeam(() => write(team, 'create', { records: addresses(1) }, 'again'));
      expect((await write(gateway.acme, 'create', { records: addresses(1) })).status).toBe(201);
    });
  });

  describe('the limit of 50 records per record set', () => {
    it('is reached by any write and exceeded by none', async () => {
      const team = await aTeamHolding(0);
      await refusedPastSet(() => write(team, 'create', { records: addresses(51) }));
      expect((await write(team, 'create', { records: addresses(49) })).status).toBe(201);

      await refusedPastSet(() => write(team, 'add_records', { records: addresses(2, 100) }));
      expect((await write(team, 'add_records', { records: addresses(1, 100) })).status).toBe(201);
      await refusedPastSet(() => write(team, 'add_records', { records: addresses(1, 200) }));
      await refusedPastSet(() => write(team, 'set_records', { records: addresses(51) }));
      expect((await write(team, 'set_records', { records: addresses(50, 300) })).status).toBe(201);
      await refusedPastSet(() => write(team, 'add_records', { records: addresses(51) }, 'absent'));
    });
  });

  describe('the limit of 4,096 characters per value', () => {
    /** Quoted strings of at most 255 bytes, as the upstream requires. */
    const quoted = (characters: number) => {
      const full = `"${'x'.repeat(255)}"`;
      const rest = characters - 15 * (full.length + 1);
      return `${`${full} `.repeat(15)}"${'x'.repeat(rest - 2)}"`;
    };
    const create = (value: string) => () =>
      gateway.call('POST', `/zones/${ZONE}/rrsets`, { body: { name: 'long.acme', type: 'TXT', records: [{ value }] } });

    it('is accepted, and returned unchanged', async () => {
      const value = quoted(4_096);
      expect(value).toHaveLength(4_096);

      expect((await create(value)()).status).toBe(201);

      const { json } = await gateway.call('GET', `/zones/${ZONE}/rrsets/long.acme/TXT`);
      expect(json.rrset.records).toEqual([{ value, comment: '' }]);
    });

    it('cannot be exceeded', async () => {
      await expectRefusal(gateway, create(quoted(4_097)), 400, 'invalid_input');
      for (const action of ['set_records', 'add_records', 'remove_records']) {
        const body = { records: [{ value: quoted(4_097) }] };
        const path = `/zones/${ZONE}/rrsets/long.acme/TXT/actions/${action}`;
        await expectRefusal(gateway, () => gateway.call('POST', path, { body }), 400, 'invalid_input');
      }
    });
  });

  describe('per_page', () => {
    it('is 25 by default, and at most 50', async () => {
      const team = await gateway.createTeam('pages');
      for (let set = 0; set < 60; set += 1) {
        gateway.cloud.admin.putRrset(ZONE, `s${set}.pages`, 'A', { records: addresses(1) });
      }
      await gateway.syncZone();
      const sizes = async (query: string) => {
        const { json } = await gateway.call('GET', `/zones/${ZONE}/rrsets${query}`, { token: team.token });
        const { per_page, last_page, total_entries } = json.meta.pagination;
        return [json.rrsets.length, per_page, last_page, total_entries];
      };

      expect(await sizes('')).toEqual([25, 25, 3, 60]);
      expect(await sizes('?page=3')).toEqual([10, 25, 3, 60]);
      expect(await sizes('?per_page=50')).toEqual([50, 50, 2, 60]);
      expect(await sizes('?per_page=51')).toEqual([50, 50, 2, 60]);
      expect(await sizes('?per_page=1000&page=2')).toEqual([10, 50, 2, 60]);
    });
  });
});
