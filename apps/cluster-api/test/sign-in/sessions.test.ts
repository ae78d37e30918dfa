import { sessionStore } from '@corral/auth';
import { connectPool, connectPrisma, type Pool } from '@corral/database';
import { patientPool } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Replica, startReplica } from '../support/events/start-replica.js';
import type { Browser } from '../support/sign-in/browser.js';
import { type SignInTest, startSignIn } from '../support/sign-in/start-sign-in.js';
import type { TestClusterApi, TestTeam } from '../support/start-cluster-api.js';

/** The default settings. */
let site: SignInTest;
/** The settings of a developer's machine. */
let devSite: SignInTest;
let test: TestClusterApi;
let dev: TestClusterApi;
beforeAll(async () => {
  site = await startSignIn();
  devSite = await startSignIn({ config: { devSignIn: true, secureCookies: false } });
  [test, dev] = [site.test, devSite.test];
});
afterAll(async () => {
  await site.close();
  await devSite.close();
});

describe('session', () => {
  const ME = '/api/v1/me/';
  const SIGN_IN = '/auth/dev-login/';
  const SIGN_OUT = '/auth/logout/';
  /** The cookie that an answer sets, in the form that a browser sends back. */
  const cookieOf = (answer: { headers: Record<string, string> }) => {
    const [setCookie = ''] = (answer.headers['set-cookie'] ?? []) as unknown as string[];
    return { cookie: setCookie.split(';')[0] as string, attributes: setCookie.split('; ').slice(1) };
  };

  it('has the mails that its person wants: all kinds at first', async () => {
    const path = `${ME}notifications/`;
    const kinds = [
      ...['failed_operations', 'rejected_connections', 'ending_tokens', 'ending_record_sets', 'ending_versions'],
    ];
    const mine = test.api.as(test.acme.member);
    expect((await mine.get(path).expect(200)).body).toEqual({ kinds });
    await mine
      .put(path)
      .send({ kinds: ['ending_tokens'] })
      .expect(200);

    expect((await mine.get(path)).body).toEqual({ kinds: ['ending_tokens'] });
    expect((await test.api.as(test.acme.admin).get(path)).body).toEqual({ kinds });
    await mine
      .put(path)
      .send({ kinds: ['everything'] })
      .expect(422);
  });

  describe('GET /api/v1/me/', () => {
    it('answers the user, the session’s expiry and the teams', async () => {
      const { body } = await test.api.as(test.acme.admin).get(ME).expect(200);

      expect(body).toMatchObject({
        email: 'admin@acme.test',
        displayName: 'admin@acme.test',
        teams: [{ slug: 'acme', name: 'acme', role: 'admin' }],
      });
      expect(Date.parse(body.session.idleExpiresAt)).toBeLessThan(Date.parse(body.session.expiresAt));
    });

    it('answers 401 for two session cookies, because one may be planted', async () => {
      const planted = await test.signIn(test.globex.member);

      await test.api
        .as({ cookie: `${test.acme.member.cookie}; ${planted}` })
        .get(ME)
        .expect(401);
    });
  });

  it('GET /api/v1/teams/ lists the caller’s teams by slug in pages', async () => {
    const user = await test.createUser('many@acme.test');
    for (const slug of ['t-c', 't-a', 't-b']) {
      const team = await test.createTeam(slug);
      await test.db.membership.create({ data: { teamId: team.id, userId: user.id, role: 'member' } });
    }
    const page = (query: string) => test.api.as(user).get(`/api/v1/teams/${query}`).expect(200);

    const first = await page('?limit=2');
    const second = await page(`?limit=2&cursor=${first.body.next}`);

    const slugsOf = ({ body }: { body: { items: { slug: string }[] } }) => body.items.map(({ slug }) => slug);
    expect([slugsOf(first), slugsOf(second), second.body.next]).toEqual([['t-a', 't-b'], ['t-c'], null]);
    expect(slugsOf(await page(''))).toHaveLength(3);
  });

  describe('POST /auth/dev-login/', () => {
    it('is not found unless it is enabled', async () => {
      await test.api.post(SIGN_IN).send({ email: 'admin@acme.test' }).expect(404);
      await test.api.get(SIGN_IN).expect(404);
    });

    it('signs in the user with the address, in any case', async () => {
      const answer = await dev.api.post(SIGN_IN).send({ email: 'Admin@ACME.test' }).expect(200);

      expect(answer.body.email).toBe('admin@acme.test');
      const { cookie, attributes } = cookieOf(answer);
      await dev.api.as({ cookie }).get(ME).expect(200);
      expect(attributes).toEqual(['Path=/', expect.stringMatching(/^Expires=/), 'HttpOnly', 'SameSite=Lax']);
      const expires = Date.parse((attributes[1] as string).slice('Expires='.length));
      expect(Math.abs(expires - Date.parse(answer.body.session.expiresAt))).toBeLessThan(1_000);
    });

    it('does not reuse a planted session cookie', async () => {
      const planted = `sessionid=${'a'.repeat(43)}`;

      const answer = await dev.api
        .as({ cookie: planted })
        .post(SIGN_IN)
        .send({ email: 'member@acme.test' })
        .expect(200);

      expect(cookieOf(answer).cookie).not.toBe(planted);
      await dev.api.as({ cookie: planted }).get(ME).expect(401);
    });

    it('refuses requests from other sites, which could sign visitors in as another user', async () => {
      await dev.api.post(SIGN_IN).set('Origin', 'https://evil.test').send({ email: 'admin@acme.test' }).expect(403);
      await dev.api.post(SIGN_IN).set('Origin', devSite.url).send({ email: 'admin@acme.test' }).expect(200);
    });
  });

  it('POST /auth/logout/ ends the session and clears the cookie', async () => {
    const cookie = await test.signIn(test.acme.member);

    const answer = await test.api.as({ cookie }).post(SIGN_OUT).expect(204);

    await test.api.as({ cookie }).get(ME).expect(401);
    const { cookie: cleared, attributes } = cookieOf(answer);
    expect(cleared).toBe('sessionid=');
    expect(attributes).toEqual(
      expect.arrayContaining(['Path=/', 'HttpOnly', 'Secure', 'SameSite=Lax', 'Expires=Thu, 01 Jan 1970 00:00:00 GMT']),
    );
  });
});

describe('own sessions', () => {
  const HOUR_MS = 3_600_000;

  /** Another replica of the service with its own connections to the same database. */
  let replica: Replica;
  let pool: Pool;
  let laptop: Browser;
  let phone: Browser;
  beforeAll(async () => {
    pool = connectPool({
      databaseUrl: site.test.databaseUrl,
      applicationName: 'replica',
      ...patientPool,
      onIdleError: () => undefined,
    });
    const sessions = sessionStore(pool, connectPrisma(pool), { idleMs: 12 * HOUR_MS, absoluteMs: 168 * HOUR_MS });
    replica = await startReplica(site.test, { deps: { sessions } });
    site.idp.accounts.set('ann', { email: 'ann@acme.test', email_verified: true });
    site.idp.accounts.set('bob', { email: 'bob@acme.test', email_verified: true });
  });
  afterAll(async () => {
    await replica.close();
    await pool.end();
  });
  beforeEach(async () => {
    await site.test.db.session.deleteMany({ where: { user: { email: { in: ['ann@acme.test', 'bob@acme.test'] } } } });
    laptop = await site.signedIn('ann', 'Laptop');
    phone = await site.signedIn('ann', 'Phone');
  });

  const SESSIONS = '/api/v1/me/sessions/';
  interface Listed {
    readonly id: string;
    readonly userAgent: string;
    readonly current: boolean;
  }
  const list = async (browser: Browser, query = ''): Promise<Listed[]> =>
    (await browser.send(`${site.url}${SESSIONS}${query}`)).body.items;
  const idOf = async (browser: Browser, userAgent: string): Promise<string> =>
    (await list(browser)).find((session) => session.userAgent === userAgent)?.id as string;
  /** The statuses of `GET /api/v1/me/` at both replicas. Cookies are shared between ports. */
  const statuses = (browser: Browser): Promise<number[]> =>
    Promise.all([site.url, replica.url].map(async (url) => (await browser.send(`${url}/api/v1/me/`)).status));

  it('GET /api/v1/me/sessions/ lists the user’s own sessions, newest first, and marks the current one', async () => {
    await site.signedIn('bob');

    const { body, status } = await laptop.send(`${site.url}${SESSIONS}`);

    expect([status, body.next]).toEqual([200, null]);
    expect(body.items).toMatchObject([
      { userAgent: 'Phone', method: 'oidc', current: false },
      { userAgent: 'Laptop', method: 'oidc', current: true },
    ]);
  });

  describe('DELETE /api/v1/me/sessions/{id}/', () => {
    const end = (browser: Browser, id: string, headers: Record<string, string> = {}) =>
      browser.send(`${site.url}${SESSIONS}${id}/`, { method: 'DELETE', headers });

    it('ends only that session, immediately at every replica', async () => {
      const id = await idOf(laptop, 'Phone');
      expect(await statuses(phone)).toEqual([200, 200]);

      expect((await end(laptop, id)).status).toBe(204);

      expect(await statuses(phone)).toEqual([401, 401]);
      expect(await statuses(laptop)).toEqual([200, 200]);
      expect((await end(laptop, id)).status).toBe(404);
    });

    it('can end the current session and clears its cookie', async () => {
      const page = await end(laptop, await idOf(laptop, 'Laptop'));

      expect([page.status, page.setCookies[0]]).toEqual([204, expect.stringMatching(/^sessionid=;/)]);
      expect(await laptop.jar.getCookies(site.url)).toEqual([]);
    });

    it('does not find sessions of others or invalid ids', async () => {
      const bob = await site.signedIn('bob', 'Bob');
      const foreign = await idOf(bob, 'Bob');

      for (const id of [foreign, '00000000-0000-4000-8000-000000000000', 'x', '%00', `${foreign}%27--`]) {
        expect((await end(laptop, id)).body.code).toBe('not_found');
      }
      expect(await statuses(bob)).toEqual([200, 200]);
    });
  });

  it('POST /auth/logout/everywhere/ ends all sessions of the user only, immediately at every replica', async () => {
    const bob = await site.signedIn('bob');

    const page = await laptop.send(`${replica.url}/auth/logout/everywhere/`, { method: 'POST' });

    expect(page.status).toBe(204);
    expect(await laptop.jar.getCookies(site.url)).toEqual([]);
    expect(await statuses(phone)).toEqual([401, 401]);
    expect(await statuses(bob)).toEqual([200, 200]);
    expect(await list(await site.signedIn('ann'))).toHaveLength(1);
  });

  it('a sign-in that starts at one replica can finish at another', async () => {
    site.idp.person = 'bob';
    const browser = site.open();
    const callback = new URL(await browser.walkTo(`${site.url}/auth/login/`, site.callback));

    const page = await browser.send(`${replica.url}${callback.pathname}${callback.search}`);

    expect([page.status, page.headers.location]).toEqual([303, `${site.url}/api/v1/me/`]);
    expect(await statuses(browser)).toEqual([200, 200]);
  });
});

describe('invited', () => {
  let team: TestTeam;
  let email: string;
  beforeEach(async () => {
    team = await dev.createTeam();
    email = `ada@${team.slug}.test`;
  });

  const path = ({ slug }: TestTeam, rest = '') => `/a/${slug}/team/api/invitations/${rest}`;
  const invite = async (by = team): Promise<string> =>
    (await dev.api.as(by.admin).post(path(by)).send({ email }).expect(201)).body.id;
  const revoke = (id: string) => dev.api.as(team.admin).delete(path(team, `${id}/`));
  const expire = (id: string) => dev.db.invitation.update({ where: { id }, data: { expiresAt: new Date() } });
  const signIn = (address = email) => dev.api.post('/auth/dev-login/').send({ email: address });
  const usersOf = (address = email) => dev.db.user.findMany({ where: { email: address } });
  const audits = async (of = team) =>
    (await dev.db.auditEntry.findMany({ where: { teamId: of.id }, orderBy: { id: 'asc' } })).map(
      ({ action, targetKind, targetId, userId, requestId }) => ({ action, targetKind, targetId, userId, requestId }),
    );
  const cookieOf = ({ headers }: { headers: Record<string, unknown> }) => {
    const [setCookie = ''] = (headers['set-cookie'] ?? []) as string[];
    return { cookie: setCookie.split(';')[0] as string };
  };

  describe('an invited person without a user', () => {
    it('signs in with the address alone, accepts and becomes a member', async () => {
      const id = await invite();

      const answer = await signIn(email.toUpperCase()).expect(200);

      expect(answer.body).toMatchObject({ email, teams: [] });
      const ada = dev.api.as(cookieOf(answer));
      await ada.get(team.path('/clusters/')).expect(404);
      await ada.post(`/invitations/${id}/accept/`).expect(200);
      await ada.get(team.path('/clusters/')).expect(200);
    });

    it('is in the audit log of the inviting team, with the request', async () => {
      const id = await invite();

      const { headers } = await signIn().expect(200);
      await signIn().expect(200);

      const [user] = await usersOf();
      expect((await audits()).slice(1)).toEqual([
        {
          action: 'invitation.create_user',
          targetKind: 'Invitation',
          targetId: id,
          userId: user?.id,
          requestId: headers['x-correlation-id'],
        },
      ]);
    });

    it('becomes one user with concurrent sign-ins and several invitations', async () => {
      const other = await dev.createTeam();
      await invite();
      await invite(other);

      const answers = await Promise.all([signIn(), signIn(), signIn(), signIn()]);

      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect(await usersOf()).toHaveLength(1);
      const entries = [...(await audits()), ...(await audits(other))];
      expect(entries.filter(({ action }) => action === 'invitation.create_user')).toHaveLength(1);
    });
  });

  describe('a person is not admitted', () => {
    it.each<[string, (id: string) => Promise<unknown>]>([
      ['is revoked', (id) => revoke(id).expect(204)],
      ['has expired', expire],
      ['was accepted', (id) => dev.db.invitation.update({ where: { id }, data: { acceptedAt: new Date() } })],
    ])('by an invitation that %s', async (_what, end) => {
      await end(await invite());

      await signIn().expect(403);

      expect(await usersOf()).toEqual([]);
    });

    it('by an invitation to another address, and learns what to do', async () => {
      await invite();

      const { body, headers } = await signIn(`eve@${team.slug}.test`).expect(403);

      expect(body).toMatchObject({
        code: 'permission_denied',
        detail: expect.stringMatching(/invited.*admin -- user/),
      });
      expect(headers['set-cookie']).toBeUndefined();
      expect(await usersOf(`eve@${team.slug}.test`)).toEqual([]);
    });
  });

  it('with an identity provider an invitation does not replace a verified address', async () => {
    await invite();
    devSite.idp.accounts.set(email, { email, email_verified: false });
    devSite.idp.person = email;

    const page = await devSite.open().visit(`${devSite.url}/auth/login/`);

    expect([page.status, page.body.code]).toEqual([403, 'email_not_verified']);
    expect(await usersOf()).toEqual([]);
  });
});
