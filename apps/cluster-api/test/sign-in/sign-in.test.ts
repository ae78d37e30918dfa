import { createHash, randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { recordedLog } from '../support/recorded-log.js';
import type { Browser, Page } from '../support/sign-in/browser.js';
import { type SignInTest, startSignIn } from '../support/sign-in/start-sign-in.js';

let site: SignInTest;
const written = recordedLog();
beforeAll(async () => {
  site = await startSignIn({ log: written.log });
});
afterAll(() => site.close());

/** The settings of a developer's machine. */
const development = { devSignIn: true, secureCookies: false };

describe('sign in', () => {
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

    it('matches an existing user by address, with their teams', async () => {
      site.idp.accounts.set('acme-admin', verified('ADMIN@acme.test'));
      const browser = await site.signedIn('acme-admin');

      const { body } = await browser.send(`${site.url}/api/v1/me/`);

      expect(body.teams).toMatchObject([{ slug: 'acme', role: 'admin' }]);
      expect(await usersOf('admin@acme.test')).toMatchObject([{ id: site.test.acme.admin.id }]);
    });

    it.each([
      ['unverified', { email: 'member@acme.test', email_verified: false }],
      ['verified by a string', { email: 'member@acme.test', email_verified: 'true' }],
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

  it('on a developer’s machine both sign-in methods work, with cookies that work without HTTPS', async () => {
    const dev = await site.serveWith({ config: development });
    site.idp.redirectTo(dev.callback);
    site.idp.accounts.set('acme-admin', verified('admin@acme.test'));
    site.idp.person = 'acme-admin';
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

  it('without an identity provider its routes are not found, name the development sign-in where that is enabled, and all else works', async () => {
    const [none, dev] = [
      await site.serveWith({ deps: { oidc: null } }),
      await site.serveWith({ config: development, deps: { oidc: null } }),
    ];

    for (const path of ['/auth/login/', '/auth/callback/?code=a&state=b']) {
      const { status, body } = await none.open().send(none.url + path);
      expect([status, body]).toMatchObject([
        404,
        { code: 'not_found', detail: expect.stringMatching(/not configured here\.$/) },
      ]);
    }
    expect((await dev.open().send(`${dev.url}/auth/login/`)).body.detail).toContain('POST /auth/dev-login/');
    const { cookie } = site.test.acme.admin;
    expect((await none.open().send(`${none.url}/api/v1/me/`, { headers: { Cookie: cookie } })).status).toBe(200);
    await none.close();
    await dev.close();
  });
});

describe('refusals', () => {
  beforeAll(() => {
    site.idp.clockOffsetMs = 0;
    site.idp.accounts.set('ann', { email: 'ann@acme.test', email_verified: true, name: 'Ann' });
    site.idp.person = 'ann';
  });
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
      ['two codes', 'code=a&code=b', 403, 'sign_in_refused'],
      ['a made-up code', 'code=guess', 403, 'sign_in_refused'],
      ['a response of another provider', 'code=guess&iss=https://evil.test', 403, 'sign_in_refused'],
    ])('answers a problem for %s', async (_what, query, status, code) => {
      const browser = site.open();
      const { iss, state } = Object.fromEntries(new URL(await browser.walkTo(login(), site.callback)).searchParams);
      const before = await sessions();
      const issuer = query.includes('iss=') ? '' : `&iss=${iss}`;

      const page = await browser.send(`${site.callback}?${query}&state=${state}${issuer}`);

      await expectRefusal(page, status, code, before);
      expect(page.body.detail).not.toContain('<');
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

  it('a provider that becomes unavailable prevents sign-ins, keeps sessions, and is called again later', async () => {
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

/* A person signs the command line in with their browser: docs/sign-in.md. */
describe('the command line', () => {
  let ann: Browser;
  beforeAll(async () => {
    site.idp.clockOffsetMs = 0;
    site.idp.accounts.set('ann', { email: 'ann@acme.test', email_verified: true });
    site.idp.accounts.set('bob', { email: 'bob@acme.test', email_verified: true });
    ann = await site.signedIn('ann', 'Laptop');
  });

  const LOOPBACK = 'http://127.0.0.1:51004/callback';
  const STATE = 'state-of-the-program';
  const secretOf = () => randomBytes(32).toString('base64url');
  const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url');

  const pageFor = (verifier: string, more: Record<string, string> = {}) =>
    `${site.url}/auth/authorize/?${new URLSearchParams({
      client_id: 'corral-cli',
      response_type: 'code',
      redirect_uri: LOOPBACK,
      code_challenge: challengeOf(verifier),
      code_challenge_method: 'S256',
      state: STATE,
      device: 'anns-laptop',
      ...more,
    })}`;
  const sealedIn = ({ text }: Page): string => /name="request" value="([^"]+)"/.exec(text)?.[1] ?? '';
  const decide = (browser: Browser, page: Page, decision = 'allow', headers: Record<string, string> = {}) =>
    browser.send(`${site.url}/auth/authorize/`, { form: { request: sealedIn(page), decision }, headers });
  const queryOf = ({ headers }: Page) => Object.fromEntries(new URL(headers.location as string).searchParams);

  /** Sends the form as a program without cookies. */
  const redeem = (form: Record<string, string>) => site.open('corral/1.0').send(`${site.url}/auth/token/`, { form });
  const grant = (code: string, verifier: string, more: Record<string, string> = {}) => ({
    grant_type: 'authorization_code',
    client_id: 'corral-cli',
    redirect_uri: LOOPBACK,
    code,
    code_verifier: verifier,
    ...more,
  });
  /** @returns a new code, and what is needed to redeem it */
  async function codeOf(browser: Browser, more: Record<string, string> = {}) {
    const verifier = secretOf();
    const answer = await decide(browser, await browser.send(pageFor(verifier, more)));
    return { verifier, code: queryOf(answer).code as string };
  }
  const me = async (secret: string) =>
    (await site.open().send(`${site.url}/api/v1/me/`, { headers: { Cookie: `sessionid=${secret}` } })).status;
  const sessionsOf = async (browser: Browser) =>
    (await browser.send(`${site.url}/api/v1/me/sessions/`)).body.items as Record<string, unknown>[];

  describe('a program that a person allows to sign in', () => {
    it('gets a session of its own, which is listed with its name and ends alone', async () => {
      site.idp.person = 'bob';
      const bob = site.open('Firefox');
      const verifier = secretOf();

      const page = await bob.visit(pageFor(verifier));
      expect(page.status).toBe(200);
      for (const shown of ['Corral CLI on anns-laptop', 'bob@acme.test', 'http://127.0.0.1:51004']) {
        expect(page.text).toContain(shown);
      }
      const allowed = await decide(bob, page);
      expect([allowed.status, allowed.headers.location?.split('?')[0]]).toEqual([303, LOOPBACK]);
      expect(queryOf(allowed)).toEqual({ code: expect.stringMatching(/^[\w-]{43}$/), state: STATE });
      const { status, body, headers } = await redeem(grant(queryOf(allowed).code as string, verifier));

      expect([status, body.token_type, headers['cache-control']]).toEqual([200, 'Cookie', 'no-store']);
      expect(body.expires_in).toBeGreaterThan(604_700);
      expect(await me(body.access_token)).toBe(200);
      const [newest, own] = await sessionsOf(bob);
      expect(newest).toMatchObject({
        method: 'command_line',
        name: 'Corral CLI on anns-laptop',
        userAgent: 'corral/1.0',
        current: false,
      });
      expect(own).toMatchObject({ method: 'oidc', name: null, current: true });
      const ended = await bob.send(`${site.url}/api/v1/me/sessions/${newest?.id}/`, { method: 'DELETE' });
      expect([ended.status, await me(body.access_token)]).toEqual([204, 401]);
      expect((await bob.send(`${site.url}/api/v1/me/`)).status).toBe(200);
    });

    it('is told when the person does not allow it', async () => {
      const denied = await decide(ann, await ann.send(pageFor(secretOf())), 'deny');

      expect([denied.status, queryOf(denied)]).toEqual([303, { error: 'access_denied', state: STATE }]);
    });

    it('may listen at an IPv6 address', async () => {
      const redirect = 'http://[::1]:51004/';
      const page = await ann.send(pageFor(secretOf(), { redirect_uri: redirect }));

      expect((await decide(ann, page)).headers.location).toContain(`${redirect}?code=`);
      expect(page.headers['content-security-policy']).toContain("form-action 'self' http:;");
    });
  });

  describe('the page', () => {
    it('cannot be framed or cached, runs nothing, and its form leads only to the program', async () => {
      const { headers } = await ann.send(pageFor(secretOf()));

      expect(headers['content-security-policy']).toMatch(
        /^default-src 'none'; style-src 'nonce-[^']+'; form-action 'self' http:\/\/127\.0\.0\.1:51004; frame-ancestors 'none'; base-uri 'none'$/,
      );
      expect(headers['cache-control']).toBe('no-store');
    });

    it.each([
      ['another client', { client_id: 'other' }, 'client_id'],
      ['another response type', { response_type: 'token' }, 'response_type'],
      ['a plain challenge', { code_challenge_method: 'plain' }, 'code_challenge_method'],
      ['a short challenge', { code_challenge: 'short' }, 'code_challenge'],
      ['a short state', { state: 'short' }, 'state'],
      ['a state with a line break', { state: 'state\r\nSet-Cookie: a=b' }, 'state'],
      ['markup as a device', { device: '<b>you</b>' }, 'device'],
      ['an unknown parameter', { scope: 'openid' }, 'scope'],
      ...[
        'https://127.0.0.1:51004/',
        'http://127.0.0.1/',
        'http://127.0.0.1:0/',
        'http://127.0.0.1:99999/',
        'http://localhost:51004/',
        'http://127.0.0.2:51004/',
        'http://127.0.0.1.evil.test:80/',
        'http://127.0.0.1:51004@evil.test/',
        'http://evil.test:80/#http://127.0.0.1:51004/',
        'http://127.0.0.1:51004/?next=https://evil.test',
        'http://127.0.0.1:51004/\\evil.test',
        'http://127.0.0.1:51004/%0d%0aa',
        'http://[::]:51004/',
        'http://[::ffff:10.0.0.1]:51004/',
        'javascript:alert(1)',
        '//127.0.0.1:51004/',
        `http://127.0.0.1:51004/${'a'.repeat(60)}`,
      ].map((uri) => [`a redirect to ${uri}`, { redirect_uri: uri }, 'redirect_uri'] as const),
    ])('is refused for %s, without a redirect', async (_what, more, parameter) => {
      const page = await ann.send(pageFor(secretOf(), more));

      expect([page.status, page.body.errors?.[0]?.pointer, page.headers.location]).toEqual([
        422,
        `/query/${parameter}`,
        undefined,
      ]);
    });

    it('leads people who are not signed in to the identity provider and back', async () => {
      const path = pageFor(secretOf());

      const started = await site.open().send(path);

      expect(started.status).toBe(302);
      const login = new URL(started.headers.location as string, site.url);
      expect(login.pathname).toBe('/auth/login/');
      const returnTo = new URL(login.searchParams.get('return_to') as string, site.url);
      expect([...returnTo.searchParams].sort()).toEqual([...new URL(path).searchParams].sort());
    });
  });

  describe('a decision', () => {
    it('is not taken from a page of another site, from another session, or without one', async () => {
      const page = await ann.send(pageFor(secretOf()));
      const bob = await site.signedIn('bob');

      const answers = [
        await decide(ann, page, 'allow', { Origin: 'https://evil.test' }),
        await decide(ann, page, 'allow', { 'Sec-Fetch-Site': 'cross-site' }),
        await decide(bob, page),
        await decide(site.open(), page),
        await ann.send(`${site.url}/auth/authorize/`, { form: { request: `x${sealedIn(page)}`, decision: 'allow' } }),
      ];

      expect(answers.map(({ body }) => body.code)).toEqual([
        'cross_site_request',
        'cross_site_request',
        'sign_in_expired',
        'authentication_required',
        'sign_in_expired',
      ]);
      expect(answers.every(({ headers }) => headers.location === undefined)).toBe(true);
    });

    it('is not taken from a page that is more than 10 minutes old', async () => {
      const page = await ann.send(pageFor(secretOf()));
      site.clock.aheadMs = 600_000;

      const late = await decide(ann, page);
      site.clock.aheadMs = 0;

      expect([late.status, late.body.code]).toEqual([400, 'sign_in_expired']);
    });
  });

  describe('a code', () => {
    it.each<[string, (of: { code: string; verifier: string }) => Promise<Record<string, string>>]>([
      ['with another verifier', async ({ code }) => grant(code, secretOf())],
      ['with the challenge as verifier', async ({ code, verifier }) => grant(code, challengeOf(verifier))],
      ['for another address', async ({ code, verifier }) => grant(code, verifier, { redirect_uri: `${LOOPBACK}/` })],
      [
        'that has expired',
        async ({ code, verifier }) => {
          await site.test.db.signInCode.updateMany({ data: { expiresAt: new Date(Date.now() - 1) } });
          return grant(code, verifier);
        },
      ],
    ])('%s gives nothing, and is used up', async (_how, spoil) => {
      const { code, verifier } = await codeOf(ann);
      const sessions = await site.test.db.session.count();

      const { status, body } = await redeem(await spoil({ code, verifier }));
      expect([status, body.code, body.error]).toEqual([400, 'invalid_grant', 'invalid_grant']);
      expect(body.error_description).toBe(body.detail);
      expect((await redeem(grant(code, verifier))).body.error).toBe('invalid_grant');

      expect(await site.test.db.session.count()).toBe(sessions);
    });

    it('of a session that has ended meanwhile gives nothing', async () => {
      const browser = await site.signedIn('ann');
      const { code, verifier } = await codeOf(browser);
      await browser.send(`${site.url}/auth/logout/`, { method: 'POST' });

      expect((await redeem(grant(code, verifier))).body.code).toBe('invalid_grant');
    });

    it('that is used twice ends the session, because somebody else has it', async () => {
      const { code, verifier } = await codeOf(ann);
      const { body: first } = await redeem(grant(code, verifier));
      expect(await me(first.access_token)).toBe(200);

      const again = await redeem(grant(code, secretOf()));

      expect([again.body.code, await me(first.access_token)]).toEqual(['invalid_grant', 401]);
    });

    it('starts one session at most, however often it is sent at once', async () => {
      const { code, verifier } = await codeOf(ann, { device: 'racer' });

      const answers = await Promise.all(Array.from({ length: 6 }, () => redeem(grant(code, verifier))));

      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(await site.test.db.session.count({ where: { name: 'Corral CLI on racer' } })).toBe(1);
    });

    it('is valid for 60 s and stored as its digest', async () => {
      const { code, verifier } = await codeOf(ann);
      const hash = createHash('sha256').update(code).digest();

      const row = await site.test.db.signInCode.findUniqueOrThrow({ where: { hash: new Uint8Array(hash) } });

      expect(Math.abs(row.expiresAt.getTime() - row.createdAt.getTime() - 60_000)).toBeLessThan(1_000);
      const stored = await site.test.pool.query('SELECT c::text AS row FROM sign_in_code c');
      for (const secret of [code, verifier]) expect(JSON.stringify(stored.rows)).not.toContain(secret);
    });
  });

  describe('the token endpoint', () => {
    const form = grant(secretOf(), secretOf());

    it.each<[string, Record<string, string>, string, string]>([
      ['without a grant type', { ...form, grant_type: '' }, 'invalid_token_request', 'invalid_request'],
      ['with another grant type', { grant_type: 'password' }, 'invalid_token_request', 'unsupported_grant_type'],
      ['of another client', { ...form, client_id: 'other' }, 'invalid_token_request', 'invalid_request'],
      ['with a short verifier', { ...form, code_verifier: 'short' }, 'invalid_token_request', 'invalid_request'],
      ['with a control character', { ...form, code: 'a\0b' }, 'invalid_json', 'invalid_request'],
    ])('refuses a request %s as OAuth clients expect', async (_what, sent, code, error) => {
      const { status, body } = await redeem(sent);

      expect([status, body.code, body.error]).toEqual([400, code, error]);
    });
  });

  it('without an identity provider a developer signs in on the page with an address, and comes back to it', async () => {
    const dev = await site.serveWith({ config: development, deps: { oidc: null } });
    const browser = dev.open();
    const path = pageFor(secretOf()).slice(site.url.length);

    const first = await browser.send(`${dev.url}${path}`);
    const returnTo = /name="return_to" value="([^"]+)"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') as string;
    const signedIn = await browser.send(`${dev.url}/auth/dev-login/`, {
      form: { email: 'admin@acme.test', return_to: returnTo },
    });
    const page = await browser.send(new URL(signedIn.headers.location as string, dev.url).href);

    expect([first.status, signedIn.status, page.status]).toEqual([200, 303, 200]);
    expect(page.text).toContain('admin@acme.test');
    const elsewhere = await browser.send(`${dev.url}/auth/dev-login/`, {
      form: { email: 'admin@acme.test', return_to: 'https://evil.test/' },
    });
    expect(elsewhere.headers.location).toBe('/api/v1/me/');
    await dev.close();
  });
});
