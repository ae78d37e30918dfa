import { describeNeeding, missingRedisServer, waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Answer } from '../../../support/clients/answer.js';
import { callDns, type DnsCall } from '../../../support/clients/dns-api.js';
import { writesIn } from '../../../support/crashes/crash-judge.js';
import { replay } from '../../../support/crashes/upstream-history.js';
import { untilSettled } from '../../../support/system/mirror.js';
import { restartableRedis } from '../../../support/system/redis.js';
import { type RoundRobin, startRoundRobin } from '../../../support/system/round-robin.js';
import { type System, startSystem, type Team, ZONE } from '../../../support/system/start-system.js';
import { shortWaits, UNLIMITED } from '../../../support/system/system-parts.js';

const PER_TOKEN = 120;
/** Clients that send at the same time: enough for several requests at each gateway, and few enough for a busy machine. */
const CROWD = 24;
/** Upstream requests per hour, few enough that a test can use them up. */
const BUDGET = 200;
/** How often each client is refused before it gives up: a refused write has waited for seconds. */
const REFUSALS = 5;
const RECORDS = `/zones/${ZONE}/rrsets`;

const missing = missingRedisServer();
const ends: (() => Promise<unknown>)[] = [];
let system: System;
let proxy: RoundRobin;
let redis: Awaited<ReturnType<typeof restartableRedis>>;

/** Three gateways behind the proxy, a reconciler, one Redis and one Postgres. */
async function start(options: {
  limitPerToken: string;
  actionMs: number;
  gateways: number;
  requestsPerHour?: number;
  requestsInFlightMax?: string;
  /** How long a gateway waits. The default is longer than a test takes. */
  waits?: typeof shortWaits;
}): Promise<void> {
  redis = await restartableRedis();
  await redis.start();
  ends.push(redis.kill);
  const { limitPerToken, requestsInFlightMax, waits, ...rest } = options;
  system = await startSystem({
    teams: ['acme', 'globex', 'initech'],
    redisUrl: redis.url,
    ...rest,
    gatewayEnv: {
      LIMIT_PER_TOKEN: limitPerToken,
      REQUESTS_IN_FLIGHT_MAX: requestsInFlightMax,
      ...waits,
    },
  });
  ends.push(system.stop);
  proxy = await startRoundRobin(system.gateways.map(({ url }) => new URL(url).origin));
  ends.push(proxy.stop);
}

async function stopAll(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end();
}

const call = (token: string, method: string, path: string, body?: object): Promise<Answer> =>
  callDns(`${proxy.base}/v1`, { method, path, token, ...(body && { body }) } satisfies DnsCall);
const setRecords = (token: string, name: string, value: string): Promise<Answer> =>
  call(token, 'POST', `${RECORDS}/${name}/A/actions/set_records`, { records: [{ value }] });
const create = (token: string, name: string): Promise<Answer> =>
  call(token, 'POST', RECORDS, { name, type: 'A', records: [{ value: '192.0.2.1' }] });
const team = (at: number): Team => system.teams[at] as Team;
const many = (count: number): number[] => Array.from({ length: count }, (_, number) => number);

describeNeeding(describe, missing, 'three gateways behind a plain round-robin proxy', () => {
  beforeAll(() =>
    start({
      limitPerToken: String(PER_TOKEN),
      actionMs: 1_200,
      gateways: 3,
      // The tests count how many of hundreds of requests the token is granted, so the gateway must not refuse any as overload.
      requestsInFlightMax: UNLIMITED,
    }),
  );
  afterAll(stopAll);

  it('count the requests of a token together: of many concurrent ones, only the burst passes', async () => {
    const token = await system.issueToken(team(2));
    const startedAt = performance.now();

    const answers: Answer[] = [];
    const client = async (): Promise<void> => {
      while (answers.length < 3 * PER_TOKEN) answers.push(await call(token, 'GET', RECORDS));
    };
    await Promise.all(many(CROWD).map(client));

    const refilled = ((performance.now() - startedAt) / 60_000) * PER_TOKEN;
    const passed = answers.filter(({ status }) => status === 200).length;
    expect(passed).toBeLessThanOrEqual(PER_TOKEN + refilled);
    // What one replica may have fetched in advance and the others could have used: a twentieth each, for a second.
    expect(passed).toBeGreaterThanOrEqual(PER_TOKEN - 2 * (PER_TOKEN / 20));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.map(({ status, json }) => [status, json.error.code])).toEqual(
      refused.map(() => [429, 'rate_limit_exceeded']),
    );
    for (const served of proxy.served) expect(served).toBeGreaterThanOrEqual(PER_TOKEN);
    expect((await call(team(2).token, 'GET', RECORDS)).status).toBe(200);
  });

  it('grant each its part of a limit while Redis is unavailable, and count together again when it is back', async () => {
    const part = PER_TOKEN / system.gateways.length;

    await redis.kill();
    await waitFor('each to grant its part', async () => (await leftOfNewToken()).every((left) => left < part));
    await redis.start();
    await waitFor('them to count together', async () => (await leftOfNewToken()).every((left) => left > part));
  });
});

/** What each gateway has left for a token that it has not seen before. */
async function leftOfNewToken(): Promise<number[]> {
  const token = await system.issueToken(team(0));
  const answers = await Promise.all(
    system.gateways.map(({ url }) => callDns(url, { method: 'GET', path: RECORDS, token })),
  );
  await system.pool.query(
    `UPDATE dns_token SET revoked_at = clock_timestamp() WHERE id =
       (SELECT id FROM dns_token WHERE team_id = $1 ORDER BY created_at DESC LIMIT 1)`,
    [team(0).id],
  );
  return answers.map(({ headers }) => Number(headers.get('ratelimit-remaining')));
}

describeNeeding(describe, missing, 'an upstream with a small budget', () => {
  beforeAll(() =>
    start({ limitPerToken: UNLIMITED, actionMs: 0, gateways: 2, requestsPerHour: BUDGET, waits: shortWaits }),
  );
  afterAll(stopAll);

  it('never gets more requests from gateways and reconciler than it grants, and every team gets a part', async () => {
    const outcomes = await Promise.all(
      system.teams.map(async ({ token, slug }) => {
        // The first write of a team may find the budget used up by the others.
        await waitFor('the first write to be accepted', async () => {
          expect((await create(token, slug)).status).toBe(201);
          return true;
        });
        const accepted: string[] = [];
        let refused = 0;
        const client = async (number: number): Promise<void> => {
          for (let round = 0; refused < REFUSALS; round += 1) {
            const value = `10.${number}.${Math.floor(round / 250)}.${round % 250}`;
            const { status, json } = await setRecords(token, slug, value);
            if (status === 201) accepted.push(value);
            // 409 for a write that waited for its turn at the set, behind others that waited for the budget.
            else expect(['429 rate_limit_exceeded', '409 conflict']).toContain(`${status} ${json.error.code}`);
            if (status !== 201) refused += 1;
          }
        };
        await Promise.all(many(4).map(client));
        return accepted;
      }),
    );

    await untilSettled(system);
    const { refused } = await system.cloud.budget();
    expect(refused).toBe(0);
    const total = outcomes.reduce((sum, accepted) => sum + accepted.length, 0);
    expect(total).toBeGreaterThan(BUDGET / 10);
    for (const accepted of outcomes) expect(accepted.length).toBeGreaterThan(total / 10);
    const writes = await writesIn(system, ZONE);
    expect(writes).toHaveLength(total + system.teams.length);
    for (const { token, slug } of system.teams) {
      await waitFor('the mirror to show the last accepted write', async () => {
        const { json } = await call(token, 'GET', `${RECORDS}/${slug}/A`);
        const shown = json.rrset.records.map(({ value }: { value: string }) => value);
        const own = replay(writes.filter(({ name }) => name === slug)).sets.get(`${slug}/A`);
        expect(shown).toEqual(own?.records.map(({ value }) => value));
        return true;
      });
    }
  });
});
