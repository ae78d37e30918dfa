import { sessionStore } from '@corral/auth';
import { connectPool, type Pool } from '@corral/database';
import { patientPool } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Replica, startReplica } from '../support/events/start-replica.js';
import type { Browser } from '../support/sign-in/browser.js';
import { type SignInTest, startSignIn } from '../support/sign-in/start-sign-in.js';

const HOUR_MS = 3_600_000;

let site: SignInTest;
/** Another replica of the service with its own connections to the same database. */
let replica: Replica;
let pool: Pool;
let laptop: Browser;
let phone: Browser;
beforeAll(async () => {
  site = await startSignIn();
  pool = connectPool({
    databaseUrl: site.test.databaseUrl,
    applicationName: 'replica',
    ...patientPool,
    onIdleError: () => undefined,
  });
  const sessions = sessionStore(pool, { idleMs: 12 * HOUR_MS, absoluteMs: 168 * HOUR_MS });
  replica = await startReplica(site.test, { deps: { sessions } });
  site.idp.accounts.set('ann', { email: 'ann@acme.test', email_verified: true });
  site.idp.accounts.set('bob', { email: 'bob@acme.test', email_verified: true });
});
afterAll(async () => {
  await replica.close();
  await pool.end();
  await site.close();
});
beforeEach(async () => {
  await site.test.db.session.deleteMany();
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

describe('GET /api/v1/me/sessions/', () => {
  it('lists the user’s own sessions, newest first, and marks the current one', async () => {
    await site.signedIn('bob');

    const { body, status } = await laptop.send(`${site.url}${SESSIONS}`);

    expect([status, body.next]).toEqual([200, null]);
    expect(body.items).toMatchObject([
      { userAgent: 'Phone', method: 'oidc', current: false },
      { userAgent: 'Laptop', method: 'oidc', current: true },
    ]);
  });

  it('continues after its cursor', async () => {
    const first = await laptop.send(`${site.url}${SESSIONS}?limit=1`);
    const second = await laptop.send(`${site.url}${SESSIONS}?limit=1&cursor=${first.body.next}`);

    expect([first, second].map(({ body }) => body.items.map(({ userAgent }: Listed) => userAgent))).toEqual([
      ['Phone'],
      ['Laptop'],
    ]);
    expect(second.body.next).toBeNull();
  });

  it.each(['idle_expires_at', 'expires_at'])('omits sessions past their %s, which no longer work', async (end) => {
    await site.test.pool.query(`UPDATE session SET ${end} = now() WHERE user_agent = 'Phone'`);

    expect((await list(laptop)).map(({ userAgent }) => userAgent)).toEqual(['Laptop']);
    expect(await statuses(phone)).toEqual([401, 401]);
    expect(await statuses(laptop)).toEqual([200, 200]);
  });

  it('shows at most 200 characters of the user agent', async () => {
    const chatty = await site.signedIn('ann', 'x'.repeat(2_000));

    expect((await list(chatty))[0]?.userAgent).toBe('x'.repeat(200));
  });

  it('requires a session', async () => {
    expect((await site.open().send(`${site.url}${SESSIONS}`)).status).toBe(401);
  });
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

  it('is refused for requests of another site', async () => {
    const page = await end(laptop, await idOf(laptop, 'Phone'), { Origin: 'https://evil.test' });

    expect([page.status, page.body.code]).toEqual([403, 'cross_site_request']);
    expect(await statuses(phone)).toEqual([200, 200]);
  });
});

describe('POST /auth/logout/everywhere/', () => {
  it('ends all sessions of the user only, immediately at every replica', async () => {
    const bob = await site.signedIn('bob');

    const page = await laptop.send(`${replica.url}/auth/logout/everywhere/`, { method: 'POST' });

    expect(page.status).toBe(204);
    expect(await laptop.jar.getCookies(site.url)).toEqual([]);
    expect(await statuses(phone)).toEqual([401, 401]);
    expect(await statuses(bob)).toEqual([200, 200]);
    expect(await list(await site.signedIn('ann'))).toHaveLength(1);
  });

  it('is refused without a session and for requests of another site', async () => {
    const everywhere = `${site.url}/auth/logout/everywhere/`;

    expect((await site.open().send(everywhere, { method: 'POST' })).status).toBe(401);
    const page = await laptop.send(everywhere, { method: 'POST', headers: { 'Sec-Fetch-Site': 'cross-site' } });
    expect([page.status, page.body.code]).toEqual([403, 'cross_site_request']);
    expect(await statuses(phone)).toEqual([200, 200]);
  });
});

describe('a sign-in that starts at one replica', () => {
  it('can finish at another', async () => {
    site.idp.person = 'bob';
    const browser = site.open();
    const callback = new URL(await browser.walkTo(`${site.url}/auth/login/`, site.callback));

    const page = await browser.send(`${replica.url}${callback.pathname}${callback.search}`);

    expect([page.status, page.headers.location]).toEqual([303, `${site.url}/api/v1/me/`]);
    expect(await statuses(browser)).toEqual([200, 200]);
  });
});
