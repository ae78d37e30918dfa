import { randomUUID } from 'node:crypto';
import { dnsTokenVerifier, isWellFormedDnsToken } from '@corral/auth';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { givenDnsEntry, givenZone } from '../support/given-audit.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

let test: TestClusterApi;
let team: TestTeam;
let verifier: ReturnType<typeof dnsTokenVerifier>;
beforeAll(async () => {
  test = await startClusterApi();
  verifier = dnsTokenVerifier({
    pool: test.pool,
    databaseUrl: test.databaseUrl,
    applicationName: 'gateway',
    onListenError: () => undefined,
    cachedMs: 0,
  });
  await givenZone(test);
});
afterAll(async () => {
  await verifier.close();
  await test.close();
});
beforeEach(async () => {
  team = await test.createTeam(`t-${randomUUID().slice(0, 8)}`);
});

const start = (user = team.member, of = team) => test.api.as(user).post(of.path('/dns-session/')).send();
const started = async (user = team.member): Promise<string> => (await start(user).expect(201)).body.token;
const rowsOf = () => test.db.dnsToken.findMany({ where: { teamId: team.id }, orderBy: { createdAt: 'asc' } });

describe('POST /dns-session/', () => {
  it('answers a token of 15 minutes for all names of the team, and where to use it', async () => {
    const before = Date.now();

    const { body, headers } = await start().expect(201);

    expect(body).toEqual({
      endpoint: 'https://dns.test/v1',
      zone: 'example.test',
      token: expect.any(String),
      expiresAt: expect.any(String),
    });
    expect(headers['cache-control']).toBe('no-store');
    expect(isWellFormedDnsToken(body.token)).toBe(true);
    expect(Math.abs(Date.parse(body.expiresAt) - before - 900_000)).toBeLessThan(60_000);
    expect(await verifier.verify(body.token)).toMatchObject({
      kind: 'team',
      ownerLabel: team.slug,
      scopes: ['dns'],
      withinName: null,
      withinTypes: [],
    });
  });

  it('is neither counted nor listed among the tokens of the team, and cannot be revoked as one of them', async () => {
    await started();
    const [row] = await rowsOf();

    for (let time = 0; time < 5; time += 1) {
      await test.api.as(team.member).post(team.path('/dns-tokens/')).send({ name: 'ci' }).expect(201);
    }
    const { items } = (await test.api.as(team.admin).get(team.path('/dns-tokens/')).expect(200)).body;
    expect(items.map(({ name }: { name: string }) => name)).toEqual(['ci', 'ci', 'ci', 'ci', 'ci']);
    expect((await test.api.as(team.member).get(team.path('/dns-usage/'))).body.tokens.active).toBe(5);
    await test.api
      .as(team.member)
      .delete(team.path(`/dns-tokens/${row?.id}/`))
      .expect(404);
  });

  it('causes no event in the streams of the team', async () => {
    await started();

    expect(await test.db.teamEvent.count({ where: { teamId: team.id, kind: 'DnsToken' } })).toBe(0);
  });

  it('keeps the ten newest tokens of a session', async () => {
    const tokens: string[] = [];
    for (let time = 0; time < 11; time += 1) tokens.push(await started());

    expect(await verifier.verify(tokens[0] as string)).toBeNull();
    for (const token of tokens.slice(1)) expect(await verifier.verify(token)).not.toBeNull();
  });

  it('does not outlive the session', async () => {
    await test.db.session.updateMany({
      where: { userId: team.member.id },
      data: { expiresAt: new Date(Date.now() + 120_000) },
    });

    const { body } = await start().expect(201);

    expect(Date.parse(body.expiresAt)).toBeLessThanOrEqual(Date.now() + 120_000);
  });

  it.each([
    ['the person signs out', () => test.api.as(team.member).post('/auth/logout/').send().expect(204)],
    ['all sessions are ended', () => test.api.as(team.member).post('/auth/logout/everywhere/').send().expect(204)],
    ['the session is deleted', () => test.db.session.deleteMany({ where: { userId: team.member.id } })],
    [
      'the person leaves the team',
      () => test.db.membership.deleteMany({ where: { userId: team.member.id, teamId: team.id } }),
    ],
  ])('ends when %s', async (_what, end) => {
    const [token, kept] = [await started(), await started(team.admin)];

    await end();

    expect(await verifier.verify(token)).toBeNull();
    expect(await verifier.verify(kept)).not.toBeNull();
  });

  it('is not handed over to the team with the other tokens of a person who leaves', async () => {
    const token = await started();
    const { number } = await test.db.membership.findFirstOrThrow({
      where: { teamId: team.id, userId: team.member.id },
    });

    const { body } = await test.api
      .as(team.admin)
      .delete(`/a/${team.slug}/team/api/members/${number}/?dns_tokens=hand_over`)
      .expect(200);

    expect(body.dns_tokens).toEqual({ revoked: [], handed_over: [] });
    expect(await verifier.verify(token)).toBeNull();
  });

  it('is refused without a session, and to strangers', async () => {
    await test.api.post(team.path('/dns-session/')).send().expect(401);
    await start(test.globex.admin).expect(404);
    expect(await rowsOf()).toEqual([]);
  });

  it('does not exist where the installation does not state its DNS API', async () => {
    const other = await startClusterApi({ config: { dnsApi: null } });
    try {
      await other.api.as(other.acme.member).post(other.acme.path('/dns-session/')).send().expect(404);
    } finally {
      await other.close();
    }
  });
});

describe('the audit log', () => {
  it('names the person who writes with the token of a session', async () => {
    await started();
    const [row] = await rowsOf();
    await givenDnsEntry(test, team, { tokenId: row?.id as string });
    const log = async (query = '') =>
      (
        await test.api
          .as(team.admin)
          .get(team.path(`/audit/?kind=dns${query}`))
          .expect(200)
      ).body.items;

    const [entry] = await log();
    expect(entry.actor).toEqual({ kind: 'user', id: expect.stringMatching(/^\d+$/), name: team.member.email });
    expect(await log('&actor=user')).toHaveLength(1);
    expect(await log(`&actor=${encodeURIComponent(team.member.email)}`)).toHaveLength(1);
    expect(await log(`&actor=${encodeURIComponent(team.admin.email)}`)).toHaveLength(0);
    expect(await log('&actor=token')).toHaveLength(0);
  });
});
