import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from '../support/sign-in/browser.js';
import { type SignInTest, startSignIn } from '../support/sign-in/start-sign-in.js';

/* A person signs the command line in with their browser: docs/sign-in.md. */

let site: SignInTest;
let ann: Browser;
beforeAll(async () => {
  site = await startSignIn();
  site.idp.accounts.set('ann', { email: 'ann@acme.test', email_verified: true });
  site.idp.accounts.set('bob', { email: 'bob@acme.test', email_verified: true });
  ann = await site.signedIn('ann', 'Laptop');
});
afterAll(() => site.close());

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

/** Of a program without cookies. */
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

  it('that nobody issued gives nothing', async () => {
    expect((await redeem(grant(secretOf(), secretOf()))).body.code).toBe('invalid_grant');
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

  it.each<[string, RequestInit, number, string]>([
    [
      'a repeated parameter',
      { body: new URLSearchParams('grant_type=authorization_code&code=a&code=b') },
      400,
      'invalid_json',
    ],
    ['JSON', { body: '{}', headers: { 'Content-Type': 'application/json' } }, 415, 'unsupported_media_type'],
    [
      'a body that is too large',
      { body: new URLSearchParams({ code: 'a'.repeat(300_000) }) },
      413,
      'payload_too_large',
    ],
    ['another method', { method: 'PUT' }, 405, 'method_not_allowed'],
  ])('refuses %s', async (_what, init, status, code) => {
    const answer = await fetch(`${site.url}/auth/token/`, { method: 'POST', ...init });
    const body = (await answer.json()) as Record<string, unknown>;

    expect([answer.status, body.code, body.error]).toEqual([status, code, 'invalid_request']);
  });
});

describe('without an identity provider', () => {
  it('a developer signs in on the page with an address, and comes back to it', async () => {
    const dev = await startSignIn({ config: { devSignIn: true, secureCookies: false }, deps: { oidc: null } });
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

  it('the page is not found', async () => {
    const none = await startSignIn({ deps: { oidc: null } });

    expect((await none.open().send(`${none.url}${pageFor(secretOf()).slice(site.url.length)}`)).status).toBe(404);
    await none.close();
  });
});
