import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { oidcClient } from '../../src/people/oidc-client.js';
import { recordedLog } from '../support/recorded-log.js';
import type { Page } from '../support/sign-in/browser.js';
import { type SignInTest, startSignIn } from '../support/sign-in/start-sign-in.js';
import { startClusterApi } from '../support/start-cluster-api.js';

describe('sign in', () => {
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
});

describe('refusals', () => {
  let site: SignInTest;
  const written = recordedLog();
  beforeAll(async () => {
    site = await startSignIn({ log: written.log });
    site.idp.accounts.set('ann', { email: 'ann@acme.test', email_verified: true, name: 'Ann' });
    site.idp.person = 'ann';
  });
  afterAll(() => site.close());
  afterEach(() => {
    site.idp.forge = null;
    site.clock.aheadMs = 0;
    site.idp.person = 'ann';
  });

  const login = () => `${site.url}/auth/login/`;
  const sessions = () => site.test.db.session.count({ where: { method: 'oidc' } });

  /** Asserts a refusal that starts no session. */
  async function expectRefusal(page: Page, status: number, code: string, before: number): Promise<void> {
    expect([page.status, page.body.code]).toEqual([status, code]);
    expect(page.setCookies.filter((cookie) => cookie.startsWith('sessionid='))).toEqual([]);
    expect(await sessions()).toBe(before);
  }

  describe('the callback of the provider', () => {
    it('is refused in another browser, even with the code and state of the first', async () => {
      const callback = await site.open().walkTo(login(), site.callback);
      const before = await sessions();

      await expectRefusal(await site.open().send(callback), 400, 'sign_in_expired', before);
    });

    it('is refused with the code of another attempt', async () => {
      const [mine, theirs] = [site.open(), site.open()];
      const own = new URL(await mine.walkTo(login(), site.callback));
      const stolen = new URL(await theirs.walkTo(login(), site.callback));
      own.searchParams.set('code', stolen.searchParams.get('code') as string);
      const before = await sessions();

      await expectRefusal(await mine.send(own.href), 403, 'sign_in_refused', before);
    });

    it('is refused when attempts are stored under each other’s names', async () => {
      const browser = site.open();
      const first = new URL(await browser.walkTo(login(), site.callback));
      const second = new URL(await browser.walkTo(login(), site.callback));
      const [one, two] = (await browser.jar.getCookies(site.url)).map(({ key, value }) => ({ key, value }));
      const swapped = `${one?.key}=${two?.value}; ${two?.key}=${one?.value}`;
      const before = await sessions();

      for (const callback of [first, second]) {
        const page = await site.open().send(callback.href, { headers: { Cookie: swapped } });
        await expectRefusal(page, 400, 'sign_in_expired', before);
      }
    });

    it('is accepted once: the browser deletes the attempt, and the provider accepts a code once', async () => {
      const browser = site.open();
      const callback = await browser.walkTo(login(), site.callback);
      const cookies = await browser.jar.getCookieString(site.url);
      expect((await browser.visit(callback)).status).toBe(200);
      const before = await sessions();

      await expectRefusal(await browser.send(callback), 400, 'sign_in_expired', before);
      const kept = await site.open().send(callback, { headers: { Cookie: cookies } });
      await expectRefusal(kept, 403, 'sign_in_refused', before);
    });

    it('is refused after ten minutes', async () => {
      const browser = site.open();
      const [early, late] = [
        await browser.walkTo(login(), site.callback),
        await browser.walkTo(login(), site.callback),
      ];

      site.clock.aheadMs = 600_000 - 60_000;
      expect((await browser.visit(early)).status).toBe(200);
      const before = await sessions();
      site.clock.aheadMs = 600_000;
      await expectRefusal(await browser.send(late), 400, 'sign_in_expired', before);
    });

    it('explains a cancelled sign-in', async () => {
      site.idp.person = null;
      const before = await sessions();

      const page = await site.open().visit(login());

      await expectRefusal(page, 403, 'sign_in_cancelled', before);
      expect(page.body.detail).toContain('/auth/login/');
    });

    it.each([
      ['a fault of the provider', 'error=server_error', 502, 'upstream_unavailable'],
      ['a refusal', 'error=login_required', 403, 'sign_in_refused'],
      ['an error code that is not a word', 'error=%3Cscript%3Ealert(1)%3C/script%3E', 403, 'sign_in_refused'],
      ['no parameters', '', 403, 'sign_in_refused'],
      ['two codes', 'code=a&code=b', 403, 'sign_in_refused'],
      ['a made-up code', 'code=guess', 403, 'sign_in_refused'],
      ['a response of another provider', 'code=guess&iss=https://evil.test', 403, 'sign_in_refused'],
      ['a NUL', 'code=%00', 403, 'sign_in_refused'],
    ])('answers a problem for %s', async (_what, query, status, code) => {
      const browser = site.open();
      const { iss, state } = Object.fromEntries(new URL(await browser.walkTo(login(), site.callback)).searchParams);
      const before = await sessions();
      const issuer = query.includes('iss=') ? '' : `&iss=${iss}`;

      const page = await browser.send(`${site.callback}?${query}&state=${state}${issuer}`);

      await expectRefusal(page, status, code, before);
      expect(page.body.detail).not.toContain('<');
    });

    it('does not call the provider without an attempt', async () => {
      const browser = site.open();
      const before = site.idp.asked.length;

      for (const query of ['', '?code=a', '?code=a&state=b', '?state=', '?state=a&state=b', '?error=access_denied']) {
        expect((await browser.send(`${site.callback}${query}`)).body.code).toBe('sign_in_expired');
      }

      expect(site.idp.asked).toHaveLength(before);
    });
  });

  describe('a forged ID token', () => {
    it.each<[string, (claims: object) => object]>([
      ['for another person', (claims) => ({ ...claims, sub: 'admin' })],
      ['for another address', (claims) => ({ ...claims, email: 'admin@acme.test', email_verified: true })],
      ['for another attempt', (claims) => ({ ...claims, nonce: 'of-another-attempt' })],
      ['for another service', (claims) => ({ ...claims, aud: 'another-service' })],
      ['for another issuer', (claims) => ({ ...claims, iss: 'https://evil.test' })],
    ])('%s is refused', async (_what, forge) => {
      site.idp.forge = forge;
      const before = await sessions();

      await expectRefusal(await site.open().visit(login()), 403, 'sign_in_refused', before);
    });
  });

  describe('return_to', () => {
    it.each(['//evil.test/', '/\\evil.test'])('%j is refused before any redirect', async (path) => {
      const page = await site.open().send(`${login()}?return_to=${encodeURIComponent(path)}`);

      expect([page.status, page.body.errors]).toMatchObject([422, [{ pointer: '/query/return_to' }]]);
      expect([page.headers.location, page.setCookies]).toEqual([undefined, []]);
    });
  });

  describe('a provider', () => {
    it('that becomes unavailable prevents sign-ins, keeps sessions, and is called again later', async () => {
      const signedIn = await site.signedIn('ann');
      const waiting = site.open();
      const callback = await waiting.walkTo(login(), site.callback);
      await site.idp.leave();

      const finish = await waiting.send(callback);
      const me = await signedIn.send(`${site.url}/api/v1/me/`);

      expect([finish.status, finish.body.code, finish.headers['retry-after']]).toEqual([
        502,
        'upstream_unavailable',
        '10',
      ]);
      expect(me.status).toBe(200);
      await site.idp.comeBack();
      expect((await site.open().visit(login())).status).toBe(200);
    });

    it('that was unavailable from the start is used once it is available', async () => {
      const late = await startSignIn();
      late.idp.accounts.set('ann', { email: 'ann@acme.test', email_verified: true });
      late.idp.person = 'ann';
      await late.idp.leave();

      const away = await late.open().send(`${late.url}/auth/login/`);
      expect([away.status, away.body.code, away.setCookies]).toEqual([502, 'upstream_unavailable', []]);
      await late.idp.comeBack();
      expect((await late.open().visit(`${late.url}/auth/login/`)).status).toBe(200);

      await late.close();
    });

    it.each([
      ['rejects the client secret', { clientSecret: 'another-secret' }, 502, 'upstream_unavailable'],
      ['knows the service as a public client', { clientId: 'public', clientSecret: undefined }, 200, undefined],
    ])('that %s is handled', async (_what, settings, status, code) => {
      const { issuer, clientId } = site.idp;
      const oidc = oidcClient({ issuer, clientId, scopes: 'openid email profile', ...settings });
      const other = await startSignIn({ deps: { oidc } });
      site.idp.redirectTo(other.callback);

      const page = await other.open().visit(`${other.url}/auth/login/`);

      expect([page.status, page.body.code]).toEqual([status, code]);
      await other.close();
    });
  });

  describe('the log', () => {
    it('explains refused sign-ins without secrets, codes, states or tokens', async () => {
      const browser = site.open();
      const callback = new URL(await browser.walkTo(login(), site.callback));
      const cookies = await browser.jar.getCookieString(site.url);
      await browser.visit(callback.href);
      await site.open().send(callback.href, { headers: { Cookie: cookies } });

      const text = await written.text();

      expect(text).toContain('invalid_grant');
      const { searchParams } = callback;
      const session = (await browser.jar.getCookies(site.url)).find(({ key }) => key === 'sessionid')?.value;
      const attempt = cookies.slice(cookies.indexOf('=') + 1);
      for (const secret of [
        searchParams.get('code'),
        searchParams.get('state'),
        site.idp.clientSecret,
        session,
        attempt,
      ]) {
        expect(secret).toBeTruthy();
        expect(text).not.toContain(secret as string);
      }
      expect(text).not.toContain('ann@acme.test');
      expect(text).not.toMatch(/eyJ[\w-]+\./);
    });

    it.each<[string, number, (code: string) => string, number, string]>([
      [
        'repeats the code and the address',
        400,
        (code) =>
          JSON.stringify({ error: 'invalid_grant', error_description: `code ${code} of ann@acme.test was not found` }),
        403,
        'invalid_grant',
      ],
      [
        'gives the code as its error',
        400,
        (code) => JSON.stringify({ error: `${code} is unknown` }),
        502,
        'unknown reason',
      ],
      ['answers with the code alone', 200, (code) => code, 502, 'not JSON'],
      ['answers with a token in another form', 200, (code) => `{"access_token":${code}}`, 502, 'not JSON'],
    ])('has no code when the provider %s', async (_what, status, answer, answered, why) => {
      let code = '';
      site.idp.answerCode = (given) => {
        code = given;
        return { status, body: answer(given) };
      };
      const logged = (await written.text()).length;

      const page = await site.open().visit(login());

      site.idp.answerCode = null;
      expect([page.status, code.length > 8]).toEqual([answered, true]);
      const text = (await written.text()).slice(logged);
      expect(text).toContain(why);
      // A parser cites a few characters.
      for (let at = 0; at + 8 <= code.length; at += 1) expect(text).not.toContain(code.slice(at, at + 8));
      expect(text).not.toContain('ann@acme.test');
    });
  });
});
