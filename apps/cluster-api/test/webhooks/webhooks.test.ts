import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

let test: TestClusterApi;
beforeAll(async () => {
  test = await startClusterApi();
});
afterAll(() => test.close());
let team: TestTeam;
beforeEach(async () => {
  team = await test.createTeam();
});

const URL = 'https://hooks.example.org/corral';
const path = (rest = '') => `/webhooks/${rest}`;
const asAdmin = () => team.asAdmin;
const put = (name: string, spec: object) =>
  asAdmin()
    .put(path(`${name}/`))
    .send({ spec });
const replay = (since: Date) => asAdmin().post(path('chat/replay/')).send({ since: since.toISOString() });
const rowOf = (name: string) => test.db.webhook.findFirstOrThrow({ where: { teamId: team.id, name } });
const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
const secretsOf = async (name: string) => {
  const { id, secretsKeyId: keyId, sealedSecrets: bytes } = await rowOf(name);
  return test.secrets.open({ keyId, bytes }, id).split(' ');
};

describe('a webhook', () => {
  it('is created with a secret that is shown once, changed, listed and deleted by administrators', async () => {
    const { body: created, headers } = await put('chat', { url: URL }).expect(201);
    expect(headers['cache-control']).toBe('no-store');
    const { secret, ...shown } = created;
    expect(shown).toMatchObject({
      spec: { url: URL, kinds: [] },
      status: { deliveredAt: null, failingSince: null, failures: 0, lastFailure: null, nextTryAt: null },
    });
    expect(await secretsOf('chat')).toEqual([secret]);
    expect((await put('chat', { url: URL }).expect(200)).body).toEqual(shown);
    const { body: changed } = await put('chat', { url: URL, kinds: ['Operation'] }).expect(200);

    expect((await asAdmin().get(path()).expect(200)).body.items).toEqual([changed]);
    expect((await asAdmin().get(path('chat/')).expect(200)).body).toEqual(changed);
    await team.asMember.get(path()).expect(403);
    await asAdmin().delete(path('chat/')).expect(204);
    await asAdmin().get(path('chat/')).expect(404);
    const entries = await test.db.auditEntry.findMany({ where: { teamId: team.id }, orderBy: { id: 'asc' } });
    expect(entries.map(({ action }) => action)).toEqual(['webhook.create', 'webhook.change', 'webhook.delete']);
    expect(JSON.stringify(entries, (_key, value) => (typeof value === 'bigint' ? 0 : value))).not.toContain('whsec_');
  });

  it.each(['http://hooks.example.org', 'https://10.0.0.1', 'https://169.254.169.254/latest', 'https://u:p@hooks.test'])(
    'cannot have the URL %s',
    async (url) => {
      const { body } = await put('chat', { url }).expect(422);

      expect(body.errors).toMatchObject([{ pointer: '/spec/url' }]);
    },
  );

  it('is one of at most 10 of the team', async () => {
    for (let count = 0; count < 10; count += 1) await put(`w${count}`, { url: URL }).expect(201);

    expect((await put('another', { url: URL }).expect(403)).body.code).toBe('quota_exceeded');
    await put('w3', { url: `${URL}/new` }).expect(200);
  });

  it('gets a new secret, and keeps the one before for a day', async () => {
    const { secret: first } = (await put('chat', { url: URL })).body;
    const { body } = await asAdmin().post(path('chat/secret/')).expect(201).expect('cache-control', 'no-store');
    const second = (await asAdmin().post(path('chat/secret/')).expect(201)).body.secret;

    expect(new Date(body.previousUntil).getTime()).toBeGreaterThan(hoursAgo(-23).getTime());
    expect(new Set([first, body.secret, second]).size).toBe(3);
    expect(await secretsOf('chat')).toEqual([second, body.secret]);
  });
});

describe('a failing webhook', () => {
  const fail = () =>
    test.db.webhook.updateMany({
      where: { teamId: team.id },
      data: { failures: 3, failingSince: hoursAgo(1), lastFailure: 'status 500', dueAt: hoursAgo(-1), notice: null },
    });

  it('shows since when and why, and is tried at once by a test', async () => {
    await put('chat', { url: URL });
    await fail();
    const { body } = await asAdmin().get(path('chat/'));
    expect(body.status).toMatchObject({ failures: 3, lastFailure: 'status 500' });
    expect(new Date(body.status.nextTryAt).getTime()).toBeGreaterThan(Date.now());

    await asAdmin().post(path('chat/test/')).expect(200);

    expect(await rowOf('chat')).toMatchObject({ notice: 'test' });
    expect((await rowOf('chat')).dueAt.getTime()).toBeLessThanOrEqual(Date.now() + 1_000);
  });
});

describe('a replay', () => {
  it('moves a webhook back to the first event since a time, and never forward', async () => {
    await put('before', { url: URL });
    const startsAt = new Date(Date.now() - 1_000);
    await put('chat', { url: URL });
    await test.createUser(`new@${team.slug}.test`, [{ team, role: 'member' }]);
    await test.pool.query(
      `UPDATE webhook SET position_xid = (SELECT max(xid) + 1 FROM team_event), position_at = now() WHERE name = 'chat'`,
    );
    const [first] = await test.db.teamEvent.findMany({
      where: { teamId: team.id, createdAt: { gte: startsAt } },
      orderBy: [{ xid: 'asc' }, { id: 'asc' }],
    });

    await replay(startsAt).expect(200);
    expect(await rowOf('chat')).toMatchObject({ positionXid: first?.xid, positionId: 0n });
    await replay(new Date()).expect(200);
    expect(await rowOf('chat')).toMatchObject({ positionXid: first?.xid, positionId: 0n });
  });

  it('reaches a day back, and not into the future', async () => {
    await put('chat', { url: URL });

    for (const since of [hoursAgo(24), hoursAgo(-1)]) {
      expect((await replay(since).expect(422)).body.errors).toMatchObject([{ pointer: '/since' }]);
    }
    await replay(hoursAgo(23)).expect(200);
  });
});
