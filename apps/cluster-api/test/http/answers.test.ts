import {
  type ClusterOperationId,
  type ClusterRoute,
  clusterOpenApi,
  clusterRequestExamples,
  clusterRoutes,
  problemCodes,
} from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aCatalogue, aClusterSpec, aPool } from '../support/a-cluster.js';
import { type ClusterTest, runningCluster, startWithConnection } from '../support/clusters.js';
import { fakeGarden } from '../support/fake-garden.js';
import { type FakeProvider, fakeProvider } from '../support/fake-provider.js';
import { recordedLog } from '../support/recorded-log.js';
import { signed } from '../support/sign-billing.js';
import { PUBLIC_URL, startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';
import { encodedBodyOf, pathOf } from '../support/tenancy/how-to-call.js';

let test: ClusterTest;
beforeAll(async () => {
  test = await startWithConnection();
});
afterAll(() => test.close());

describe('public pages', () => {
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
      ['/.well-known/security.txt', 'text/plain; charset=utf-8', 'Contact: https://security.example.test\n'],
    ])('%s is served', async (path, type, text) => {
      const answer = await test.api.get(path).expect(200);

      expect(answer.headers['content-type']).toBe(type);
      expect(answer.text).toContain(text);
    });

    it.each(['quota_exceeded', 'undo_conflict'] as const)('/problems/%s explains the code', async (code) => {
      const { text } = await test.api.get(`/problems/${code}`).expect(200);

      expect(text).toContain(`<code>${code}</code>, HTTP status ${problemCodes[code].status}`);
      expect(text).toContain(problemCodes[code].meaning.split('`')[0] as string);
    });

    it.each(['/problems/constructor', '/problems/__proto__', '/problems/%3Cscript%3E'])(
      '%s is not found',
      async (path) => {
        const { body, text } = await test.api.get(path).expect(404);

        expect(body.code).toBe('not_found');
        expect(text).not.toContain('<script>');
      },
    );

    it.each([
      ['/docs', 301, '/docs/'],
      ['/problems', 308, '/problems/'],
    ])('%s redirects to the page', async (path, status, location) => {
      expect((await test.api.get(path).expect(status)).headers.location).toBe(location);
    });

    it.each([
      ['/healthz', { status: 'ok', version: 'development' }],
      ['/readyz', { status: 'ok' }],
    ])('%s answers ok and must not be cached', async (path, body) => {
      const answer = await test.api.get(path).expect(200);

      expect([answer.body, answer.headers['cache-control']]).toEqual([body, 'no-store']);
    });

    it.each(['/API/v1/me/', '/metrics', '/docs/..%2f..%2fpackage.json', '/%'])('%s is not found', async (path) => {
      expect((await test.api.get(path).expect(404)).body.code).toBe('not_found');
    });
  });

  describe('every answer', () => {
    it.each(['/api/v1/me/', '/healthz', '/docs/', '/problems/', '/none/'])(
      'to %s has security headers',
      async (path) => {
        const { headers } = await test.api.get(path);

        expect(headers['x-powered-by']).toBeUndefined();
        expect(headers['x-content-type-options']).toBe('nosniff');
        expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
        expect(headers['content-security-policy']).toContain("script-src 'self'");
        expect(headers['x-correlation-id']).toMatch(/^[0-9a-f-]{36}$/);
      },
    );
  });

  describe('a page that never changes', () => {
    it.each(['/openapi.json', '/docs/swagger-ui-bundle.js', '/problems/not_found'])(
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
  });
});

describe('errors', () => {
  const { log, lines } = recordedLog();
  const innermost = new Error('the cause of it all, with a password=hunter2-hunter2');
  let failure: Error;
  let test: TestClusterApi;
  beforeAll(async () => {
    test = await startClusterApi({ log, deps: { verifyToken: () => Promise.reject(failure) } });
  });
  afterAll(() => test.close());

  const fail = (error: Error) => {
    failure = error;
    const sent = test.acme.asAdmin.put('/connections/main/');
    return sent.send({ spec: { provider: 'hcloud', token: 'token-of-this-request' } });
  };

  describe('an unexpected error', () => {
    it('is answered 500 with the request’s id and without details', async () => {
      const { body, text } = await fail(new Error('a detail nobody should see', { cause: innermost })).expect(500);

      expect(body).toMatchObject({
        code: 'internal_error',
        detail: 'The request failed because of an internal error. Quote `instance` when you report it.',
      });
      expect(text).not.toMatch(/detail nobody|hunter2|at .*\.ts/);
    });

    it('is logged once under that id, with its chain of causes', async () => {
      const answer = await fail(new Error('what happened', { cause: innermost })).expect(500);

      const requestId = answer.headers['x-correlation-id'];
      const logged = (await lines()).filter((line) => line.requestId === requestId);
      expect(logged.map(({ message, level }) => [message, level])).toEqual([
        ['unexpected error', 'error'],
        ['request', 'warn'],
      ]);
      expect(JSON.stringify(logged[0])).toMatch(/what happened.*the cause of it all/);
      expect(JSON.stringify(logged)).not.toContain('token-of-this-request');
    });
  });

  describe('an unknown path or method', () => {
    it.each([
      ['patch', '/api/v1/me/', 'GET, HEAD'],
      ['patch', '/api/v1/teams/acme/connections/main/', 'PUT, GET, HEAD, DELETE'],
      ['get', '/auth/logout/', 'POST'],
    ] as const)('is answered 405 for %s %s, with the allowed methods', async (method, path, allow) => {
      const answer = await test.api.as(test.acme.admin)[method](path).expect(405);

      expect([answer.body.code, answer.headers.allow]).toEqual(['method_not_allowed', allow]);
    });
  });
});

describe('cross site', () => {
  type Headers = Record<string, string>;
  const connection = { spec: { provider: 'hcloud', token: 't' } };

  describe('a change', () => {
    const change = (headers: Headers) => test.acme.asAdmin.put('/connections/main/').set(headers).send(connection);

    it.each<[string, Headers]>([
      ['a client that is not a browser', {}],
      ['a page of this origin', { Origin: PUBLIC_URL, 'Sec-Fetch-Site': 'same-origin' }],
      ['an older browser on a page of this origin', { Origin: PUBLIC_URL }],
      ['the address bar', { 'Sec-Fetch-Site': 'none' }],
    ])('by %s is allowed', async (_who, headers) => {
      expect((await change(headers)).status).toBeLessThan(300);
    });

    it.each<[string, Headers]>([
      ['a page of another site', { Origin: 'https://evil.test', 'Sec-Fetch-Site': 'cross-site' }],
      ['an older browser on a page of another site', { Origin: 'https://evil.test' }],
      ['a page on another port', { Origin: `${PUBLIC_URL}:8080` }],
      ['a page without an origin, such as a sandboxed frame', { Origin: 'null' }],
      ['a page whose host only starts like this one', { Origin: `${PUBLIC_URL}.evil.test` }],
      ['a page of this origin, framed by another site', { Origin: PUBLIC_URL, 'Sec-Fetch-Site': 'cross-site' }],
      ['a form with Sec-Fetch-Site only', { 'Sec-Fetch-Site': 'cross-site' }],
      ['an empty origin', { Origin: '' }],
      ['an unknown Sec-Fetch-Site', { 'Sec-Fetch-Site': 'teleported' }],
    ])('by %s is refused', async (_who, headers) => {
      const before = await test.db.connection.count();

      const { body } = await change(headers).expect(403);

      expect(body.code).toBe('cross_site_request');
      expect(await test.db.connection.count()).toBe(before);
    });

    it.each(['post', 'put', 'delete', 'patch'] as const)('by %s is refused on any path', async (method) => {
      for (const path of ['/auth/logout/', '/api/v1/me/', '/nowhere/', test.acme.path('/clusters/web/hibernate/')]) {
        const answer = await test.api.as(test.acme.admin)[method](path).set('Origin', 'https://evil.test').expect(403);
        expect(answer.body.code).toBe('cross_site_request');
      }
    });
  });

  describe('a read', () => {
    it.each(['get', 'head'] as const)(
      'by %s from another site is allowed, because browsers hide the answer from it',
      async (method) => {
        const answer = await test.api.as(test.acme.member)[method]('/api/v1/me/').set('Origin', 'https://evil.test');

        expect(answer.status).toBe(200);
        expect(answer.headers['access-control-allow-origin']).toBeUndefined();
        expect(answer.headers['cross-origin-resource-policy']).toBe('same-origin');
      },
    );

    it('gets no CORS permission in a preflight request', async () => {
      const answer = await test.api
        .options(test.acme.path('/connections/main/'))
        .set({ Origin: 'https://evil.test', 'Access-Control-Request-Method': 'PUT' });

      expect(answer.status).toBe(405);
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    });
  });
});

describe('created resources', () => {
  interface Documented {
    readonly operationId: string;
    readonly responses: Record<string, { readonly headers?: object }>;
  }

  beforeAll(async () => {
    await test.clusters.declare('existing');
    await test.createAccount(test.acme, 'existing', { role: 'member' });
  });

  const project = { provider: 'hcloud', token: 'the-token-of-a-cloud-project' };
  /** Creates something with each of these operations. */
  const creations: Partial<Record<ClusterOperationId, readonly ['put' | 'post', string, object]>> = {
    putCluster: ['put', '/clusters/created/', { spec: aClusterSpec() }],
    putNodePool: ['put', '/clusters/existing/node-pools/second/', { spec: aPool({ name: 'second' }) }],
    createConnection: ['post', '/connections/', { spec: project }],
    putConnection: ['put', '/connections/second/', { spec: project }],
    createDnsToken: ['post', '/dns-tokens/', { name: 'ci' }],
    putServiceAccount: ['put', '/service-accounts/ci/', { spec: { role: 'member' } }],
    putTrustedIssuer: [
      'put',
      '/trusted-issuers/ci/',
      { spec: { issuer: 'https://id.test', audience: 'corral', claims: { sub: 'ci' }, serviceAccount: 'existing' } },
    ],
    putWebhook: ['put', '/webhooks/chat/', { spec: { url: 'https://hooks.test' } }],
  };
  it.each(Object.entries(creations))('the answer to %s has the address of what it created', async (_id, creation) => {
    const [method, path, body] = creation;
    const admin = test.api.as(test.acme.admin);

    const { headers, status } = await admin[method](test.acme.path(path)).send(body);
    const again = method === 'put' ? await admin.put(test.acme.path(path)).send(body) : null;

    expect([201, 202]).toContain(status);
    expect(headers.location).toMatch(/^\/api\/v1\/teams\/acme\//);
    await admin.get(headers.location as string).expect(200);
    expect(again?.headers).not.toEqual(expect.objectContaining({ location: expect.anything() }));
  });

  it('covers every creation whose address the document promises', () => {
    const { paths, components } = clusterOpenApi(PUBLIC_URL) as {
      paths: Record<string, Record<string, Documented>>;
      components: { responses: Record<string, { headers: object }> };
    };
    const promisesAddress = ({ $ref = '', headers = {} }: { $ref?: string; headers?: object } = {}) =>
      'Location' in (components.responses[$ref.split('/').at(-1) as string]?.headers ?? headers);
    const promised = Object.values(paths)
      .flatMap((path) => Object.values(path))
      .filter(({ responses }) => [201, 202].some((status) => promisesAddress(responses[status])))
      .map(({ operationId }) => operationId);

    // Adopting a server is tried with the provider's servers.
    expect([...Object.keys(creations), 'adoptServer'].sort()).toEqual(promised.sort());
  });

  it('an accepted change says when to look at its operation', async () => {
    const accepted = await test.clusters
      .declare('looked-at')
      .then(() => test.acme.asMember.put('/clusters/looked-at/').send({ spec: aClusterSpec({ plan: 'annual' }) }));
    const draft = await test.acme.asMember.put('/clusters/drafted/').send({ spec: aClusterSpec({ nodePools: [] }) });

    expect([accepted.status, accepted.headers['retry-after']]).toEqual([202, '1']);
    expect(accepted.headers).not.toHaveProperty('location');
    // The operation of a draft has nothing left to do.
    expect([draft.status, draft.headers['retry-after'], draft.body.operation.state]).toEqual([202, '0', 'succeeded']);
  });
});

describe('the example of a body', () => {
  /* Sends the example of every request body to its operation. */

  /** They show a moment, or what another program or person issued a moment before, which is refused for being unknown. */
  const ofAMoment = ['authorize', 'exchangeToken', 'decideDeviceSignIn', 'replayWebhook', 'undoAuditEntry'];

  const PROJECT = 'a-token-of-the-cloud-project-of-these-examples';
  const BILLING = 'a-secret-of-the-billing-system';
  let t: TestClusterApi;
  let provider: FakeProvider;
  beforeAll(async () => {
    provider = fakeProvider();
    const garden = fakeGarden();
    const [machine] = aCatalogue().machineTypes;
    const machineTypes = ['cpx31', 'ccx33'].map((name) => ({ ...(machine as NonNullable<typeof machine>), name }));
    garden.catalogue = aCatalogue({ machineTypes });
    t = await startClusterApi({
      garden,
      config: {
        devSignIn: true,
        billingSecrets: [BILLING],
        gardenFeatures: new Set(['adopted-nodes', 'control-plane-ha'] as const),
      },
      deps: { projects: provider.projects },
    });
    await t.createTeam('third');
    const connection = { spec: { provider: 'hcloud', token: PROJECT } };
    await t.acme.asAdmin.put('/connections/main/').send(connection).expect(201);
    await t.createAccount(t.acme, 'ci', { role: 'viewer' });
    provider.put(PROJECT, { id: 42_017, serverType: 'cx22', location: 'hel1', architecture: 'x86' });
  });
  afterAll(async () => {
    await t.close();
    provider.close();
  });

  /** What the operation needs before, and the names in its path. */
  async function prepare(operationId: string): Promise<Record<string, string>> {
    const cluster = `example-${operationId}`.toLowerCase();
    if (['putNodePool', 'issueKubeconfig', 'addHostedName'].includes(operationId))
      await runningCluster(t, t.acme, cluster);
    const member = await t.db.membership.findFirstOrThrow({ where: { userId: t.acme.member.id } });
    return {
      name: cluster,
      cluster,
      pool: 'general',
      ref: operationId === 'putConnection' ? 'second' : 'main',
      account: 'ci',
      id: String(member.number),
    };
  }
  it.each(Object.entries(clusterRequestExamples))('of %s works', async (operationId, value) => {
    const route = (clusterRoutes as readonly ClusterRoute[]).find(
      (row) => row.operationId === operationId,
    ) as ClusterRoute;
    const { number } = await t.db.team.findUniqueOrThrow({ where: { slug: 'acme' } });
    const path = pathOf(route, { slug: 'acme', number: String(number) }, await prepare(operationId));
    const body = encodedBodyOf(route, value);
    const type = route.form === 'only' ? 'application/x-www-form-urlencoded' : 'application/json';

    // Some examples end the session.
    const cookie = await t.signIn(t.acme.admin);
    const { status, text } = await t.api
      .as({ cookie })
      [route.method](path)
      .set({ 'Content-Type': type, 'Corral-Signature': signed(body, BILLING) })
      .send(body);

    const isExpected = ofAMoment.includes(operationId) ? [400, 401, 404, 422].includes(status) : status < 300;
    expect([isExpected, status, text]).toEqual([true, status, text]);
  });
});
