import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type SignInTest, startSignIn } from '../support/sign-in/start-sign-in.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

const config = { devSignIn: true, secureCookies: false };
let test: TestClusterApi;
let team: TestTeam;
let email: string;
beforeAll(async () => {
  test = await startClusterApi({ config });
});
afterAll(() => test.close());
beforeEach(async () => {
  team = await test.createTeam(`t-${randomUUID().slice(0, 8)}`);
  email = `ada@${team.slug}.test`;
});

const path = ({ slug }: TestTeam, rest = '') => `/a/${slug}/team/api/invitations/${rest}`;
const invite = async (by = team): Promise<string> =>
  (await test.api.as(by.admin).post(path(by)).send({ email }).expect(201)).body.id;
const revoke = (id: string) => test.api.as(team.admin).delete(path(team, `${id}/`));
const expire = (id: string) => test.db.invitation.update({ where: { id }, data: { expiresAt: new Date() } });
const signIn = (address = email) => test.api.post('/auth/dev-login/').send({ email: address });
const usersOf = (address = email) => test.db.user.findMany({ where: { email: address } });
const audits = async (of = team) =>
  (await test.db.auditEntry.findMany({ where: { teamId: of.id }, orderBy: { id: 'asc' } })).map(
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
    const ada = test.api.as(cookieOf(answer));
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
    const other = await test.createTeam(`u-${randomUUID().slice(0, 8)}`);
    await invite();
    await invite(other);

    const answers = await Promise.all([signIn(), signIn(), signIn(), signIn()]);

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await usersOf()).toHaveLength(1);
    const entries = [...(await audits()), ...(await audits(other))];
    expect(entries.filter(({ action }) => action === 'invitation.create_user')).toHaveLength(1);
  });

  it('is admitted by another invitation when one has expired', async () => {
    const other = await test.createTeam(`u-${randomUUID().slice(0, 8)}`);
    await invite(other);
    await expire(await invite());

    await signIn().expect(200);

    expect((await audits(other)).map(({ action }) => action)).toContain('invitation.create_user');
  });

  it('either becomes a user or is refused when the invitation is revoked at the same time', async () => {
    for (const name of ['one', 'two', 'three']) {
      email = `${name}@${team.slug}.test`;
      const id = await invite();

      const [signedIn, revoked] = await Promise.all([signIn(), revoke(id)]);

      expect([revoked.status, [200, 403].includes(signedIn.status)]).toEqual([204, true]);
      expect(await usersOf()).toHaveLength(signedIn.status === 200 ? 1 : 0);
    }
  });
});

describe('a person is not admitted', () => {
  it.each<[string, (id: string) => Promise<unknown>]>([
    ['is revoked', (id) => revoke(id).expect(204)],
    ['has expired', expire],
    ['was accepted', (id) => test.db.invitation.update({ where: { id }, data: { acceptedAt: new Date() } })],
  ])('by an invitation that %s', async (_what, end) => {
    await end(await invite());

    await signIn().expect(403);

    expect(await usersOf()).toEqual([]);
  });

  it('by an invitation to another address, and learns what to do', async () => {
    await invite();

    const { body, headers } = await signIn(`eve@${team.slug}.test`).expect(403);

    expect(body).toMatchObject({ code: 'permission_denied', detail: expect.stringMatching(/invited.*admin -- user/) });
    expect(headers['set-cookie']).toBeUndefined();
    expect(await usersOf(`eve@${team.slug}.test`)).toEqual([]);
  });
});

describe('with an identity provider', () => {
  let site: SignInTest;
  let alone: TestClusterApi;
  beforeAll(async () => {
    site = await startSignIn({ config });
    [alone, test] = [test, site.test];
  });
  afterAll(async () => {
    test = alone;
    await site.close();
  });

  it('an invitation does not replace a verified address', async () => {
    await invite();
    site.idp.accounts.set(email, { email, email_verified: false });
    site.idp.person = email;

    const page = await site.open().visit(`${site.url}/auth/login/`);

    expect([page.status, page.body.code]).toEqual([403, 'email_not_verified']);
    expect(await usersOf()).toEqual([]);
  });

  it('a person who signed in with the address alone stays the same user', async () => {
    await invite();
    const { body: before } = await signIn().expect(200);
    site.idp.accounts.set(email, { email, email_verified: true, name: 'Ada' });
    site.idp.person = email;

    const { body: after } = await site.open().visit(`${site.url}/auth/login/`);

    expect([after.id, after.displayName]).toEqual([before.id, 'Ada']);
    expect((await audits()).filter(({ action }) => action === 'invitation.create_user')).toHaveLength(1);
  });

  it('a new user causes no entry in the audit log of the inviting team', async () => {
    await invite();
    site.idp.accounts.set(email, { email, email_verified: true });
    site.idp.person = email;

    const { body } = await site.open().visit(`${site.url}/auth/login/`);

    expect([body.email, body.teams]).toEqual([email, []]);
    expect((await audits()).map(({ action }) => action)).toEqual(['invitation.create']);
  });
});
