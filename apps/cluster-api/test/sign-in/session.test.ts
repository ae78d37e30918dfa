import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PUBLIC_URL, startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

let test: TestClusterApi;
let dev: TestClusterApi;
beforeAll(async () => {
  test = await startClusterApi();
  dev = await startClusterApi({ config: { devSignIn: true, secureCookies: false } });
});
afterAll(async () => {
  await test.close();
  await dev.close();
});

const ME = '/api/v1/me/';
const SIGN_IN = '/auth/dev-login/';
const SIGN_OUT = '/auth/logout/';
/** The cookie that an answer sets, in the form that a browser sends back. */
const cookieOf = (answer: { headers: Record<string, string> }) => {
  const [setCookie = ''] = (answer.headers['set-cookie'] ?? []) as unknown as string[];
  return { cookie: setCookie.split(';')[0] as string, attributes: setCookie.split('; ').slice(1) };
};

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

  it('answers 401 without a session', async () => {
    const { body } = await test.api.get(ME).expect(401);

    expect([body.code, body.operationId]).toEqual(['authentication_required', null]);
  });

  it.each([
    ['made up', `sessionid=${'a'.repeat(43)}`],
    ['too short', 'sessionid=abc'],
    ['SQL', "sessionid=' OR 1=1 --"],
    ['of another name', `session=${'a'.repeat(43)}`],
  ])('answers 401 for a session cookie that is %s', async (_what, cookie) => {
    await test.api.as({ cookie }).get(ME).expect(401);
  });

  it('answers 401 for two session cookies, because one may be planted', async () => {
    const planted = await test.signIn(test.globex.member);

    await test.api
      .as({ cookie: `${test.acme.member.cookie}; ${planted}` })
      .get(ME)
      .expect(401);
  });

  it('is redirected to its canonical path with its query', async () => {
    const answer = await test.api.as(test.acme.member).get('/api/v1/me?x=1').expect(308);

    expect(answer.headers.location).toBe('/api/v1/me/?x=1');
  });
});

describe('the end of a session', () => {
  it.each([
    ['idle', 'idle_expires_at'],
    ['absolute', 'expires_at'],
  ])('comes at its %s timeout', async (_which, column) => {
    const cookie = await test.signIn(test.acme.member);
    await test.api.as({ cookie }).get(ME).expect(200);

    await test.pool.query(
      `UPDATE session SET ${column} = now() WHERE id = (SELECT id FROM session ORDER BY created_at DESC LIMIT 1)`,
    );

    await test.api.as({ cookie }).get(ME).expect(401);
  });

  it('comes immediately when it is revoked, for every kind of request', async () => {
    const cookie = await test.signIn(test.acme.admin);
    await test.pool.query(
      'UPDATE session SET revoked_at = now() WHERE id = (SELECT id FROM session ORDER BY created_at DESC LIMIT 1)',
    );

    await test.api.as({ cookie }).get(test.acme.path('/clusters/')).expect(401);
    await test.api.as({ cookie }).delete(test.acme.path('/connections/main/')).expect(401);
  });
});

describe('a changed role', () => {
  it('applies from the next request on', async () => {
    const user = await test.createUser('rising@acme.test', [{ team: test.acme, role: 'member' }]);
    const remove = () => test.api.as(user).delete(test.acme.path('/connections/none/'));
    await remove().expect(403);

    await test.db.membership.updateMany({ where: { userId: user.id }, data: { role: 'admin' } });
    await remove().expect(404);

    await test.db.membership.deleteMany({ where: { userId: user.id } });
    expect((await remove().expect(404)).body.code).toBe('not_found');
  });
});

describe('GET /api/v1/teams/', () => {
  it('lists the caller’s teams by slug in pages', async () => {
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

  it.each([
    ['limit=0', '/query/limit'],
    ['limit=201', '/query/limit'],
    ['limit=-1', '/query/limit'],
    ['limit=1e3', '/query/limit'],
    ['limit=', '/query/limit'],
    ['limit=1&limit=2', '/query/limit'],
    ['cursor=', '/query/cursor'],
    ['cursor=x', '/query/cursor'],
    [`cursor=${Buffer.from('["a","b"]').toString('base64url')}`, '/query/cursor'],
    [`cursor=${Buffer.from('[1]').toString('base64url')}`, '/query/cursor'],
    [`cursor=${Buffer.from('["\\u0000"]').toString('base64url')}`, '/query/cursor'],
    [`cursor=${Buffer.from('{"length":1,"0":"a"}').toString('base64url')}`, '/query/cursor'],
    ['page=2', '/query/page'],
    ['__proto__=1', '/query/__proto__'],
  ])('refuses ?%s with a pointer to the parameter', async (query, pointer) => {
    const { body } = await test.api.as(test.acme.member).get(`/api/v1/teams/?${query}`).expect(422);

    expect([body.code, body.errors[0].pointer]).toEqual(['validation_failed', pointer]);
  });
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

  it('ends the session that it replaces', async () => {
    const before = await dev.signIn(dev.acme.member);

    const answer = await dev.api.as({ cookie: before }).post(SIGN_IN).send({ email: 'member@acme.test' }).expect(200);

    await dev.api.as({ cookie: before }).get(ME).expect(401);
    await dev.api.as(cookieOf(answer)).get(ME).expect(200);
  });

  it('does not reuse a planted session cookie', async () => {
    const planted = `sessionid=${'a'.repeat(43)}`;

    const answer = await dev.api.as({ cookie: planted }).post(SIGN_IN).send({ email: 'member@acme.test' }).expect(200);

    expect(cookieOf(answer).cookie).not.toBe(planted);
    await dev.api.as({ cookie: planted }).get(ME).expect(401);
  });

  it('refuses an unknown address and sets no cookie', async () => {
    const answer = await dev.api.post(SIGN_IN).send({ email: 'nobody@acme.test' }).expect(403);

    expect(answer.body.code).toBe('permission_denied');
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  it.each([{}, { email: 'acme' }, { email: 7 }, { email: 'a\0@b.cd' }, { email: 'a@b.cd', role: 'admin' }])(
    'refuses %j',
    async (body) => {
      expect((await dev.api.post(SIGN_IN).send(body).expect(422)).body.code).toBe('validation_failed');
    },
  );

  it('refuses requests from other sites, which could sign visitors in as another user', async () => {
    await dev.api.post(SIGN_IN).set('Origin', 'https://evil.test').send({ email: 'admin@acme.test' }).expect(403);
    await dev.api.post(SIGN_IN).set('Origin', PUBLIC_URL).send({ email: 'admin@acme.test' }).expect(200);
  });
});

describe('POST /auth/logout/', () => {
  it('ends the session and clears the cookie', async () => {
    const cookie = await test.signIn(test.acme.member);

    const answer = await test.api.as({ cookie }).post(SIGN_OUT).expect(204);

    await test.api.as({ cookie }).get(ME).expect(401);
    const { cookie: cleared, attributes } = cookieOf(answer);
    expect(cleared).toBe('sessionid=');
    expect(attributes).toEqual(
      expect.arrayContaining(['Path=/', 'HttpOnly', 'Secure', 'SameSite=Lax', 'Expires=Thu, 01 Jan 1970 00:00:00 GMT']),
    );
  });

  it('does not end the user’s other sessions', async () => {
    const [one, other] = [await test.signIn(test.acme.member), await test.signIn(test.acme.member)];

    await test.api.as({ cookie: one }).post(SIGN_OUT).expect(204);

    await test.api.as({ cookie: other }).get(ME).expect(200);
  });

  it('succeeds without a session', async () => {
    await test.api.post(SIGN_OUT).expect(204);
    await test.api.as({ cookie: 'sessionid=x' }).post(SIGN_OUT).expect(204);
  });
});
