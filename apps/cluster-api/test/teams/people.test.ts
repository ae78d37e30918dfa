import { randomUUID } from 'node:crypto';
import { type UserStore, userStore } from '@corral/auth';
import { clusterLimits } from '@corral/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { TestUser } from '../support/checked-client.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

let test: TestClusterApi;
beforeAll(async () => {
  test = await startClusterApi();
});
afterAll(() => test.close());

describe('invitations', () => {
  let team: TestTeam;
  let ada: TestUser;
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
      ['an unknown role', { email: 'ada@acme.test', role: 'owner' }, '/role'],
      ['an acceptance', { email: 'ada@acme.test', is_accepted: true }, '/is_accepted'],
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

      for (const id of [revoked, accepted, foreign.body.id, randomUUID(), 'x', '0', 'NULL'])
        await renew(id).expect(404);
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
});

describe('members', () => {
  let team: TestTeam;
  let users: UserStore;
  beforeAll(async () => {
    users = userStore(test.db);
  });
  beforeEach(async () => {
    team = await test.createTeam(`t-${randomUUID().slice(0, 8)}`);
  });

  const numberOf = async ({ id: userId }: Pick<TestUser, 'id'>) =>
    (await test.db.membership.findUniqueOrThrow({ where: { teamId_userId: { teamId: team.id, userId } } })).number;
  const path = (rest: string | number = '') => `/a/${team.slug}/team/api/members/${rest === '' ? '' : `${rest}/`}`;
  const setRole = async (who: TestUser, body: object, by = team.admin) =>
    test.api
      .as(by)
      .put(path(await numberOf(who)))
      .send(body);
  const remove = async (who: TestUser, by = team.admin, query = '') =>
    test.api.as(by).delete(`${path(await numberOf(who))}${query}`);
  const makeToken = async (by: TestUser, name: string): Promise<string> =>
    (await test.api.as(by).post(team.path('/dns-tokens/')).send({ name }).expect(201)).body.id;
  const inForce = async (ids: string[]): Promise<string[]> =>
    (await test.db.dnsToken.findMany({ where: { id: { in: ids }, revokedAt: null } })).map(({ id }) => id).sort();
  const secondAdmin = (name = 'ada') => test.createUser(`${name}@${team.slug}.test`, [{ team, role: 'admin' }]);
  const rolesNow = async () =>
    (await test.db.membership.findMany({ where: { teamId: team.id }, orderBy: { number: 'asc' } })).map(
      ({ role }) => role,
    );
  const audits = async () =>
    (await test.db.auditEntry.findMany({ where: { teamId: team.id }, orderBy: { id: 'asc' } })).map(
      ({ action, targetName, changes, detail, userId }) => ({ action, targetName, changes, detail, userId }),
    );

  describe('GET …/members/', () => {
    it('lists them in pages, longest membership first', async () => {
      const third = await secondAdmin();

      const first = await test.api.as(team.member).get(`${path()}?limit=2`).expect(200);
      const second = await test.api.as(team.member).get(`${path()}?limit=2&cursor=${first.body.next}`).expect(200);

      const shown = [first, second].flatMap(({ body }) => body.items);
      expect(shown.map(({ display_name, role }) => [display_name, role])).toEqual([
        [team.admin.email, 'admin'],
        [team.member.email, 'member'],
        [third.email, 'admin'],
      ]);
    });

    it.each(['WyJ4Il0', 'WyItMSJd', 'WyI5OTk5OTk5OTk5OSJd', 'x'])('refuses the cursor %s', async (cursor) => {
      await test.api.as(team.member).get(`${path()}?cursor=${cursor}`).expect(422);
    });
  });

  describe('PUT …/members/{id}/', () => {
    it('changes a role from the member’s next request on', async () => {
      const { status, body } = await setRole(team.member, { role: 'admin' });

      expect([status, body.role]).toEqual([200, 'admin']);
      await test.api.as(team.member).get(`/a/${team.slug}/team/api/invitations/`).expect(200);
      expect(await audits()).toEqual([
        {
          action: 'member.change',
          targetName: team.member.email,
          userId: team.admin.id,
          changes: [{ pointer: '/role', from: 'member', to: 'admin' }],
          detail: {},
        },
      ]);
    });

    it('makes a member a viewer, who only reads and has no DNS token any more', async () => {
      const own = [await makeToken(team.member, 'ci')];
      const others = [await makeToken(team.admin, 'monitor')];
      await test.api.as(team.member).post(team.path('/dns-session/')).expect(201);

      expect(await setRole(team.member, { role: 'viewer' })).toMatchObject({ status: 200, body: { role: 'viewer' } });

      await test.api.as(team.member).get(team.path('/clusters/')).expect(200);
      const refused = await test.api
        .as(team.member)
        .post(team.path('/dns-tokens/'))
        .send({ name: 'again' })
        .expect(403);
      expect(refused.body.code).toBe('permission_denied');
      expect(await inForce([...own, ...others])).toEqual(others);
      const { id: createdById } = team.member;
      expect(await test.db.dnsToken.count({ where: { teamId: team.id, createdById, revokedAt: null } })).toBe(0);
      expect((await audits()).at(-1)).toMatchObject({ action: 'member.change', detail: { dnsTokensRevoked: 'ci' } });
    });

    it('accepts the body of a GET and writes nothing for an unchanged role', async () => {
      const { body: list } = await test.api.as(team.admin).get(path());

      expect(await setRole(team.member, { ...list.items[1], role: 'admin' })).toMatchObject({ status: 200 });
      expect(await setRole(team.member, { role: 'admin' })).toMatchObject({ status: 200 });
      expect(await audits()).toHaveLength(1);
    });

    it.each<[string, object, string, string]>([
      ['another name', { role: 'admin', first_name: 'Eve' }, 'immutable_field', '/first_name'],
      ['an unknown role', { role: 'owner' }, 'validation_failed', '/role'],
      ['no role', {}, 'validation_failed', '/role'],
      ['an unknown field', { role: 'admin', email: 'x@y' }, 'validation_failed', '/email'],
    ])('refuses %s', async (_what, body, code, pointer) => {
      const answer = await setRole(team.member, body);

      expect([answer.status, answer.body.code, answer.body.errors[0].pointer]).toEqual([422, code, pointer]);
      expect(await rolesNow()).toEqual(['admin', 'member']);
    });

    it('does not demote the last administrator', async () => {
      const { status, body } = await setRole(team.admin, { role: 'member' });

      expect([status, body.code]).toEqual([409, 'last_admin']);
      expect(await rolesNow()).toEqual(['admin', 'member']);
    });

    it('does not find members of other teams', async () => {
      const { number } = await test.db.membership.findFirstOrThrow({ where: { teamId: test.globex.id } });

      await test.api.as(team.admin).put(path(number)).send({ role: 'admin' }).expect(404);
      await test.api.as(team.admin).delete(path(number)).expect(404);
    });

    it.each(['0', '-1'])('does not find a member %s', async (id) => {
      await test.api.as(team.admin).put(path(id)).send({ role: 'admin' }).expect(404);
    });
  });

  describe('DELETE …/members/{id}/', () => {
    it('removes access immediately, also in existing sessions', async () => {
      await test.api.as(team.member).get(team.path('/clusters/')).expect(200);

      expect(await remove(team.member)).toMatchObject({ status: 200 });

      await test.api.as(team.member).get(team.path('/clusters/')).expect(404);
      await test.api.as(team.member).get(path()).expect(404);
      expect((await test.api.as(team.member).get('/api/v1/me/').expect(200)).body.teams).toEqual([]);
    });

    it('lets a member leave but not remove others', async () => {
      expect(await remove(team.admin, team.member)).toMatchObject({ status: 403, body: { code: 'permission_denied' } });
      expect(await remove(team.member, team.member)).toMatchObject({ status: 200 });

      expect(await audits()).toEqual([
        expect.objectContaining({ action: 'member.leave', targetName: team.member.email, userId: team.member.id }),
      ]);
    });

    it('does not remove the last administrator', async () => {
      const { status, body } = await remove(team.admin);

      expect([status, body.code]).toEqual([409, 'last_admin']);
      await secondAdmin();
      expect(await remove(team.admin)).toMatchObject({ status: 200 });
    });

    it('revokes the member’s DNS tokens and lists them in the answer and the audit log', async () => {
      const own = [await makeToken(team.member, 'ci'), await makeToken(team.member, 'backup')];
      const others = await makeToken(team.admin, 'monitor');
      const elsewhere = await test.createUser(`x@${team.slug}.test`, [{ team: test.globex, role: 'member' }]);
      const foreign = await test.api
        .as(elsewhere)
        .post(test.globex.path('/dns-tokens/'))
        .send({ name: 'ci' })
        .expect(201);

      const { status, body } = await remove(team.member);

      const [ci, backup] = own;
      const revoked = [
        { id: backup, name: 'backup' },
        { id: ci, name: 'ci' },
      ];
      expect([status, body]).toEqual([200, { dns_tokens: { revoked, handed_over: [] } }]);
      expect(await inForce([...own, others, foreign.body.id])).toEqual([others, foreign.body.id].sort());
      expect(await audits()).toContainEqual({
        action: 'member.remove',
        targetName: team.member.email,
        userId: team.admin.id,
        changes: null,
        detail: { role: 'member', dnsTokensRevoked: 'backup, ci', dnsTokensHandedOver: '' },
      });
      const revocations = (await audits()).filter(({ action }) => action === 'dns_token.revoke');
      expect(revocations.map(({ targetName }) => targetName).sort()).toEqual(['backup', 'ci']);
    });

    it('hands DNS tokens over to the team at an administrator’s request', async () => {
      const id = await makeToken(team.member, 'ci');

      const { body } = await remove(team.member, team.admin, '?dns_tokens=hand_over');

      expect(body).toEqual({ dns_tokens: { revoked: [], handed_over: [{ id, name: 'ci' }] } });
      expect(await inForce([id])).toEqual([id]);
      expect((await test.api.as(team.admin).get(team.path(`/dns-tokens/${id}/`))).body.createdBy).toBeNull();
      expect(await audits()).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ action: 'dns_token.hand_over', targetName: 'ci', userId: team.admin.id }),
          expect.objectContaining({
            action: 'member.remove',
            changes: null,
            detail: { role: 'member', dnsTokensRevoked: '', dnsTokensHandedOver: 'ci' },
          }),
        ]),
      );
      // Back in the team, they have no special access to the token.
      await users.saveMember(team, team.member, 'member');
      await test.api
        .as(team.member)
        .get(team.path(`/dns-tokens/${id}/`))
        .expect(404);
      expect((await remove(team.member)).body.dns_tokens.revoked).toEqual([]);
    });

    it('revokes the DNS tokens of a leaving member, who cannot hand them over', async () => {
      const id = await makeToken(team.member, 'ci');

      const kept = await remove(team.member, team.member, '?dns_tokens=hand_over');
      expect([kept.status, kept.body.code]).toEqual([403, 'permission_denied']);
      expect((await remove(team.member, team.member, '?dns_tokens=keep')).status).toBe(422);
      expect(await inForce([id])).toEqual([id]);

      expect((await remove(team.member, team.member)).body.dns_tokens.revoked).toEqual([{ id, name: 'ci' }]);
      expect(await inForce([id])).toEqual([]);
    });

    it('leaves no DNS token of a concurrent creation behind', async () => {
      for (let round = 0; round < 5; round += 1) {
        const user = await test.createUser(`r${round}@${team.slug}.test`, [{ team, role: 'member' }]);
        const number = await numberOf(user);

        const [made] = await Promise.all([
          test.api
            .as(user)
            .post(team.path('/dns-tokens/'))
            .send({ name: `r${round}` }),
          test.api.as(team.admin).delete(path(number)),
        ]);

        expect([201, 404]).toContain(made.status);
        const left = await test.db.dnsToken.count({ where: { createdById: user.id, revokedAt: null } });
        expect(left).toBe(0);
      }
    });

    it('revokes invitations that would lead back into the team', async () => {
      const invitations = `/a/${team.slug}/team/api/invitations/`;
      const stranger = await test.createUser(`eve@${team.slug}.test`);
      const invited = await test.api.as(team.admin).post(invitations).send({ email: stranger.email }).expect(201);
      const accept = () => test.api.as(stranger).post(`/invitations/${invited.body.id}/accept/`);
      await accept().expect(200);

      await remove(stranger);

      await accept().expect(404);
      await test.api.as(stranger).get(`/invitations/${invited.body.id}/`).expect(404);
      await test.api.as(stranger).get(path()).expect(404);
    });
  });

  describe('concurrent requests', () => {
    it('leave the team an administrator when two remove each other or step back together', async () => {
      for (const round of ['one', 'two', 'three', 'four']) {
        const other = await secondAdmin(round);
        const [a, b] = [await numberOf(team.admin), await numberOf(other)];

        const answers = await Promise.all(
          round === 'one' || round === 'two'
            ? [test.api.as(team.admin).delete(path(b)), test.api.as(other).delete(path(a))]
            : [
                test.api.as(team.admin).put(path(a)).send({ role: 'member' }),
                test.api.as(other).put(path(b)).send({ role: 'member' }),
              ],
        );

        expect((await rolesNow()).filter((role) => role === 'admin')).toHaveLength(1);
        expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
        // Restore the first administrator for the next round.
        const { db } = test;
        await db.membership.deleteMany({ where: { teamId: team.id, userId: other.id } });
        const key = { teamId: team.id, userId: team.admin.id };
        await db.membership.upsert({
          where: { teamId_userId: key },
          create: { ...key, role: 'admin' },
          update: { role: 'admin' },
        });
      }
    });
  });

  describe('the entity tag of a member', () => {
    const tagOf = async (number: number) => {
      const { headers, body } = await test.api.as(team.member).get(path(number)).expect(200);
      expect(body.id).toBe(number);
      return headers.etag as string;
    };

    it('still matches after other details of the person change, but not after the role changes', async () => {
      const number = await numberOf(team.member);
      const tag = await tagOf(number);
      await test.db.user.update({ where: { id: team.member.id }, data: { firstName: 'Grace' } });
      expect(await tagOf(number)).not.toBe(tag);

      const put = (role: string) => test.api.as(team.admin).put(path(number)).set('If-Match', tag).send({ role });
      const changed = await put('admin').expect(200);
      expect(changed.headers.etag).toBe(await tagOf(number));
      expect((await put('member').expect(412)).body.code).toBe('precondition_failed');
      await test.api.as(team.admin).delete(path(number)).set('If-Match', tag).expect(412);

      expect(await rolesNow()).toEqual(['admin', 'admin']);
    });

    it('allows conditional reads', async () => {
      const number = await numberOf(team.member);

      const tag = await tagOf(number);

      await test.api.as(team.member).get(path(number)).set('If-None-Match', tag).expect(304);
    });

    it('is not served for unknown members or those of other teams', async () => {
      const stranger = await test.createTeam(`t-${randomUUID().slice(0, 8)}`);
      const { number } = await test.db.membership.findFirstOrThrow({ where: { teamId: stranger.id } });

      for (const absent of [number, 2_147_483_647, 'x']) await test.api.as(team.member).get(path(absent)).expect(404);
    });
  });
});
