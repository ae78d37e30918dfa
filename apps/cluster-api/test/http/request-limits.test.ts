import { memoryBuckets } from '@corral/rate-limit';
import { afterEach, describe, expect, it } from '@jest/globals';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

const ME = '/api/v1/me/';
const many = {
  perAddressPerMinute: 100_000,
  perPersonPerMinute: 100_000,
  signInRequestsPerAddressPerMinute: 100_000,
};

let test: TestClusterApi;
afterEach(() => test.close());

/** Starts the API with buckets on a simulated clock, which real time does not refill. */
async function start(limits: Partial<typeof many>): Promise<{ now: number }> {
  const clock = { now: 1_000_000 };
  const buckets = memoryBuckets(() => clock.now);
  test = await startClusterApi({ config: { limits: { ...many, ...limits } }, deps: { buckets } });
  return clock;
}

describe('a request above a limit', () => {
  it('is answered 429 with the time to wait and succeeds after that', async () => {
    const clock = await start({ perPersonPerMinute: 2 });
    const get = () => test.api.as(test.acme.member).get(ME);
    await get().expect(200);
    await get().expect(200);

    const refused = await get().expect(429);

    expect(refused.body.code).toBe('rate_limit_exceeded');
    expect(refused.headers).toMatchObject({ 'retry-after': '30', 'ratelimit-limit': '2', 'ratelimit-remaining': '0' });
    clock.now += 30_000;
    await get().expect(200);
  });

  it('changes nothing', async () => {
    await start({ perPersonPerMinute: 1 });
    const admin = test.api.as(test.acme.admin);
    await admin.get(ME).expect(200);

    await admin
      .put(test.acme.path('/connections/main/'))
      .send({ spec: { provider: 'hcloud', token: 't' } })
      .expect(429);

    expect(await test.db.connection.count()).toBe(0);
  });
});

describe('the limits count', () => {
  it('requests without a valid session per address, before the session is looked up', async () => {
    await start({ perAddressPerMinute: 3 });
    for (const cookie of ['', 'sessionid=x', '']) {
      expect((await test.api.as({ cookie }).get(ME)).status).toBeLessThan(429);
    }

    for (const cookie of ['', 'sessionid=x', test.acme.member.cookie]) {
      const { body } = await test.api.as({ cookie }).get(ME).expect(429);
      expect(body.detail).toContain('this address');
    }
  });

  it('no requests with a session per address, whatever their outcome', async () => {
    await start({ perAddressPerMinute: 1 });
    const member = test.api.as(test.acme.member);
    for (let time = 0; time < 3; time += 1) {
      const { headers } = await member.get(ME).expect(200);
      expect(headers['ratelimit-limit']).toBe(String(many.perPersonPerMinute));
      await member.get('/nowhere/').expect(404);
      // Any web page can make its visitors send this request. It must not use up the limit of the address.
      await member.post('/auth/logout/').set('Origin', 'https://elsewhere.example').expect(403);
    }

    await test.api.get('/nowhere/').expect(404);
    await test.api.get('/nowhere/').expect(429);
  });

  it('no requests of a session or token that was found good, even if others have used up its address', async () => {
    await start({ perAddressPerMinute: 2 });
    const path = test.acme.path('/clusters/');
    const member = test.api.as(test.acme.member);
    const account = test.api.withToken(await test.createAccount(test.acme, 'ci', { role: 'viewer' }));
    for (const caller of [member, account]) await caller.get(path).expect(200);
    for (let time = 0; time < 2; time += 1) await test.api.withToken('wrong').get(path).expect(401);
    await test.api.withToken('wrong').get(path).expect(429);

    for (const caller of [member, account]) {
      await caller.get(path).expect(200);
      await caller.get('/openapi.json').expect(200);
    }
    // Not yet known here.
    await test.api.as(test.globex.member).get(path).expect(429);
  });

  it('a session that was found good, and has ended since, as any other cookie', async () => {
    await start({ perAddressPerMinute: 2 });
    const cookie = await test.signIn(test.acme.member);
    await test.api.as({ cookie }).get(ME).expect(200);
    await test.db.session.deleteMany();

    for (const status of [401, 401, 429]) await test.api.as({ cookie }).get(ME).expect(status);
  });

  it('a cookie beside a token of a good session as strangers', async () => {
    await start({ perAddressPerMinute: 1 });
    const member = test.api.as(test.acme.member);
    await member.get(ME).expect(200);

    for (const status of [401, 429]) await member.get(ME).set('Authorization', 'Bearer other').expect(status);
    await member.get(ME).expect(200);
  });

  it('requests per person, over all their sessions', async () => {
    await start({ perPersonPerMinute: 2 });
    const other = await test.signIn(test.acme.member);
    await test.api.as(test.acme.member).get(ME).expect(200);
    await test.api.as({ cookie: other }).get(ME).expect(200);

    for (const cookie of [test.acme.member.cookie, other]) {
      expect((await test.api.as({ cookie }).get(ME).expect(429)).body.detail).toContain('this person');
    }
    await test.api.as(test.acme.admin).get(ME).expect(200);
  });

  it('requests to unknown paths', async () => {
    await start({ perAddressPerMinute: 1 });
    await test.api.get('/nowhere/').expect(404);

    await test.api.get('/nowhere/').expect(429);
  });

  it('sign-ins separately, before the identity provider is called', async () => {
    await start({ signInRequestsPerAddressPerMinute: 2 });
    await test.api.get('/auth/login/').expect(404);
    await test.api.get('/auth/callback/?code=guess&state=guess').expect(404);

    for (const path of ['/auth/login/', '/auth/callback/?code=another']) {
      expect((await test.api.get(path).expect(429)).body.detail).toContain('sign-ins');
    }
    await test.api.as(test.acme.member).get(ME).expect(200);
  });

  it('sign-ins of a signed-in person for that person, not for the address', async () => {
    await start({ signInRequestsPerAddressPerMinute: 1 });
    const member = test.api.as(test.acme.member);
    await member.get('/auth/callback/?code=guess').expect(404);
    await member.get('/auth/callback/?code=guess').expect(429);

    await test.api.get('/auth/callback/?code=guess').expect(404);
  });

  it('public pages but not health checks', async () => {
    for (const path of ['/openapi.json', '/docs/', '/problems/', '/problems/not_found']) {
      await start({ perAddressPerMinute: 1 });
      await test.api.get(path).expect(200);

      await test.api.get(path).expect(429);
      await test.api.get('/healthz').expect(200);
    }
  });
});
