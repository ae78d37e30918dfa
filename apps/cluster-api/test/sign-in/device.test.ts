import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { deviceLimits } from '../../src/app-config.js';
import type { TestUser } from '../support/checked-client.js';
import type { Browser } from '../support/sign-in/browser.js';
import { type SignInTest, startSignIn } from '../support/sign-in/start-sign-in.js';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

/* A machine without a browser signs in: docs/sign-in.md. */

const CONSOLE = 'https://console.test/console';
const GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const WRONG = '/auth/device-sign-ins/ZZZZ-ZZZZ/';

let site: SignInTest;
let machine: Browser;
let test: TestClusterApi;
let ann: TestUser;
beforeAll(async () => {
  site = await startSignIn({ config: { consoleUrl: () => CONSOLE } });
  machine = site.open('corral/1.0');
  test = site.test;
  ann = test.acme.admin;
  // Ann belongs to two teams.
  await test.db.membership.create({ data: { userId: ann.id, teamId: test.globex.id, role: 'viewer' } });
});
afterAll(() => site.close());

/** Lets polls pass that would be too early. */
const later = () => test.pool.query(`UPDATE device_sign_in SET polled_at = polled_at - interval '1 h'`);
const begin = async (form: Record<string, string> = {}) => {
  const sent = { client_id: 'corral-cli', device: 'build-server', ...form };
  return machine.send(`${site.url}/auth/device/`, { form: sent });
};
const poll = (code: string, form: Record<string, string> = {}) =>
  machine.send(`${site.url}/auth/token/`, {
    form: { grant_type: GRANT, client_id: 'corral-cli', device_code: code, ...form },
  });
const pathOf = (userCode: string) => `/auth/device-sign-ins/${userCode}/`;
const decide = (userCode: string, decision = 'allow', as = ann) =>
  test.api.as(as).post(pathOf(userCode)).send({ decision });

describe('a machine without a browser', () => {
  it('gets a session of the person who allows its code, and each of their teams reads of it', async () => {
    const { status, body, headers } = await begin();
    expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
    expect(body).toEqual({
      device_code: expect.stringMatching(/^[\w-]{43}$/),
      user_code: expect.stringMatching(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/),
      verification_uri: `${CONSOLE}/device`,
      verification_uri_complete: `${CONSOLE}/device?user_code=${body.user_code}`,
      expires_in: 600,
      interval: 5,
    });
    expect((await poll(body.device_code)).body.error).toBe('authorization_pending');

    const typed = body.user_code.toLowerCase().replace('-', '');
    const shown = await test.api.as(ann).get(pathOf(typed)).expect(200);
    expect(shown.body).toMatchObject({
      name: 'Corral CLI on build-server',
      address: expect.stringContaining('127.0.0.1'),
      userAgent: 'corral/1.0',
    });
    await decide(typed).expect(204);

    const token = await poll(body.device_code);
    expect([token.status, token.body.token_type, token.headers['cache-control']]).toEqual([200, 'Cookie', 'no-store']);
    const sessions = await test.api.as({ cookie: `sessionid=${token.body.access_token}` }).get('/api/v1/me/sessions/');
    const [session] = sessions.body.items;
    expect(session).toMatchObject({ method: 'command_line', name: 'Corral CLI on build-server', current: true });
    for (const team of [test.acme, test.globex]) {
      const { body: log } = await test.api.as(team.admin).get(team.path('/audit/?action=session.allow_device'));
      expect(log.items).toMatchObject([
        {
          actor: { kind: 'user', name: ann.email },
          target: { id: session.id, name: 'Corral CLI on build-server' },
          detail: { address: shown.body.address },
        },
      ]);
    }
  });

  it('is told when it asks too often, when it is refused, and when its time is over', async () => {
    const [first, second] = [(await begin()).body, (await begin()).body];
    const errorOf = async (code: string) => {
      const { status, body } = await poll(code);
      expect([status, body.error_description]).toEqual([400, body.detail]);
      return body.error;
    };

    expect(await errorOf(first.device_code)).toBe('authorization_pending');
    expect(await errorOf(first.device_code)).toBe('slow_down');
    await later();
    expect(await errorOf(first.device_code)).toBe('authorization_pending');
    await decide(first.user_code, 'deny').expect(204);
    expect(await errorOf(first.device_code)).toBe('access_denied');
    await test.pool.query('UPDATE device_sign_in SET expires_at = now()');
    expect(await errorOf(second.device_code)).toBe('expired_token');
    expect(await errorOf('x'.repeat(43))).toBe('invalid_grant');
  });

  it.each<[string, Record<string, string>, string]>([
    ['another client', { client_id: 'other' }, 'invalid_token_request'],
    ['markup as its name', { device: '<b>you</b>' }, 'invalid_token_request'],
  ])('is refused with %s, as OAuth clients expect', async (_what, form, code) => {
    const { status, body } = await begin(form);

    expect([status, body.code, body.error]).toEqual([400, code, 'invalid_request']);
  });

  it('is refused a poll of another client', async () => {
    const { body } = await poll((await begin()).body.device_code, { client_id: 'other' });

    expect([body.code, body.error]).toEqual(['invalid_token_request', 'invalid_request']);
  });

  it('finds all addresses in a document, but for this way to sign in where there is no page for it', async () => {
    const path = '/.well-known/oauth-authorization-server';
    const document = (await machine.send(`${site.url}${path}`)).body;
    expect(document).toMatchObject({
      issuer: site.url,
      token_endpoint: `${site.url}/auth/token/`,
      device_authorization_endpoint: `${site.url}/auth/device/`,
      grant_types_supported: expect.arrayContaining([GRANT]),
    });

    const other = await site.serveWith({ config: { consoleUrl: () => null } });
    const { device_authorization_endpoint: absent } = (await other.open().send(`${other.url}${path}`)).body;
    const refused = await other.open().send(`${other.url}/auth/device/`, { form: { client_id: 'corral-cli' } });
    expect([absent, refused.status]).toEqual([undefined, 404]);
    await other.close();
  });
});

it('a user code is decided once, and not by a page of another site', async () => {
  const { user_code: code } = (await begin()).body;
  const foreign = await decide(code).set('Origin', 'https://evil.test').expect(403);
  await decide(code, 'deny', test.acme.member).expect(204);

  expect(foreign.body.code).toBe('cross_site_request');
  await decide(code).expect(404);
  await test.api.as(ann).get(pathOf(code)).expect(404);
  await test.api.get(pathOf(code)).expect(401);
});

describe('guessing', () => {
  const start = () => startClusterApi({ config: { limits: { ...test.deps.config.limits, devices: deviceLimits } } });

  it('of codes ends after 5 for a person and 10 for an address, and right ones are free', async () => {
    const own = await start();
    const { member } = own.acme;
    const begun = await own.api.post('/auth/device/').type('form').send({ client_id: 'corral-cli' }).expect(200);
    const right = pathOf(begun.body.user_code);
    const wrong = async (user: TestUser) => (await own.api.as(user).get(WRONG)).status;

    for (let time = 0; time < 12; time += 1) await own.api.as(member).get(right).expect(200);
    for (let time = 0; time < 5; time += 1) expect(await wrong(member)).toBe(404);
    expect(await wrong(member)).toBe(429);
    for (let time = 0; time < 4; time += 1) expect(await wrong(own.acme.admin)).toBe(404);
    expect(await wrong(own.globex.admin)).toBe(429);
    await own.close();
  });

  it('of sign-ins that begin ends after 10 for an address', async () => {
    const own = await start();
    const send = () => own.api.post('/auth/device/').type('form').send({ client_id: 'corral-cli' });

    for (let time = 0; time < 10; time += 1) await send().expect(200);
    const { body } = await send().expect(429);

    expect(body.error).toBe('temporarily_unavailable');
    await own.close();
  });
});
