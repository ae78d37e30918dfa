import { memoryBuckets } from '@corral/admission';
import { type ClusterRoute, clusterRoutes } from '@corral/contracts';
import { createMetrics } from '@corral/service';
import { type DatabaseDoor, databaseDoor, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Response as Answer } from 'supertest';
import { deviceLimits } from '../../src/app-config.js';
import { buildApp } from '../../src/build-app.js';
import { isRefusedWhileHeld } from '../../src/http/caller.js';
import { aClusterSpec } from '../support/a-cluster.js';
import { type ApiClient, checkedClient } from '../support/checked-client.js';
import { type ClusterTest, startWithConnection } from '../support/clusters.js';
import { PUBLIC_URL, startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

let test: ClusterTest;
beforeAll(async () => {
  test = await startWithConnection();
});
afterAll(() => test.close());

describe('request limits', () => {
  const ME = '/api/v1/me/';
  const many = {
    perAddressPerMinute: 100_000,
    perPersonPerMinute: 100_000,
    signInRequestsPerAddressPerMinute: 100_000,
    devices: deviceLimits,
  };

  let api: ApiClient;

  /** Starts a process of the API with buckets on a simulated clock, which real time does not refill. */
  function start(limits: Partial<typeof many>): { now: number } {
    const clock = { now: 1_000_000 };
    const config = { ...test.deps.config, limits: { ...many, ...limits } };
    const buckets = memoryBuckets(() => clock.now);
    const app = buildApp({ ...test.deps, config, buckets, metrics: createMetrics({ service: 'test' }) });
    api = checkedClient(app, PUBLIC_URL);
    return clock;
  }

  it('a request above a limit is answered 429 with the time to wait and succeeds after that', async () => {
    const clock = start({ perPersonPerMinute: 2 });
    const get = () => api.as(test.acme.member).get(ME);
    await get().expect(200);
    await get().expect(200);

    const refused = await get().expect(429);

    expect(refused.body.code).toBe('rate_limit_exceeded');
    expect(refused.headers).toMatchObject({
      'retry-after': '30',
      'ratelimit-limit': '2',
      'ratelimit-remaining': '0',
    });
    clock.now += 30_000;
    await get().expect(200);
  });

  describe('the limits count', () => {
    it('requests without a valid session per address, before the session is looked up', async () => {
      start({ perAddressPerMinute: 3 });
      for (const cookie of ['', 'sessionid=x', '']) {
        expect((await api.as({ cookie }).get(ME)).status).toBeLessThan(429);
      }

      for (const cookie of ['', 'sessionid=x']) {
        const { body } = await api.as({ cookie }).get(ME).expect(429);
        expect(body.detail).toContain('this address');
      }
    });

    it('requests with unknown sessions beyond it once more, so that a good one is found', async () => {
      start({ perAddressPerMinute: 2 });
      for (const status of [401, 401, 429]) await api.get(ME).expect(status);

      await api.as(test.acme.member).get(ME).expect(200);
      for (const cookie of ['w', 'x', 'y', 'z']) await api.as({ cookie: `sessionid=${cookie}` }).get(ME);
      await api.as({ cookie: 'sessionid=one-more' }).get(ME).expect(429);
      await api.as(test.acme.member).get(ME).expect(200);
    });

    it('no requests with a session per address, whatever their outcome', async () => {
      start({ perAddressPerMinute: 1 });
      const member = api.as(test.acme.member);
      for (let time = 0; time < 3; time += 1) {
        const { headers } = await member.get(ME).expect(200);
        expect(headers['ratelimit-limit']).toBe(String(many.perPersonPerMinute));
        await member.get('/nowhere/').expect(404);
        // Any web page can make its visitors send this request. It must not use up the limit of the address.
        await member.post('/auth/logout/').set('Origin', 'https://elsewhere.example').expect(403);
      }

      await api.get('/nowhere/').expect(404);
      await api.get('/nowhere/').expect(429);
    });

    it('no requests of a session or token that is good, even if others have used up its address', async () => {
      start({ perAddressPerMinute: 2 });
      const path = test.acme.path('/clusters/');
      const member = api.as(test.acme.member);
      const account = api.withToken(await test.createAccount(test.acme, 'ci', { role: 'viewer' }));
      for (const caller of [member, account]) await caller.get(path).expect(200);
      for (let time = 0; time < 2; time += 1) await api.withToken('wrong').get(path).expect(401);
      await api.withToken('wrong').get(path).expect(429);

      for (const caller of [member, account]) {
        await caller.get(path).expect(200);
        await caller.get('/openapi.json').expect(200);
      }
      // A good one that is not known here yet.
      await api.as(test.globex.member).get(path).expect(404);
    });

    it('a session that was found good, and has ended since, as any other cookie', async () => {
      start({ perAddressPerMinute: 2 });
      const cookie = await test.signIn(test.acme.member);
      await api.as({ cookie }).get(ME).expect(200);
      const newest = { where: { userId: test.acme.member.id }, orderBy: { createdAt: 'desc' } } as const;
      const { id } = await test.db.session.findFirstOrThrow(newest);
      await test.db.session.delete({ where: { id } });

      for (const status of [401, 401, 429]) await api.as({ cookie }).get(ME).expect(status);
    });

    it('a cookie beside a token of a good session as strangers', async () => {
      start({ perAddressPerMinute: 1 });
      const member = api.as(test.acme.member);
      await member.get(ME).expect(200);

      for (const status of [401, 429]) await member.get(ME).set('Authorization', 'Bearer other').expect(status);
      await member.get(ME).expect(200);
    });

    it('requests per person, over all their sessions', async () => {
      start({ perPersonPerMinute: 2 });
      const other = await test.signIn(test.acme.member);
      await api.as(test.acme.member).get(ME).expect(200);
      await api.as({ cookie: other }).get(ME).expect(200);

      for (const cookie of [test.acme.member.cookie, other]) {
        expect((await api.as({ cookie }).get(ME).expect(429)).body.detail).toContain('this person');
      }
      await api.as(test.acme.admin).get(ME).expect(200);
    });

    it('sign-ins separately, before the identity provider is called', async () => {
      start({ signInRequestsPerAddressPerMinute: 2 });
      await api.get('/auth/login/').expect(404);
      await api.get('/auth/callback/?code=guess&state=guess').expect(404);

      for (const path of ['/auth/login/', '/auth/callback/?code=another']) {
        expect((await api.get(path).expect(429)).body.detail).toContain('sign-ins');
      }
      await api.as(test.acme.member).get(ME).expect(200);
    });

    it('sign-ins of a signed-in person for that person, not for the address', async () => {
      start({ signInRequestsPerAddressPerMinute: 1 });
      const member = api.as(test.acme.member);
      await member.get('/auth/callback/?code=guess').expect(404);
      await member.get('/auth/callback/?code=guess').expect(429);

      await api.get('/auth/callback/?code=guess').expect(404);
    });

    it('public pages but not health checks', async () => {
      for (const path of ['/openapi.json', '/docs/', '/problems/', '/problems/not_found']) {
        start({ perAddressPerMinute: 1 });
        await api.get(path).expect(200);

        await api.get(path).expect(429);
        await api.get('/healthz').expect(200);
      }
    });
  });
});

describe('during a hold', () => {
  beforeEach(() => test.db.installationHold.create({ data: { reason: 'requested' } }));
  afterEach(() => test.db.installationHold.deleteMany());

  const declare = (name: string) => test.acme.asMember.put(`/clusters/${name}/`).send({ spec: aClusterSpec() });
  it('refuses changes with 503 and Retry-After, and changes nothing', async () => {
    const before = await test.db.cluster.count();

    const answer = await declare('refused').expect(503);

    expect(answer.body).toMatchObject({ detail: expect.stringContaining('stopped changes') });
    expect(answer.headers['retry-after']).toBe('60');
    expect(await test.db.cluster.count()).toBe(before);
  });

  it('answers reads and dry runs, and refuses strangers as before', async () => {
    const path = `${test.acme.path('/clusters/planned/')}?dryRun=true`;
    await test.api.as(test.acme.member).put(path).send({ spec: aClusterSpec() }).expect(200);
    await test.acme.asMember.get('/clusters/').expect(200);
    await test.api.as(test.globex.member).put(test.acme.path('/clusters/held/')).send({}).expect(404);
  });

  it('refuses every change except of sessions', () => {
    const served = clusterRoutes.filter((route) => route.method !== 'get' && !isRefusedWhileHeld(route));
    expect(served.map(({ operationId }) => operationId).sort()).toEqual([
      'authorize',
      'decideDeviceSignIn',
      'devSignIn',
      'exchangeToken',
      'signOut',
      'signOutEverywhere',
      'startDeviceSignIn',
      'startDnsSession',
    ]);
  });

  it('accepts the change when the hold has ended', async () => {
    await declare('later').expect(503);
    await test.db.installationHold.updateMany({ data: { endedAt: new Date() } });

    await declare('later').expect(202);
  });
});

describe('a suspended team', () => {
  const suspend = (suspendedAt: Date | null) =>
    test.db.team.updateMany({ where: { slug: test.acme.slug }, data: { suspendedAt } });

  it('reads and plans, and its changes are refused until it is resumed', async () => {
    const path = test.acme.path('/clusters/late/');
    const put = (query = '') => test.api.as(test.acme.member).put(`${path}${query}`).send({ spec: aClusterSpec() });
    await suspend(new Date());

    await test.acme.asMember.get('/clusters/').expect(200);
    await put('?dryRun=true').expect(200);
    const refused = await put().expect(403);
    await suspend(null);
    await put().expect(202);

    expect(refused.body).toMatchObject({ code: 'permission_denied', detail: expect.stringContaining('suspended') });
  });

  it('ends tokens, accounts, trust, invitations and memberships, but creates none', async () => {
    const admin = test.api.as(test.acme.admin);
    const tokens = test.acme.path('/dns-tokens/');
    const { body: token } = await admin.post(tokens).send({ name: 'leaked' }).expect(201);
    await suspend(new Date());

    await admin.post(tokens).send({ name: 'new' }).expect(403);
    await admin.delete(`${tokens}${token.id}/`).expect(204);
    await suspend(null);

    const open = clusterRoutes.filter((route: ClusterRoute) => route.endsAccess);
    expect(open.map(({ operationId }) => operationId).sort()).toEqual([
      'deleteMember',
      'deleteServiceAccount',
      'deleteTrustedIssuer',
      'deleteWebhook',
      'removeHostedName',
      'revokeAccountToken',
      'revokeDnsToken',
      'revokeInvitation',
    ]);
  });

  it('gets no member by an invitation that was sent before, until it is resumed', async () => {
    const invitations = test.api.as(test.acme.admin).post(`/a/${test.acme.slug}/team/api/invitations/`);
    const guest = await test.createUser('guest@globex.test');
    const { body: invitation } = await invitations.send({ email: guest.email }).expect(201);
    const accept = () => test.api.as(guest).post(`/invitations/${invitation.id}/accept/`);
    await suspend(new Date());

    const refused = await accept().expect(403);
    await suspend(null);
    await accept().expect(200);

    expect(refused.body).toMatchObject({ code: 'permission_denied', detail: expect.stringContaining('suspended') });
  });
});

describe('database away', () => {
  let test: TestClusterApi;
  let door: DatabaseDoor;
  beforeAll(async () => {
    test = await startClusterApi();
    door = databaseDoor(test.databaseUrl);
  });
  afterAll(() => test.close());
  afterEach(() => door.open());

  function expectUnavailable({ status, body, headers }: Answer): void {
    expect([status, body.code]).toEqual([503, 'service_unavailable']);
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
  }

  describe('while Postgres is unavailable', () => {
    it('requests with a session get 503 with Retry-After, and recover on their own', async () => {
      const member = test.api.as(test.acme.member);
      await door.shut();

      for (const path of ['/api/v1/me/', test.acme.path('/clusters/'), test.acme.path('/connections/')]) {
        expectUnavailable(await member.get(path));
      }
      const put = () => test.acme.asAdmin.put('/connections/main/').send({ spec: { provider: 'hcloud', token: 't' } });
      expectUnavailable(await put());
      expectUnavailable(await test.api.as(test.acme.member).post('/auth/logout/'));
      await waitFor('not to be ready', async () => (await test.api.get('/readyz')).status === 503);
      await door.open();

      await waitFor('the API to answer', async () => (await member.get('/api/v1/me/')).status === 200);
      await put().expect(201);
    });

    it('requests without a session still get 401, and public pages work', async () => {
      await door.shut();

      await test.api.get('/api/v1/me/').expect(401);
      await test.api.get('/healthz').expect(200);
      await test.api.get('/problems/service_unavailable').expect(200);
    });
  });

  it('a Postgres that becomes unavailable during changes leaves each change complete or without effect', async () => {
    const before = await test.db.connection.count();
    const sent = Array.from({ length: 8 }, (_, at) =>
      test.acme.asAdmin.put(`/connections/c${at}/`).send({ spec: { provider: 'hcloud', token: 't' } }),
    );
    const answers = Promise.all(sent);
    await waitFor('a change to be under way', async () => (await test.db.connection.count()) > before);

    await door.shut();
    const statuses = (await answers).map(({ status }) => status);
    await door.open();

    expect(statuses.filter((status) => status !== 201 && status !== 503)).toEqual([]);
    await waitFor('Postgres to be back', () => test.db.connection.count());
    const entries = await test.db.auditEntry.count({ where: { action: 'connection.create' } });
    expect(await test.db.connection.count()).toBe(entries);
    expect(entries).toBeGreaterThanOrEqual(before + statuses.filter((status) => status === 201).length);
  });
});
