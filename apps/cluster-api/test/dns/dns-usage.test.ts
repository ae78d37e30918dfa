import { randomUUID } from 'node:crypto';
import { requestCounter } from '@corral/auth';
import { connectHcloud } from '@corral/hcloud';
import { silentLog } from '@corral/service';
import { startIntercepting, stopIntercepting } from '@corral/testing/interception';
import { connectBudgetStore, type KeptReading } from '@corral/upstream-budget';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import nock from 'nock';
import { givenDnsEntry, givenToken, givenZone, ZONE_ID } from '../support/given-audit.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

let test: TestClusterApi;
let team: TestTeam;
/** Reads the upstream's budget. */
let readAll: () => Promise<Record<string, KeptReading>>;
beforeAll(async () => {
  startIntercepting();
  test = await startClusterApi({
    config: { dnsRecordsPerTeam: 150, dnsRequestsPerTeamPerMinute: 90 },
    deps: { budgets: { readAll: () => readAll() } },
  });
  await givenZone(test);
});
afterAll(async () => {
  stopIntercepting();
  await test.close();
});
beforeEach(async () => {
  readAll = async () => ({});
  team = await test.createTeam(`t-${randomUUID().slice(0, 8)}`);
});

const usage = async (of = team, user = of.member) =>
  (await test.api.as(user).get(of.path('/dns-usage/')).expect(200)).body;
const givenRrset = (name: string, owner: TestTeam, records: number) =>
  test.pool.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body) VALUES ($1, $2, 'A', $3, $4, '{}')`,
    [ZONE_ID, name, owner.slug, records],
  );
const unknown = { limit: null, remaining: null, resetAt: null, observedAt: null };

describe('GET /dns-usage/', () => {
  it('is zero for a new team', async () => {
    expect(await usage()).toEqual({
      records: { used: 0, reserved: 0, limit: 150 },
      tokens: { active: 0, limit: 5 },
      requests: { lastHour: 0, limitPerMinute: 90 },
      upstream: unknown,
    });
  });

  it('counts records in the zone and those reserved by pending writes', async () => {
    await givenRrset(`www.${team.slug}`, team, 3);
    await givenRrset(`api.${team.slug}`, team, 4);
    const tokenId = await givenToken(test, team, 'ci');
    await givenDnsEntry(test, team, { tokenId, state: 'pending' });
    await test.pool.query('UPDATE dns_audit_entry SET reserved_records = 5 WHERE team_id = $1', [team.id]);

    expect((await usage()).records).toEqual({ used: 7, reserved: 5, limit: 150 });
  });

  it('counts all active tokens of the team, also those that the member cannot see', async () => {
    await givenToken(test, team, 'by an operator');
    const gone = await givenToken(test, team, 'expired');
    await test.db.dnsToken.update({ where: { id: gone }, data: { expiresAt: new Date(0) } });

    expect((await usage()).tokens).toEqual({ active: 1, limit: 5 });
  });

  it('counts the requests to all gateways in the last hour', async () => {
    const gateways = [1, 2].map(() => requestCounter(test.pool, () => undefined));
    for (const gateway of gateways) {
      for (let time = 0; time < 4; time += 1) gateway.note(team.id);
      gateway.note(test.acme.id);
      await gateway.close();
    }

    expect((await usage()).requests).toEqual({ lastHour: 8, limitPerMinute: 90 });
    expect((await usage(test.acme)).requests).toEqual({ lastHour: 2, limitPerMinute: 90 });
  });

  it('has the limit of requests that operators set for the team', async () => {
    await test.db.team.update({ where: { id: team.id }, data: { dnsRequestsMax: 1_200 } });

    expect((await usage()).requests.limitPerMinute).toBe(1_200);
    expect((await usage(test.acme)).requests.limitPerMinute).toBe(90);
  });

  it('shows the upstream’s budget as its users store it', async () => {
    const budgetStore = connectBudgetStore({
      redisUrl: undefined,
      onError: () => undefined,
      run: (statement) => test.pool.query(statement),
    });
    nock('http://upstream.test')
      .get('/v1/zones/example.test')
      .reply(404, '{"error":{"code":"not_found","message":"no","details":null}}', {
        'RateLimit-Limit': '3600',
        'RateLimit-Remaining': '100',
        'RateLimit-Reset': '1',
      });
    const upstream = connectHcloud({ baseUrl: 'http://upstream.test/v1', token: 't', log: silentLog, budgetStore });
    const before = Date.now();
    await upstream.readZone('example.test').catch(() => undefined);
    await upstream.close();
    readAll = budgetStore.readAll;

    const { limit, remaining, resetAt, observedAt } = (await usage()).upstream;

    expect(limit).toBe(3_600);
    // The budget refills by one call per second.
    expect(remaining).toBeGreaterThanOrEqual(99);
    expect(remaining).toBeLessThan(200);
    expect(Date.parse(resetAt)).toBeGreaterThan(before + 3_000_000);
    expect(Math.abs(Date.parse(observedAt) - before)).toBeLessThan(30_000);
  });

  it('works without the budget when that cannot be read', async () => {
    readAll = () => Promise.reject(new Error('Redis is away'));

    expect(await usage()).toMatchObject({ tokens: { limit: 5 }, upstream: unknown });
  });

  it('is visible to members of the team only', async () => {
    await givenRrset(`x.${team.slug}`, team, 9);

    expect(await usage(team, team.admin)).toEqual(await usage(team, team.member));
    expect((await usage(test.globex)).records.used).toBe(0);
    await test.api.as(test.globex.admin).get(team.path('/dns-usage/')).expect(404);
    await test.api.get(team.path('/dns-usage/')).expect(401);
  });

  it('has no parameters', async () => {
    await test.api.as(team.member).get(team.path('/dns-usage/?team=globex')).expect(422);
  });
});
