import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Page } from '../support/sign-in/browser.js';
import { type SignInTest, startSignIn } from '../support/sign-in/start-sign-in.js';
import { startClusterApi } from '../support/start-cluster-api.js';

let site: SignInTest;
beforeAll(async () => {
  site = await startSignIn();
});
afterAll(() => site.close());
beforeEach(() => {
  site.idp.clockOffsetMs = 0;
  site.idp.accounts.set('ann', verified('Ann@Acme.test', annsNames));
});

const annsNames = { name: 'Ann King', given_name: 'Ann', family_name: 'King' };
const verified = (email: string, more: object = {}) => ({ email, email_verified: true, ...more });
const login = (returnTo?: string) =>
  `${site.url}/auth/login/${returnTo === undefined ? '' : `?return_to=${encodeURIComponent(returnTo)}`}`;
const usersOf = (email: string) => site.test.db.user.findMany({ where: { email }, include: { identities: true } });
const codeOf = ({ status, body }: Page) => [status, body.code];

describe('a sign-in', () => {
  it('creates a new user without a team and shows who is signed in', async () => {
    const { issuer } = site.idp;
    site.idp.person = 'ann';

    const page = await site.open().visit(login());

    expect([page.url, page.status]).toEqual([`${site.url}/api/v1/me/`, 200]);
    expect(page.body).toMatchObject({ email: 'ann@acme.test', displayName: 'Ann King', teams: [] });
    expect(await usersOf('ann@acme.test')).toMatchObject([
      { firstName: 'Ann', lastName: 'King', identities: [{ issuer, subject: 'ann' }] },
    ]);
  });

  it('redirects to return_to with its query', async () => {
    site.idp.accounts.set('bob', verified('bob@acme.test'));
    site.idp.person = 'bob';

    const page = await site.open().visit(login('/api/v1/teams/?limit=7'));

    expect([page.url, page.status]).toEqual([`${site.url}/api/v1/teams/?limit=7`, 200]);
  });

  it('matches an existing user by address, with their teams', async () => {
    site.idp.accounts.set('acme-admin', verified('ADMIN@acme.test'));
    const browser = await site.signedIn('acme-admin');

    const { body } = await browser.send(`${site.url}/api/v1/me/`);

    expect(body.teams).toMatchObject([{ slug: 'acme', role: 'admin' }]);
    expect(await usersOf('admin@acme.test')).toMatchObject([{ id: site.test.acme.admin.id }]);
  });

  it('matches a known identity and updates address and name', async () => {
    site.idp.accounts.set('eve', verified('eve.miller@acme.test', { name: 'Eve Miller' }));
    await site.signedIn('eve');
    const [before] = await usersOf('eve.miller@acme.test');

    site.idp.accounts.set('eve', verified('eve.smith@acme.test', { name: 'Eve Smith' }));
    await site.signedIn('eve');

    expect(await usersOf('eve.miller@acme.test')).toEqual([]);
    expect(await usersOf('eve.smith@acme.test')).toMatchObject([{ id: before?.id, displayName: 'Eve Smith' }]);
  });

  it.each([
    ['belongs to another user', verified('member@globex.test')],
    ['is not verified', { email: 'fay.new@acme.test', email_verified: false }],
  ])('keeps the address of a known user when the new one %s', async (_why, account) => {
    site.idp.accounts.set('fay', verified('fay@acme.test'));
    await site.signedIn('fay');
    const [before] = await usersOf('fay@acme.test');

    site.idp.accounts.set('fay', account);
    const browser = await site.signedIn('fay');

    expect((await browser.send(`${site.url}/api/v1/me/`)).body).toMatchObject({ email: 'fay@acme.test', teams: [] });
    expect(await usersOf('fay@acme.test')).toMatchObject([{ id: before?.id }]);
  });

  it.each([
    ['unverified', { email: 'member@acme.test', email_verified: false }],
    ['without email_verified', { email: 'member@acme.test' }],
    ['verified by a string', { email: 'member@acme.test', email_verified: 'true' }],
    ['missing', { email_verified: true }],
    ['invalid', { email: 'member', email_verified: true }],
  ])('is refused for a new person whose address is %s', async (_how, account) => {
    site.idp.accounts.set('mallory', account);
    site.idp.person = 'mallory';
    const browser = site.open();

    const page = await browser.visit(login());

    expect(codeOf(page)).toEqual([403, 'email_not_verified']);
    expect(page.setCookies.some((cookie) => cookie.startsWith('sessionid='))).toBe(false);
    expect(await site.test.db.userIdentity.count({ where: { subject: 'mallory' } })).toBe(0);
  });

  it('is refused for a second identity with the address of a user who has one', async () => {
    site.idp.accounts.set('hal', verified('hal@acme.test'));
    site.idp.accounts.set('hal-again', verified('HAL@acme.test'));
    await site.signedIn('hal');
    site.idp.person = 'hal-again';
    const browser = site.open();

    const page = await browser.visit(login());

    expect(codeOf(page)).toEqual([403, 'another_identity']);
    expect(page.setCookies.some((cookie) => cookie.startsWith('sessionid='))).toBe(false);
    expect(await site.test.db.userIdentity.count({ where: { user: { email: 'hal@acme.test' } } })).toBe(1);
  });

  it('replaces the previous session of the browser', async () => {
    site.idp.accounts.set('gil', verified('gil@acme.test'));
    const browser = await site.signedIn('gil');
    const before = await browser.jar.getCookieString(site.url);

    await browser.visit(login());

    const me = (cookie: string) => site.open().send(`${site.url}/api/v1/me/`, { headers: { Cookie: cookie } });
    expect((await me(before)).status).toBe(401);
    expect((await me(await browser.jar.getCookieString(site.url))).status).toBe(200);
  });

  it('sets cookies that are HttpOnly, SameSite and bound to the host', async () => {
    site.idp.person = 'ann';
    const browser = site.open();

    const started = await browser.send(login());
    const finished = await browser.send(await browser.walkTo(started.headers.location as string, site.callback));

    const attributes = (cookie = '') =>
      cookie
        .split('; ')
        .slice(1)
        .filter((part) => !part.startsWith('Expires='));
    const [attempt] = started.setCookies;
    expect(attempt).toMatch(/^__Host-signin-[\w-]{16}=/);
    expect(attributes(attempt)).toEqual(['Max-Age=600', 'Path=/', 'HttpOnly', 'Secure', 'SameSite=Lax']);
    const session = finished.setCookies.find((cookie) => cookie.startsWith('sessionid='));
    expect(attributes(session)).toEqual(['Path=/', 'HttpOnly', 'Secure', 'SameSite=Lax']);
    expect(finished.headers['referrer-policy']).toBe('no-referrer');
    expect((await browser.jar.getCookies(site.url)).map(({ key }) => key)).toEqual(['sessionid']);
  });

  it('requests a code with a fresh challenge, state and nonce each time', async () => {
    const [one, other] = [await site.open().send(login()), await site.open().send(login())];

    const asked = [one, other].map(({ headers }) => new URL(headers.location as string).searchParams);
    expect(Object.fromEntries(asked[0] as URLSearchParams)).toMatchObject({
      response_type: 'code',
      client_id: 'corral',
      scope: 'openid email profile',
      code_challenge_method: 'S256',
      redirect_uri: site.callback,
    });
    for (const name of ['state', 'nonce', 'code_challenge']) {
      const values = asked.map((query) => query.get(name) as string);
      for (const value of values) expect(value).toMatch(/^[\w-]{43}$/);
      expect(new Set(values).size).toBe(2);
    }
  });

  it('works in several tabs of one browser', async () => {
    site.idp.person = 'ann';
    const browser = site.open();
    const tabs = [login('/api/v1/me/'), login('/api/v1/teams/')];

    const callbacks: string[] = [];
    for (const tab of tabs) callbacks.push(await browser.walkTo(tab, site.callback));
    const pages: Page[] = [];
    for (const callback of callbacks.reverse()) pages.push(await browser.visit(callback));

    expect(pages.map(({ url, status }) => [url, status])).toEqual([
      [`${site.url}/api/v1/teams/`, 200],
      [`${site.url}/api/v1/me/`, 200],
    ]);
  });

  it('deletes the oldest attempts of a browser above the limit, so cookies fit into a request', async () => {
    const browser = site.open();

    for (let time = 0; time < 12; time += 1) await browser.send(login(`/${'a'.repeat(490)}/`));

    expect(await browser.jar.getCookies(site.url)).toHaveLength(8);
    expect((await browser.send(`${site.url}/auth/callback/`)).status).toBe(400);
  });

  it('creates one user for concurrent first sign-ins', async () => {
    site.idp.accounts.set('hal', verified('hal@acme.test'));
    site.idp.person = 'hal';
    const browsers = [site.open(), site.open(), site.open()];
    const callbacks: string[] = [];
    for (const browser of browsers) callbacks.push(await browser.walkTo(login(), site.callback));

    const pages = await Promise.all(browsers.map((browser, at) => browser.visit(callbacks[at] as string)));

    expect(pages.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await usersOf('hal@acme.test')).toMatchObject([{ identities: [{ subject: 'hal' }] }]);
  });

  it('cleans up a name that cannot be stored', async () => {
    site.idp.accounts.set('odd', verified('odd@acme.test', { name: `A\0B\u0007${'x'.repeat(300)}` }));

    await site.signedIn('odd');

    const [user] = await usersOf('odd@acme.test');
    expect(user?.displayName).toMatch(/^A B x+$/);
    expect(user?.displayName).toHaveLength(200);
  });
});

describe('a provider’s clock', () => {
  it.each([
    ['a little behind is tolerated', -90_000, 200],
    ['far behind is reported', -300_000, 403],
    ['a little ahead is tolerated', 30_000, 200],
    ['far ahead is reported', 120_000, 403],
  ])('that is %s', async (_how, offsetMs, status) => {
    site.idp.person = 'ann';
    site.idp.clockOffsetMs = offsetMs;

    const page = await site.open().visit(login());

    expect(page.status).toBe(status);
    if (status !== 200)
      expect(page.body).toMatchObject({ code: 'sign_in_refused', detail: expect.stringMatching(/clock/) });
  });
});

describe('on a developer’s machine', () => {
  it('both sign-in methods work, with cookies that work without HTTPS', async () => {
    const dev = await startSignIn({ config: { devSignIn: true, secureCookies: false } });
    dev.idp.accounts.set('acme-admin', verified('admin@acme.test'));
    dev.idp.person = 'acme-admin';
    const browser = dev.open();

    const started = await browser.send(`${dev.url}/auth/login/`);
    const me = await browser.visit(started.headers.location as string);
    const withoutProof = await fetch(`${dev.url}/auth/dev-login/`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'User-Agent': 'curl' },
      body: JSON.stringify({ email: 'admin@acme.test' }),
    });

    expect([me.status, me.body.email, withoutProof.status]).toEqual([200, 'admin@acme.test', 200]);
    for (const cookie of [...started.setCookies, ...withoutProof.headers.getSetCookie()]) {
      expect(cookie).toMatch(/^(signin-|sessionid=).*HttpOnly; SameSite=Lax$/);
    }
    const { body } = await browser.send(`${dev.url}/api/v1/me/sessions/?limit=2`);
    expect(body.items.map(({ method, userAgent }: Record<string, string>) => [method, userAgent])).toEqual([
      ['development', 'curl'],
      ['oidc', 'Browser of the tests'],
    ]);
    await dev.close();
  });
});

describe('without an identity provider', () => {
  it('its routes are not found, and everything else works', async () => {
    const test = await startClusterApi();

    for (const path of ['/auth/login/', '/auth/callback/?code=a&state=b']) {
      const { body } = await test.api.get(path).expect(404);
      expect(body).toMatchObject({ code: 'not_found', detail: expect.stringMatching(/not configured here\.$/) });
    }
    await test.api.as(test.acme.admin).get('/api/v1/me/').expect(200);
    await test.close();
  });

  it('the error names the development sign-in when that is enabled', async () => {
    const test = await startClusterApi({ config: { devSignIn: true } });

    const { body } = await test.api.get('/auth/login/').expect(404);

    expect(body.detail).toContain('POST /auth/dev-login/');
    await test.close();
  });
});
