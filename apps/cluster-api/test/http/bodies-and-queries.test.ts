import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import {
  type ClusterRoute,
  checkClusterAnswer,
  clusterBodyLimits,
  clusterRoutes,
  problemCodes,
} from '@corral/contracts';
import type { Served } from '@corral/http-api';
import { chunked, type RawAnswer, type RawRequest, renderRequest, sendBytes, sendRaw } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type ClusterTest, freshName, startWithConnection } from '../support/clusters.js';
import { listen } from '../support/listen.js';
import { PUBLIC_URL } from '../support/start-cluster-api.js';
import { pathOf } from '../support/tenancy/how-to-call.js';

let test: ClusterTest;
beforeAll(async () => {
  test = await startWithConnection();
});
afterAll(() => test.close());

describe('a body', () => {
  const put = (body: string | Buffer, type: string | null = 'application/json') => {
    const sent = test.acme.asAdmin.put('/connections/main/');
    if (type !== null) sent.set('Content-Type', type);
    // supertest would encode a string as JSON again.
    return sent.serialize((sentBody: unknown) => sentBody as string).send(body);
  };
  const valid = JSON.stringify({ spec: { provider: 'hcloud', token: 't' } });
  it.each([['broken JSON', '{broken']])('of %s is invalid JSON', async (_what, body) => {
    expect((await put(body).expect(400)).body.code).toBe('invalid_json');
  });

  it('that is not UTF-8 is invalid JSON', async () => {
    const latin = Buffer.from('{"spec": {"name": "M\u00fcller"}}', 'latin1');

    expect((await put(latin).expect(400)).body.code).toBe('invalid_json');
  });

  it.each([
    ['none', null],
    ['a form', 'application/x-www-form-urlencoded'],
  ])('of type %s is not parsed', async (_what, type) => {
    expect((await put(Buffer.from(valid), type).expect(415)).body.code).toBe('unsupported_media_type');
  });

  it.each<[string, unknown, string]>([
    ['a field next to it', { spec: { provider: 'hcloud', token: 't' }, note: 'Connection' }, '/note'],
    [
      'a number beyond the range of a double',
      '{"spec":{"provider":"hcloud","token":"t","providerConfig":{"n":1e999}}}',
      '/spec/providerConfig/n',
    ],
    [
      'a member called __proto__',
      '{"spec":{"provider":"hcloud","token":"t","__proto__":{"name":"x"}}}',
      '/spec/__proto__',
    ],
    ['a slash in a name', { spec: { provider: 'hcloud', token: 't', 'a/b~c': 1 } }, '/spec/a~1b~0c'],
  ])('with %s is refused with a pointer', async (_what, body, pointer) => {
    const { body: problem } = await put(typeof body === 'string' ? body : JSON.stringify(body)).expect(422);

    expect(problem.code).toBe('validation_failed');
    expect(problem.errors.map((error: { pointer: string }) => error.pointer)).toEqual([pointer]);
  });

  it.each([['gzip', gzipSync(valid)]])('with Content-Encoding %s is not parsed', async (encoding, bytes) => {
    const { body } = await put(bytes).set('Content-Encoding', encoding).expect(415);

    expect(body.code).toBe('unsupported_media_type');
  });

  it('is not repeated in the problem, because it may contain a secret', async () => {
    const secret = 'very-secret-token';
    for (const text of [`{"spec": {"token": "${secret}\n"}}`, `{"spec": {"token": "${secret}"`, `"${secret}"`]) {
      expect((await put(text)).text).not.toContain(secret);
    }
  });
});

describe('bad http', () => {
  let server: Served;
  beforeAll(async () => {
    server = await listen(test.app);
  });
  afterAll(() => server.close());
  afterEach(async () => {
    expect(await test.db.connection.count({ where: { ref: 'unwritten' } })).toBe(0);
    // The next client must still be served.
    await test.api.as(test.acme.admin).get('/api/v1/me/').expect(200);
  });

  const put = (change: Partial<RawRequest> = {}): RawRequest => ({
    method: 'PUT',
    path: test.acme.path('/connections/unwritten/'),
    ...change,
    headers: [['Cookie', test.acme.admin.cookie], ['Content-Type', 'application/json'], ...(change.headers ?? [])],
  });

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

    it('without a session is not read', async () => {
      const request = { method: 'PUT', path: test.acme.path('/connections/unwritten/'), body: large };

      expectProblem(await sendRaw(server.url, request), 'authentication_required');
    });

    it('that ends before its length is refused, even when it looks complete', async () => {
      const body = JSON.stringify({ spec: { provider: 'hcloud', token: 't' } });
      const request = renderRequest(put({ body }))
        .toString()
        .replace(/Content-Length: \d+/, 'Content-Length: 5000');

      // The client cannot read a problem any more. What matters is that nothing was changed.
      expect((await sendBytes(server.url, request, { end: true })).status).toBe(400);
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
});

describe('an id with capitals is that of', () => {
  it('an operation, also as a filter', async () => {
    const name = freshName(test);
    const { operation, resource } = await test.clusters.declareDraft(name);
    const member = test.api.as(test.acme.member);
    const path = test.acme.path('/operations/');

    const { body } = await member.get(`${path}${operation.id.toUpperCase()}/`).expect(200);
    expect(body.id).toBe(operation.id);

    const listed = await member.get(`${path}?target=${resource.metadata.id.toUpperCase()}`).expect(200);
    expect(listed.body.items.map(({ id }: { id: string }) => id)).toEqual([operation.id]);
  });

  it('the session of the request, whose cookie is then cleared', async () => {
    const caller = test.api.as({ cookie: await test.signIn(test.acme.member) });
    const { body } = await caller.get('/api/v1/me/sessions/').expect(200);
    const { id } = body.items.find(({ current }: { current: boolean }) => current);

    const { headers } = await caller.delete(`/api/v1/me/sessions/${id.toUpperCase()}/`).expect(204);

    expect(String(headers['set-cookie'])).toMatch(/sessionid=;/);
  });
});

describe('a made-up cursor', () => {
  let team: { slug: string; number: string };
  beforeAll(async () => {
    const { slug, number } = await test.db.team.findUniqueOrThrow({ where: { id: test.acme.id } });
    team = { slug, number: String(number) };
    await test.clusters.declareDraft('none');
  });

  const now = new Date().toISOString();
  const wrong = [
    [now, 'NaN'],
    ['294277-01-01T00:00:00Z', randomUUID()],
    ['+275760-09-13T00:00:00.000Z', 'dns-1'],
    [now, 'dns-99999999999999999999'],
    [now, randomUUID(), 'x'],
    [null, null],
  ];
  const odd = [['9'.repeat(400)], ['\0'], ['\ud800'], [now, randomUUID()], [now, 'dns-999999999999999999']];
  const lists = (clusterRoutes as readonly ClusterRoute[]).filter(({ query }) =>
    query?.some(({ name }) => name === 'cursor'),
  );

  it.each(lists.map((route) => [route.operationId, route] as const))(
    'is refused by %s, or leads to a page',
    async (_operation, route) => {
      const statusOf = async (key: unknown) => {
        const cursor = Buffer.from(JSON.stringify(key)).toString('base64url');
        return (await test.api.as(test.acme.admin).get(`${pathOf(route, team)}?cursor=${cursor}`)).status;
      };

      for (const key of wrong) expect([key, await statusOf(key)]).toEqual([key, 422]);
      for (const key of odd) expect([200, 422]).toContain(await statusOf(key));
    },
  );
});
