import { randomUUID } from 'node:crypto';
import { userStore } from '@corral/auth';
import { clusterLimits } from '@corral/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { TestUser } from '../support/checked-client.js';
import { CONSOLE_URL, startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

const DAY_MS = 86_400_000;

let test: TestClusterApi;
let team: TestTeam;
let number: number;
beforeAll(async () => {
  test = await startClusterApi();
});
afterAll(() => test.close());
beforeEach(async () => {
  team = await test.createTeam();
  ({ number } = await test.db.team.findUniqueOrThrow({ where: { id: team.id } }));
  test.wakeups.length = 0;
});

const as = (user: Pick<TestUser, 'cookie'>) => test.api.as(user);
const audits = async () =>
  (await test.db.auditEntry.findMany({ where: { teamId: team.id }, orderBy: { id: 'asc' } })).map(
    ({ action, targetName, changes, detail, userId }) => ({ action, targetName, changes, detail, userId }),
  );
const actions = async () => (await audits()).map(({ action }) => action);
const invitationsPath = (rest = '', { slug } = team) =>
  `/a/${slug}/team/api/invitations/${rest === '' ? '' : `${rest}/`}`;
const invite = async (email: string): Promise<string> =>
  (await as(team.admin).post(invitationsPath()).send({ email }).expect(201)).body.id;
const accept = (id: string, user: TestUser) => as(user).post(`/invitations/${id}/accept/`);
const seesTeam = async (user: TestUser) => (await as(user).get(team.path('/clusters/'))).status === 200;

describe('a team', () => {
  const path = (id: string | number = number) => `/teams/api/teams/${id}/`;
  const get = (user = team.admin) => as(user).get(path());
  const put = (body: object, user = team.admin) => as(user).put(path()).send(body);
  const tagOf = async () => (await get().expect(200)).headers.etag as string;

  it('is shown with its members, and to administrators alone with its open invitations', async () => {
    expect((await get().expect(200)).body).toEqual({
      id: number,
      name: team.slug,
      slug: team.slug,
      is_admin: true,
      members: [
        expect.objectContaining({
          display_name: team.admin.email,
          first_name: '',
          last_name: '',
          role: 'admin',
          joined_at: expect.stringMatching(/^\d{4}-/),
        }),
        expect.objectContaining({ display_name: team.member.email, role: 'member' }),
      ],
      invitations: [],
      dashboard_url: `${CONSOLE_URL}/teams/${team.slug}/`,
      subscription: {},
      has_active_subscription: false,
    });
    const { body: invited } = await as(team.admin).post(invitationsPath()).send({ email: 'ada@acme.test' }).expect(201);

    expect((await get()).body.invitations).toEqual([invited]);
    const { body, text } = await get(team.member).expect(200);
    expect([body.invitations, body.is_admin, text.includes('ada@acme.test')]).toEqual([[], false, false]);
    await test.db.invitation.updateMany({ where: { teamId: team.id }, data: { expiresAt: new Date() } });
    expect((await get()).body.invitations).toEqual([]);
  });

  it('is found by its number in canonical form only, not by its slug', async () => {
    for (const id of [`0${number}`, '+1', team.slug]) await as(team.admin).get(path(id)).expect(404);
  });

  it('is renamed in every answer, once in the audit log', async () => {
    const { body } = await put({ name: 'Rocket — science' }).expect(200);
    await put({ name: 'Rocket — science', slug: team.slug }).expect(200);

    expect(body).toMatchObject({ name: 'Rocket — science', slug: team.slug });
    expect((await get()).body).toEqual(body);
    expect((await as(team.member).get('/api/v1/teams/')).body.items[0].name).toBe('Rocket — science');
    expect(await audits()).toEqual([
      {
        action: 'team.rename',
        targetName: team.slug,
        userId: team.admin.id,
        changes: [{ pointer: '/name', from: team.slug, to: 'Rocket — science' }],
        detail: {},
      },
    ]);
  });

  it.each<[string, (read: { members: object[] }) => object, string, string]>([
    ['another slug', () => ({ slug: 'rockets' }), 'immutable_field', '/slug'],
    ['other members', ({ members }) => ({ members: members.slice(1) }), 'immutable_field', '/members'],
    ['a slug that no team has as a name', () => ({ name: 'no-team-of-ours' }), 'validation_failed', '/name'],
  ])('refuses %s and changes nothing', async (_what, change, code, pointer) => {
    const { body: read } = await get();

    const { body } = await put({ name: 'Rockets', ...change(read) }).expect(422);

    expect([body.code, body.errors[0].pointer]).toEqual([code, pointer]);
    expect((await get()).body).toEqual(read);
  });

  it('accepts its own slug as its name, and says so when it refuses that of another team', async () => {
    const { body } = await put({ name: 'globex' }).expect(422);
    await put({ name: team.slug }).expect(200);

    expect(body.detail).toBe(
      `name must not look like the slug of another team. Use a capital letter or a second word, or your own slug ${team.slug}.`,
    );
  });

  it('has an entity tag, which still matches after a member joins, but not after a rename', async () => {
    const tag = await tagOf();
    await get().set('If-None-Match', tag).expect(304);
    await test.createUser(`ada@${team.slug}.test`, [{ team, role: 'member' }]);
    expect(await tagOf()).not.toBe(tag);

    const renamed = await put({ name: 'Acme' }).set('If-Match', tag).expect(200);
    expect(renamed.headers.etag).toBe(await tagOf());
    expect((await put({ name: 'Other' }).set('If-Match', tag).expect(412)).body.code).toBe('precondition_failed');
    expect((await get()).body.name).toBe('Acme');
  });
});

describe('an invitation', () => {
  let ada: TestUser;
  beforeEach(async () => {
    ada = await test.createUser(`ada@${team.slug}.test`);
  });

  const post = (body: object = { email: ada.email }, key?: string) => {
    const sent = as(team.admin).post(invitationsPath());
    return (key === undefined ? sent : sent.set('Idempotency-Key', key)).send(body);
  };
  const renew = (id: string) => as(team.admin).post(invitationsPath(`${id}/renew`));
  const revoke = (id: string) => as(team.admin).delete(invitationsPath(id));
  const list = async (query = '') => (await as(team.admin).get(`${invitationsPath()}${query}`).expect(200)).body;
  const received = async (user = ada) => (await as(user).get('/invitations/').expect(200)).body.items;
  const rowOf = (id: string) => test.db.invitation.findUniqueOrThrow({ where: { id } });
  const expire = (id: string) => test.db.invitation.update({ where: { id }, data: { expiresAt: new Date() } });

  it('is open for 14 days, and its mail is due at once', async () => {
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
    expect(await audits()).toMatchObject([
      { action: 'invitation.create', targetName: ada.email, detail: { role: 'admin' }, userId: team.admin.id },
    ]);
  });

  it('to an address that has an open one renews that, with the new role and another mail', async () => {
    const { body: first } = await post({ email: ada.email.toUpperCase() }).expect(201);
    expect([first.email, first.role]).toEqual([ada.email, 'member']);
    const sent = { expiresAt: new Date(), mailDueAt: null, mailSentAt: new Date(), mailFailures: 3 };
    await test.db.invitation.update({ where: { id: first.id }, data: sent });

    const { body } = await post({ email: ada.email, role: 'admin' }).expect(201);

    expect([body.id, body.role]).toEqual([first.id, 'admin']);
    const row = await rowOf(body.id);
    expect(row.expiresAt.getTime()).toBeGreaterThan(Date.now() + 13 * DAY_MS);
    expect(row).toMatchObject({ mailSentAt: null, mailFailures: 0, mailDueAt: expect.any(Date) });
    expect(await actions()).toEqual(['invitation.create', 'invitation.renew']);
  });

  it('is created once by concurrent requests, and by requests with the same key, which send no second mail', async () => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => post()));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);

    const [first, again] = [await post({ email: 'a@b.test' }, 'k1'), await post({ email: 'a@b.test' }, 'k1')];

    expect([again.status, again.body]).toEqual([201, first.body]);
    expect((await actions()).filter((action) => action === 'invitation.create')).toHaveLength(2);
    const other = await post({ email: 'a@b.test', role: 'admin' }, 'k1').expect(422);
    expect(other.body.code).toBe('idempotency_key_reused');
  });

  it.each<[string, () => object, number, string, string | undefined]>([
    ['to a member', () => ({ email: team.member.email.toUpperCase() }), 409, 'already_member', undefined],
    ['that is accepted', () => ({ email: 'a@b.test', is_accepted: true }), 422, 'validation_failed', '/is_accepted'],
    ['for another team', () => ({ email: 'a@b.test', team: number + 1 }), 422, 'validation_failed', '/team'],
  ])('%s is refused', async (_what, bodyOf, status, code, pointer) => {
    const { body } = await post(bodyOf()).expect(status);

    expect([body.code, body.errors?.[0].pointer]).toEqual([code, pointer]);
    expect(await test.db.invitation.count({ where: { teamId: team.id } })).toBe(0);
  });

  it('is one of a limited number of open ones', async () => {
    const of = { teamId: team.id, role: 'member' as const, invitedBy: team.admin.id };
    const expiresAt = new Date(Date.now() + DAY_MS);
    const data = Array.from({ length: clusterLimits.invitationsPerTeam }, (_, at) => ({
      ...of,
      email: `p${at}@acme.test`,
      expiresAt,
    }));
    await test.db.invitation.createMany({ data });

    expect((await post().expect(403)).body.code).toBe('quota_exceeded');
    await post({ email: 'p0@acme.test' }).expect(201);
  });

  it('sends a limited number of mails to one address', async () => {
    const id = await invite(ada.email);
    for (let mail = 2; mail <= clusterLimits.invitationMailsPerAddressPerHour; mail += 1) await renew(id).expect(200);

    const answers = [await renew(id), await post()];
    await revoke(id).expect(204);
    answers.push(await post());

    for (const { status, body, headers } of answers) {
      expect([status, body.code]).toEqual([429, 'rate_limit_exceeded']);
      expect(Number(headers['retry-after'])).toBeGreaterThan(3_500);
    }
  });

  it('is listed, newest first and in pages, until it is accepted or revoked', async () => {
    const ids: string[] = [];
    for (const email of ['a@acme.test', 'b@acme.test', 'c@acme.test', ada.email]) ids.push(await invite(email));
    const [first, second, third, last] = ids as [string, string, string, string];
    await revoke(first).expect(204);
    await expire(second);

    const page = await list('?limit=2');
    const rest = await list(`?limit=2&cursor=${page.next}`);

    const items = [...page.items, ...rest.items];
    expect(items.map(({ id }) => id)).toEqual([last, third, second]);
    const expiry = (await rowOf(last)).expiresAt.toISOString();
    expect(items[0]).toMatchObject({ email: ada.email, is_accepted: false, mail_sent_at: null, expires_at: expiry });
    await accept(last, ada).expect(200);
    expect((await list()).items.map(({ id }: { id: string }) => id)).toEqual([third, second]);
  });

  it('is extended by a renewal, unless it is revoked, accepted, unknown or of another team', async () => {
    const id = await invite(ada.email);
    await expire(id);
    expect((await renew(id).expect(200)).body).toMatchObject({ id, role: 'member' });
    await accept(id, ada).expect(200);
    const revoked = await invite('a@acme.test');
    await revoke(revoked).expect(204);
    const foreign = await as(test.globex.admin)
      .post(invitationsPath('', test.globex))
      .send({ email: `${team.slug}@globex.test` });

    for (const other of [id, revoked, foreign.body.id, randomUUID(), 'x', '0', 'NULL']) await renew(other).expect(404);
  });

  it('is revoked once, with its mail, unless it was accepted', async () => {
    const id = await invite(ada.email);

    await revoke(id).expect(204);
    await revoke(id).expect(204);

    expect(await rowOf(id)).toMatchObject({ mailDueAt: null, revokedAt: expect.any(Date) });
    expect(await received()).toEqual([]);
    expect(await actions()).toEqual(['invitation.create', 'invitation.revoke']);
    const other = await invite(ada.email);
    await accept(other, ada).expect(200);
    await revoke(other).expect(404);
    expect(await seesTeam(ada)).toBe(true);
  });

  it('is seen and accepted by the person with its address alone, also in existing sessions', async () => {
    const id = await invite(ada.email);
    await test.db.team.update({ where: { id: team.id }, data: { name: 'Rockets' } });
    const eve = await test.createUser(`eve@${team.slug}.test`);
    for (const user of [eve, team.admin, team.member, test.globex.admin]) {
      await accept(id, user).expect(404);
      await as(user).get(`/invitations/${id}/`).expect(404);
      expect(await received(user)).toEqual([]);
    }
    await test.api.post(`/invitations/${id}/accept/`).expect(401);
    const [shown] = await received();
    expect(shown).toMatchObject({ id, role: 'member', team_slug: team.slug, team_name: 'Rockets' });
    expect((await as(ada).get(`/invitations/${id}/`).expect(200)).body).toEqual(shown);
    expect(await seesTeam(ada)).toBe(false);

    const answers = await Promise.all([accept(id, ada), accept(id, ada), accept(id, ada)]);

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers[0]?.body).toMatchObject({ id, is_accepted: true, team_slug: team.slug });
    expect(await seesTeam(ada)).toBe(true);
    expect(await test.db.membership.count({ where: { teamId: team.id, userId: ada.id } })).toBe(1);
    expect((await audits()).filter(({ action }) => action === 'invitation.accept')).toMatchObject([
      { targetName: ada.email, detail: { role: 'member' }, userId: ada.id },
    ]);
  });

  it('is declined by the person with its address alone, which ends it, and may be sent anew', async () => {
    const decline = (id: string, user = ada) => as(user).post(`/invitations/${id}/decline/`);
    const id = await invite(ada.email);
    for (const user of [team.admin, test.globex.admin]) await decline(id, user).expect(404);

    await decline(id).expect(204);
    await decline(id).expect(204);

    await accept(id, ada).expect(404);
    await as(ada).get(`/invitations/${id}/`).expect(404);
    expect([await received(), (await list()).items]).toEqual([[], []]);
    expect(await rowOf(id)).toMatchObject({ mailDueAt: null });
    expect((await audits()).filter(({ action }) => action === 'invitation.decline')).toMatchObject([
      { targetName: ada.email, userId: ada.id },
    ]);
    const other = await invite(ada.email);
    await accept(other, ada).expect(200);
    await decline(other).expect(404);
    expect(await seesTeam(ada)).toBe(true);
  });

  it('is either accepted or revoked when both happen at the same time', async () => {
    for (const name of ['one', 'two', 'three']) {
      const user = await test.createUser(`${name}@${team.slug}.test`);
      const id = await invite(user.email);

      const [accepted, revoked] = await Promise.all([accept(id, user), revoke(id)]);

      expect([accepted.status, revoked.status].sort()).toEqual([accepted.status === 200 ? 200 : 204, 404]);
      expect(await seesTeam(user)).toBe(accepted.status === 200);
    }
  });
});

describe('a member', () => {
  const numberOf = async ({ id: userId }: Pick<TestUser, 'id'>) =>
    (await test.db.membership.findUniqueOrThrow({ where: { teamId_userId: { teamId: team.id, userId } } })).number;
  const path = (rest: string | number = '') => `/a/${team.slug}/team/api/members/${rest === '' ? '' : `${rest}/`}`;
  const setRole = async (who: TestUser, body: object, query = '') =>
    as(team.admin)
      .put(`${path(await numberOf(who))}${query}`)
      .send(body);
  const remove = async (who: TestUser, by = team.admin, query = '') =>
    as(by).delete(`${path(await numberOf(who))}${query}`);
  const makeToken = async (by: TestUser, name: string, of = team): Promise<string> =>
    (await as(by).post(of.path('/dns-tokens/')).send({ name }).expect(201)).body.id;
  const inForce = async (ids: string[]): Promise<string[]> =>
    (await test.db.dnsToken.findMany({ where: { id: { in: ids }, revokedAt: null } })).map(({ id }) => id).sort();
  const secondAdmin = (name = 'ada') => test.createUser(`${name}@${team.slug}.test`, [{ team, role: 'admin' }]);
  const roles = async () =>
    (await test.db.membership.findMany({ where: { teamId: team.id }, orderBy: { number: 'asc' } })).map(
      ({ role }) => role,
    );

  it('has another role with the next request, and nothing is written when it is the same', async () => {
    const { body: list } = await as(team.admin).get(path());

    expect(await setRole(team.member, { ...list.items[1], role: 'admin' })).toMatchObject({
      status: 200,
      body: { role: 'admin' },
    });
    expect(await setRole(team.member, { role: 'admin' })).toMatchObject({ status: 200 });

    await as(team.member).get(invitationsPath()).expect(200);
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

  it('who becomes a viewer only reads and has no DNS token any more', async () => {
    const own = [await makeToken(team.member, 'ci')];
    const others = [await makeToken(team.admin, 'monitor')];
    await as(team.member).post(team.path('/dns-session/')).expect(201);

    expect(await setRole(team.member, { role: 'viewer' })).toMatchObject({ status: 200, body: { role: 'viewer' } });

    await as(team.member).get(team.path('/clusters/')).expect(200);
    const refused = await as(team.member).post(team.path('/dns-tokens/')).send({ name: 'again' }).expect(403);
    expect(refused.body.code).toBe('permission_denied');
    expect(await inForce([...own, ...others])).toEqual(others);
    const { id: createdById } = team.member;
    expect(await test.db.dnsToken.count({ where: { teamId: team.id, createdById, revokedAt: null } })).toBe(0);
    expect((await audits()).at(-1)).toMatchObject({ action: 'member.change', detail: { dnsTokensRevoked: 'ci' } });
  });

  it('who would become a viewer would lose their DNS tokens, and a dry run says which and changes nothing', async () => {
    const own = await makeToken(team.member, 'ci');
    await makeToken(team.admin, 'monitor');

    const planned = await setRole(team.member, { role: 'viewer' }, '?dryRun=true');
    const kept = await setRole(team.member, { role: 'viewer' }, '?dryRun=true&dns_tokens=hand_over');
    const promoted = await setRole(team.member, { role: 'admin' }, '?dryRun=true');

    const ended = [{ id: own, name: 'ci' }];
    expect(planned).toMatchObject({
      status: 200,
      body: { dryRun: true, resource: { role: 'viewer' }, dns_tokens: { revoked: ended, handed_over: [] } },
    });
    expect(kept.body.dns_tokens).toEqual({ revoked: [], handed_over: ended });
    expect(promoted.body.dns_tokens).toEqual({ revoked: [], handed_over: [] });
    expect(await roles()).toEqual(['admin', 'member']);
    expect(await inForce([own])).toEqual([own]);
    await as(team.member)
      .put(`${path(await numberOf(team.member))}?dryRun=true`)
      .send({ role: 'viewer' })
      .expect(403);
  });

  it('who becomes a viewer leaves their DNS tokens to the team if the administrator says so', async () => {
    const own = [await makeToken(team.member, 'ci')];

    expect(await setRole(team.member, { role: 'viewer' }, '?dns_tokens=hand_over')).toMatchObject({ status: 200 });

    expect(await inForce(own)).toEqual(own);
    expect(
      await test.db.dnsToken.count({ where: { teamId: team.id, createdById: team.member.id, revokedAt: null } }),
    ).toBe(0);
    expect((await audits()).at(-1)).toMatchObject({ action: 'member.change', detail: { dnsTokensHandedOver: 'ci' } });
  });

  it.each<[string, object, string, string]>([
    ['another name', { role: 'admin', first_name: 'Eve' }, 'immutable_field', '/first_name'],
    ['another time', { role: 'admin', joined_at: '2020-01-01T00:00:00.000Z' }, 'immutable_field', '/joined_at'],
  ])('cannot get %s', async (_what, body, code, pointer) => {
    const answer = await setRole(team.member, body);

    expect([answer.status, answer.body.code, answer.body.errors[0].pointer]).toEqual([422, code, pointer]);
    expect(await roles()).toEqual(['admin', 'member']);
  });

  it('who is the last administrator keeps the role and cannot leave', async () => {
    for (const answer of [await setRole(team.admin, { role: 'member' }), await remove(team.admin)]) {
      expect([answer.status, answer.body.code]).toEqual([409, 'last_admin']);
    }
    expect(await roles()).toEqual(['admin', 'member']);

    await secondAdmin();
    expect(await remove(team.admin)).toMatchObject({ status: 200 });
  });

  it('who is removed has no access with the next request, also in existing sessions', async () => {
    expect(await seesTeam(team.member)).toBe(true);

    expect(await remove(team.member)).toMatchObject({ status: 200 });

    await as(team.member).get(team.path('/clusters/')).expect(404);
    await as(team.member).get(path()).expect(404);
    expect((await as(team.member).get('/api/v1/me/').expect(200)).body.teams).toEqual([]);
  });

  it('can leave but not remove others', async () => {
    expect(await remove(team.admin, team.member)).toMatchObject({ status: 403, body: { code: 'permission_denied' } });
    expect(await remove(team.member, team.member)).toMatchObject({ status: 200 });

    expect(await audits()).toEqual([
      expect.objectContaining({ action: 'member.leave', targetName: team.member.email, userId: team.member.id }),
    ]);
  });

  it('who is removed loses the DNS tokens of this team, which answer and audit log list', async () => {
    const [ci, backup] = [await makeToken(team.member, 'ci'), await makeToken(team.member, 'backup')];
    const others = await makeToken(team.admin, 'monitor');
    await userStore(test.db).saveMember(test.globex, team.member, 'member');
    const foreign = await makeToken(team.member, 'elsewhere', test.globex);

    const { status, body } = await remove(team.member);

    const revoked = [
      { id: backup, name: 'backup' },
      { id: ci, name: 'ci' },
    ];
    expect([status, body]).toEqual([200, { dns_tokens: { revoked, handed_over: [] } }]);
    expect(await inForce([ci, backup, others, foreign])).toEqual([others, foreign].sort());
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

  it('hands DNS tokens over to the team at an administrator’s request, and has no access to them any more', async () => {
    const id = await makeToken(team.member, 'ci');

    const { body } = await remove(team.member, team.admin, '?dns_tokens=hand_over');

    expect(body).toEqual({ dns_tokens: { revoked: [], handed_over: [{ id, name: 'ci' }] } });
    expect(await inForce([id])).toEqual([id]);
    expect((await as(team.admin).get(team.path(`/dns-tokens/${id}/`))).body.createdBy).toBeNull();
    const detail = { role: 'member', dnsTokensRevoked: '', dnsTokensHandedOver: 'ci' };
    expect((await audits()).slice(1)).toMatchObject([
      { action: 'dns_token.hand_over', targetName: 'ci', userId: team.admin.id },
      { action: 'member.remove', changes: null, detail },
    ]);
    await userStore(test.db).saveMember(team, team.member, 'member');
    await as(team.member)
      .get(team.path(`/dns-tokens/${id}/`))
      .expect(404);
    expect((await remove(team.member)).body.dns_tokens.revoked).toEqual([]);
  });

  it('who is removed leaves no DNS token of a concurrent creation behind', async () => {
    for (let round = 0; round < 5; round += 1) {
      const user = await test.createUser(`r${round}@${team.slug}.test`, [{ team, role: 'member' }]);
      const at = await numberOf(user);

      const [made] = await Promise.all([
        as(user)
          .post(team.path('/dns-tokens/'))
          .send({ name: `r${round}` }),
        as(team.admin).delete(path(at)),
      ]);

      expect([201, 404]).toContain(made.status);
      expect(await test.db.dnsToken.count({ where: { createdById: user.id, revokedAt: null } })).toBe(0);
    }
  });

  it('who is removed has no invitation that leads back into the team', async () => {
    const stranger = await test.createUser(`eve@${team.slug}.test`);
    const id = await invite(stranger.email);
    await accept(id, stranger).expect(200);

    await remove(stranger);

    await accept(id, stranger).expect(404);
    await as(stranger).get(`/invitations/${id}/`).expect(404);
  });

  it('has an entity tag, with which neither role nor membership changes once the role has', async () => {
    const at = await numberOf(team.member);
    const tag = (await as(team.member).get(path(at)).expect(200)).headers.etag as string;
    await test.db.user.update({ where: { id: team.member.id }, data: { firstName: 'Grace' } });

    const put = (role: string) => as(team.admin).put(path(at)).set('If-Match', tag).send({ role });
    await put('admin').expect(200);
    expect((await put('member').expect(412)).body.code).toBe('precondition_failed');
    await as(team.admin).delete(path(at)).set('If-Match', tag).expect(412);

    expect(await roles()).toEqual(['admin', 'admin']);
  });

  it('stays administrator when two remove each other or step back together', async () => {
    for (const round of ['one', 'two', 'three', 'four']) {
      const other = await secondAdmin(round);
      const [a, b] = [await numberOf(team.admin), await numberOf(other)];

      const answers = await Promise.all(
        round === 'one' || round === 'two'
          ? [as(team.admin).delete(path(b)), as(other).delete(path(a))]
          : [as(team.admin).put(path(a)).send({ role: 'member' }), as(other).put(path(b)).send({ role: 'member' })],
      );

      expect((await roles()).filter((role) => role === 'admin')).toHaveLength(1);
      expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
      // The first administrator is back for the next round.
      await test.db.membership.deleteMany({ where: { teamId: team.id, userId: other.id } });
      await userStore(test.db).saveMember(team, team.admin, 'admin');
    }
  });
});
