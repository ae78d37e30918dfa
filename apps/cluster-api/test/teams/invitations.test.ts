import { randomUUID } from 'node:crypto';
import { clusterLimits } from '@corral/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { TestUser } from '../support/checked-client.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

let test: TestClusterApi;
let team: TestTeam;
let ada: TestUser;
beforeAll(async () => {
  test = await startClusterApi();
});
afterAll(() => test.close());
beforeEach(async () => {
  team = await test.createTeam(`t-${randomUUID().slice(0, 8)}`);
  ada = await test.createUser(`ada@${team.slug}.test`);
  test.wakeups.length = 0;
});

const DAY_MS = 86_400_000;
const path = (rest = '', { slug } = team) => `/a/${slug}/team/api/invitations/${rest === '' ? '' : `${rest}/`}`;
const post = (body: object = { email: ada.email }, key?: string) => {
  const sent = test.api.as(team.admin).post(path());
  return (key === undefined ? sent : sent.set('Idempotency-Key', key)).send(body);
};
const invite = async (body?: object): Promise<string> => (await post(body).expect(201)).body.id;
const renew = (id: string) => test.api.as(team.admin).post(path(`${id}/renew`));
const revoke = (id: string, user = team.admin) => test.api.as(user).delete(path(id));
const accept = (id: string, user = ada) => test.api.as(user).post(`/invitations/${id}/accept/`);
const list = async () => (await test.api.as(team.admin).get(path()).expect(200)).body.items;
const received = async (user = ada) => (await test.api.as(user).get('/invitations/').expect(200)).body.items;
const rowOf = (id: string) => test.db.invitation.findUniqueOrThrow({ where: { id } });
const expire = (id: string) => test.db.invitation.update({ where: { id }, data: { expiresAt: new Date() } });
const seesTeam = async (user = ada) => (await test.api.as(user).get(team.path('/clusters/'))).status === 200;
const audits = async () =>
  (await test.db.auditEntry.findMany({ where: { teamId: team.id }, orderBy: { id: 'asc' } })).map(
    ({ action, targetName, detail, userId }) => [action, targetName, detail, userId],
  );

describe('POST …/invitations/', () => {
  it('creates an invitation for 14 days and schedules its mail', async () => {
    const { number } = await test.db.team.findUniqueOrThrow({ where: { id: team.id } });

    const { body } = await post({ team: number, email: ada.email, role: 'admin', is_accepted: false }).expect(201);

    expect(body).toEqual({
      id: expect.any(String),
      team: number,
      email: ada.email,
      role: 'admin',
      invited_by: team.admin.email,
      is_accepted: false,
    });
    const { createdAt, expiresAt, mailDueAt, mailSentAt } = await rowOf(body.id);
    expect(expiresAt.getTime() - createdAt.getTime()).toBe(14 * DAY_MS);
    expect([mailDueAt, mailSentAt]).toEqual([createdAt, null]);
    expect(test.wakeups).toEqual([{ job: 'send-mails', payload: {} }]);
    expect(await audits()).toEqual([['invitation.create', ada.email, { role: 'admin' }, team.admin.id]]);
  });

  it('defaults to the role member and stores addresses in lower case', async () => {
    const { body } = await post({ email: `Eve@${team.slug.toUpperCase()}.test` }).expect(201);

    expect([body.email, body.role]).toEqual([`eve@${team.slug}.test`, 'member']);
  });

  it('renews the open invitation of an address, with the new role and another mail', async () => {
    const id = await invite();
    await test.db.invitation.update({
      where: { id },
      data: { expiresAt: new Date(), mailDueAt: null, mailSentAt: new Date(), mailFailures: 3 },
    });

    const { body } = await post({ email: ada.email.toUpperCase(), role: 'admin' }).expect(201);

    expect([body.id, body.role]).toEqual([id, 'admin']);
    const row = await rowOf(id);
    expect(row.expiresAt.getTime()).toBeGreaterThan(Date.now() + 13 * DAY_MS);
    expect(row).toMatchObject({ mailSentAt: null, mailFailures: 0, mailDueAt: expect.any(Date) });
    expect((await audits()).map(([action]) => action)).toEqual(['invitation.create', 'invitation.renew']);
  });

  it('replaces a revoked invitation, so its link stays invalid', async () => {
    const first = await invite();
    await revoke(first).expect(204);

    const second = await invite();

    expect(second).not.toBe(first);
    await accept(first).expect(404);
    await accept(second).expect(200);
  });

  it('creates one invitation for concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => post()));

    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  });

  it('answers the same for a repeated idempotency key, without a second mail', async () => {
    const first = await post({ email: ada.email }, 'k1').expect(201);
    const again = await post({ email: ada.email }, 'k1').expect(201);

    expect(again.body).toEqual(first.body);
    expect((await audits()).map(([action]) => action)).toEqual(['invitation.create']);
    const other = await post({ email: ada.email, role: 'admin' }, 'k1').expect(422);
    expect(other.body.code).toBe('idempotency_key_reused');
  });

  it('refuses the address of a member', async () => {
    const { body } = await post({ email: team.member.email.toUpperCase() }).expect(409);

    expect(body.code).toBe('already_member');
  });

  it.each<[string, object, string]>([
    ['no address', {}, '/email'],
    ['an invalid address', { email: 'ada' }, '/email'],
    ['two addresses', { email: 'ada@acme.test,eve@acme.test' }, '/email'],
    ['an address with a name', { email: 'Ada <ada@acme.test>' }, '/email'],
    ['an address with a line break', { email: 'ada@acme.test\r\nBcc: eve@acme.test' }, '/email'],
    ['an address in quotes', { email: '"ada eve"@acme.test' }, '/email'],
    ['look-alike letters', { email: 'аda@acme.test' }, '/email'],
    ['an unknown role', { email: 'ada@acme.test', role: 'owner' }, '/role'],
    ['an acceptance', { email: 'ada@acme.test', is_accepted: true }, '/is_accepted'],
    ['another team', { email: 'ada@acme.test', team: 1_000_000 }, '/team'],
    ['an id', { email: 'ada@acme.test', id: randomUUID() }, '/id'],
  ])('refuses %s with a pointer', async (_what, body, pointer) => {
    const answer = await post(body).expect(422);

    expect([answer.body.code, answer.body.errors[0].pointer]).toEqual(['validation_failed', pointer]);
    expect(await test.db.invitation.count({ where: { teamId: team.id } })).toBe(0);
  });

  it('limits the open invitations of a team', async () => {
    await test.db.invitation.createMany({
      data: Array.from({ length: clusterLimits.invitationsPerTeam }, (_, index) => ({
        teamId: team.id,
        email: `p${index}@acme.test`,
        role: 'member' as const,
        invitedBy: team.admin.id,
        expiresAt: new Date(Date.now() + DAY_MS),
      })),
    });

    expect((await post().expect(403)).body.code).toBe('quota_exceeded');
    await post({ email: 'p0@acme.test' }).expect(201);
  });

  it('limits the mails to one address', async () => {
    const id = await invite();
    for (let mail = 2; mail <= clusterLimits.invitationMailsPerAddressPerHour; mail += 1) await renew(id).expect(200);

    const answers = [await renew(id), await post()];
    await revoke(id).expect(204);
    answers.push(await post());

    for (const { status, body, headers } of answers) {
      expect([status, body.code]).toEqual([429, 'rate_limit_exceeded']);
      expect(Number(headers['retry-after'])).toBeGreaterThan(3_500);
    }
  });
});

describe('GET …/invitations/', () => {
  it('lists invitations that were neither accepted nor revoked, newest first, with expiry and mail time', async () => {
    const [first, second, third] = [
      await invite({ email: 'a@acme.test' }),
      await invite({ email: 'b@acme.test' }),
      await invite(),
    ];
    await revoke(first as string).expect(204);
    await expire(second as string);

    const items = await list();

    expect(items.map(({ id }: { id: string }) => id)).toEqual([third, second]);
    expect(items[0]).toMatchObject({
      email: ada.email,
      is_accepted: false,
      mail_sent_at: null,
      expires_at: (await rowOf(third as string)).expiresAt.toISOString(),
    });
    await accept(third as string).expect(200);
    expect((await list()).map(({ id }: { id: string }) => id)).toEqual([second]);
  });

  it('has pages', async () => {
    for (const name of ['a', 'b', 'c']) await invite({ email: `${name}@acme.test` });

    const first = await test.api.as(team.admin).get(`${path()}?limit=2`).expect(200);
    const second = await test.api.as(team.admin).get(`${path()}?limit=2&cursor=${first.body.next}`).expect(200);

    const emails = [first, second].flatMap(({ body }) => body.items.map(({ email }: { email: string }) => email));
    expect(emails).toEqual(['c@acme.test', 'b@acme.test', 'a@acme.test']);
  });
});

describe('POST …/invitations/{id}/renew/', () => {
  it('extends the invitation and schedules its mail', async () => {
    const id = await invite({ email: ada.email, role: 'admin' });
    await expire(id);

    const { body } = await renew(id).expect(200);

    expect([body.id, body.role]).toEqual([id, 'admin']);
    await accept(id).expect(200);
  });

  it('does not renew revoked, accepted, unknown or foreign invitations', async () => {
    const [revoked, accepted] = [await invite({ email: 'a@acme.test' }), await invite()];
    await revoke(revoked).expect(204);
    await accept(accepted).expect(200);
    const foreign = await test.api
      .as(test.globex.admin)
      .post(path('', test.globex))
      .send({ email: `${team.slug}@globex.test` });

    for (const id of [revoked, accepted, foreign.body.id, randomUUID(), 'x', '0', 'NULL']) await renew(id).expect(404);
  });
});

describe('DELETE …/invitations/{id}/', () => {
  it('revokes the invitation once and cancels its mail', async () => {
    const id = await invite();

    await revoke(id).expect(204);
    await revoke(id).expect(204);

    expect(await rowOf(id)).toMatchObject({ mailDueAt: null, revokedAt: expect.any(Date) });
    expect(await received()).toEqual([]);
    expect((await audits()).map(([action]) => action)).toEqual(['invitation.create', 'invitation.revoke']);
  });

  it('is refused for an accepted invitation', async () => {
    const id = await invite();
    await accept(id).expect(200);

    await revoke(id).expect(404);
    expect(await seesTeam()).toBe(true);
  });

  it('is for administrators of the team', async () => {
    const id = await invite();

    await revoke(id, team.member).expect(403);
    await revoke(id, test.globex.admin).expect(404);
  });
});

describe('the invited person', () => {
  it('sees open invitations with the name of the team', async () => {
    const id = await invite({ email: ada.email, role: 'admin' });
    await test.db.team.update({ where: { id: team.id }, data: { name: 'Rockets' } });

    const [invitation, ...rest] = await received();

    expect(rest).toEqual([]);
    expect(invitation).toMatchObject({ id, role: 'admin', team_slug: team.slug, team_name: 'Rockets' });
    expect((await test.api.as(ada).get(`/invitations/${id}/`).expect(200)).body).toEqual(invitation);
    await expire(id);
    expect(await received()).toEqual([]);
  });

  it('becomes a member by accepting, also in existing sessions', async () => {
    const id = await invite();
    expect(await seesTeam()).toBe(false);

    const { body } = await accept(id).expect(200);

    expect(body).toMatchObject({ id, is_accepted: true, team_slug: team.slug });
    expect(await seesTeam()).toBe(true);
    expect((await audits()).at(-1)).toEqual(['invitation.accept', ada.email, { role: 'member' }, ada.id]);
  });

  it('becomes a member once for concurrent acceptances', async () => {
    const id = await invite();

    const answers = await Promise.all([accept(id), accept(id), accept(id)]);

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await audits()).filter(([action]) => action === 'invitation.accept')).toHaveLength(1);
    expect(await test.db.membership.count({ where: { teamId: team.id, userId: ada.id } })).toBe(1);
  });

  it('gets an error for an expired invitation', async () => {
    const id = await invite();
    await expire(id);

    expect((await accept(id).expect(409)).body.code).toBe('invitation_expired');
    expect(await seesTeam()).toBe(false);
  });

  it('is the only user who can see and accept the invitation', async () => {
    const id = await invite();
    const eve = await test.createUser(`eve@${team.slug}.test`);

    for (const user of [eve, team.admin, team.member, test.globex.admin]) {
      await accept(id, user).expect(404);
      await test.api.as(user).get(`/invitations/${id}/`).expect(404);
      expect(await received(user)).toEqual([]);
    }
    await test.api.post(`/invitations/${id}/accept/`).expect(401);
  });

  it('keeps a higher role when accepting a lower one', async () => {
    const id = await invite();
    await test.db.membership.create({ data: { teamId: team.id, userId: ada.id, role: 'admin' } });

    await accept(id).expect(200);

    await test.api.as(ada).get(path()).expect(200);
  });

  it('either joins or is refused when the invitation is revoked at the same time', async () => {
    for (const name of ['one', 'two', 'three']) {
      const user = await test.createUser(`${name}@${team.slug}.test`);
      const id = await invite({ email: user.email });

      const [accepted, revoked] = await Promise.all([accept(id, user), revoke(id)]);

      expect([accepted.status, revoked.status].sort()).toEqual([accepted.status === 200 ? 200 : 204, 404]);
      expect(await seesTeam(user)).toBe(accepted.status === 200);
    }
  });
});
