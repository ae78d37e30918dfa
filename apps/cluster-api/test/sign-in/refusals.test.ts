import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { oidcClient } from '../../src/people/oidc-client.js';
import { recordedLog } from '../support/recorded-log.js';
import type { Page } from '../support/sign-in/browser.js';
import { type SignInTest, startSignIn } from '../support/sign-in/start-sign-in.js';

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
    const [early, late] = [await browser.walkTo(login(), site.callback), await browser.walkTo(login(), site.callback)];

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
  it.each([
    '//evil.test/',
    '/\\evil.test',
    'https://evil.test/',
    '/%2f/evil.test',
    '/\t/evil.test',
    '',
    '/auth/login/',
  ])('%j is refused before any redirect', async (path) => {
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
