import { setTimeout as pause } from 'node:timers/promises';
import { describeNeeding, missingRedisServer, waitFor } from '@corral/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startLoad, untilWritten } from '../../../support/clients/background-load.js';
import { callDns } from '../../../support/clients/dns-api.js';
import { operationIdOf } from '../../../support/clusters/client.js';
import { aCluster } from '../../../support/clusters/journey.js';
import { startClusterSystem } from '../../../support/clusters/start-cluster-system.js';
import { replay } from '../../../support/crashes/dns-history.js';
import { untilSettled } from '../../../support/system/mirror.js';
import { restartablePostgres } from '../../../support/system/postgres.js';
import { restartableRedis } from '../../../support/system/redis.js';
import { startRoundRobin } from '../../../support/system/round-robin.js';
import { issueToken, shortLeases, startSystem, type Team, ZONE } from '../../../support/system/start-system.js';
import { type Ends, shortWaits, UNLIMITED, undo } from '../../../support/system/system-parts.js';

const PER_TOKEN = 120;
/** Clients that send at the same time: enough for several requests at each gateway, and few enough for a busy machine. */
const CROWD = 24;
/** Upstream requests per hour, few enough that a test can use them up. */
const BUDGET = 200;
/** How often each client is refused before it gives up: a refused write has waited for seconds. */
const REFUSALS = 5;
const RECORDS = `/zones/${ZONE}/rrsets`;

const valuesOf = (set?: { records: readonly { value: string }[] }) => set?.records.map(({ value }) => value);
const many = (count: number): number[] => Array.from({ length: count }, (_, number) => number);

/** `CORRAL_AWAY_SECONDS=20` makes the outage of Postgres longer. The expectations are the same. */
const awayMs = Number(process.env.CORRAL_AWAY_SECONDS ?? 5) * 1_000;

describe('replicas', () => {
  const ends: Ends = [];
  afterEach(() => undo(ends));

  it('answer 503 with Retry-After while Postgres is unavailable, and recover without a restart', async () => {
    const postgres = await restartablePostgres(ends);
    const { databaseUrl } = postgres;
    const system = await startSystem({ gateways: 3, reconcilers: 2, databaseUrl, gatewayEnv: shortLeases });
    ends.push(system.stop);
    const { gateways, reconcilers, cloud } = system;
    const proxy = await startRoundRobin(gateways.map(({ base }) => base));
    ends.push(proxy.stop);
    const [{ token, slug }] = system.teams as [Team];
    const pids = () => [...gateways, ...reconcilers].map(({ pid }) => pid);
    const before = pids();
    const load = startLoad(`${proxy.base}/v1`, { token, slug });
    ends.push(load.stop);
    await untilWritten(load, 20);
    const servedBefore = [...proxy.served];

    await postgres.stop();
    await waitFor('reads and writes to be refused', () =>
      [true, false].every((isWrite) => load.answers.some((each) => each.isWrite === isWrite && each.status === 503)),
    );
    // Longer than any write waits.
    await pause(awayMs);
    await postgres.start();
    await untilWritten(load, 20).finally(load.stop);
    // A creation arrives, and no gateway finds out its outcome.
    await cloud.addFaults(
      { match: { method: 'POST', path: '/rrsets$' }, effect: { reset: 'after' } },
      { match: { method: 'GET', path: '/rrsets/lost.acme' }, times: null, effect: { status: 500 } },
    );
    const body = { name: 'lost.acme', type: 'A', records: [{ value: '192.0.2.1' }] };
    const lost = await callDns(system.url, { method: 'POST', path: RECORDS, token, body });
    await cloud.clearFaults();

    expect(load.failures).toEqual([]); // each answer had the documented form, and each 503 a Retry-After
    const refused = load.answers.filter(({ status }) => status >= 500 || status === 429);
    expect(refused.map(({ status, json }) => [status, json.error.code])).toEqual(
      refused.map(() => [503, 'unavailable']),
    );
    const served = proxy.served.map((count, at) => count - (servedBefore[at] as number));
    expect(Math.min(...served)).toBeGreaterThan(0);
    expect(lost.status).toBe(502);
    await untilSettled(system);
    expect((await callDns(system.url, { method: 'GET', path: `${RECORDS}/lost.acme/A`, token })).status).toBe(200);
    expect(pids()).toEqual(before);
  });
});

describeNeeding(describe, missingRedisServer(), 'replicas with a Redis', () => {
  const ends: Ends = [];
  let redis: Awaited<ReturnType<typeof restartableRedis>>;
  /** One for each installation: two would take each other's jobs. */
  beforeEach(async () => {
    redis = await restartableRedis();
    await redis.start();
    ends.push(redis.kill);
  });
  afterEach(() => undo(ends));

  it('serve as before while it is unavailable, and then carry out what was accepted meanwhile', async () => {
    const system = await startClusterSystem({ gateways: 3, reconcilers: 2, redisUrl: redis.url });
    ends.push(system.stop);
    const { gateways, apis, reconcilers, cloud, databaseUrl } = system;
    const proxy = await startRoundRobin(gateways.map(({ base }) => base));
    ends.push(proxy.stop);
    const url = `${proxy.base}/v1`;
    const [{ member, slug }] = system.teams as [(typeof system.teams)[number]];
    const token = await issueToken(databaseUrl, slug);
    const pids = () => [...gateways, ...apis, ...reconcilers].map(({ pid }) => pid);
    const before = pids();
    const load = startLoad(url, { token, slug });
    await untilWritten(load, 20);

    await redis.kill();
    await untilWritten(load, 40);
    const declared = await member.send({ method: 'PUT', path: '/clusters/web/', body: aCluster(system) });
    await untilWritten(load, 10).finally(load.stop);
    // A creation arrives, and no gateway finds out its outcome.
    await cloud.addFaults(
      { match: { method: 'POST', path: '/rrsets$' }, effect: { reset: 'after' } },
      { match: { method: 'GET', path: '/rrsets/lost.acme' }, times: null, effect: { status: 500 } },
    );
    const body = { name: 'lost.acme', type: 'A', records: [{ value: '192.0.2.1' }] };
    const lost = await callDns(url, { method: 'POST', path: RECORDS, token, body });
    await cloud.clearFaults();
    await redis.start();
    const later = startLoad(url, { token, slug });
    await untilWritten(later, 20).finally(later.stop);

    for (const { failures, answers } of [load, later]) {
      expect(failures).toEqual([]);
      expect(answers.filter(({ status }) => status >= 500 || status === 429)).toEqual([]);
    }
    expect([declared.status, lost.status]).toEqual([202, 502]);
    expect(await member.untilEnded(operationIdOf(declared) as string)).toMatchObject({ state: 'succeeded' });
    await untilSettled(system);
    expect((await callDns(url, { method: 'GET', path: `${RECORDS}/lost.acme/A`, token })).status).toBe(200);
    expect(pids()).toEqual(before);
  });

  it('count the requests of a token together: of many concurrent ones, only the burst passes', async () => {
    // The gateway must not refuse any as overload.
    const limits = { LIMIT_PER_TOKEN: String(PER_TOKEN), REQUESTS_IN_FLIGHT_MAX: UNLIMITED };
    const system = await startSystem({ gateways: 3, redisUrl: redis.url, gatewayEnv: limits });
    ends.push(system.stop);
    const { token } = system.teams[0] as Team;
    const startedAt = performance.now();

    const answers: (readonly string[])[] = [];
    const client = async (number: number): Promise<void> => {
      const url = system.gateways[number % 3]?.url as string;
      for (let left = (3 * PER_TOKEN) / CROWD; left > 0; left -= 1) {
        const { status, json } = await callDns(url, { method: 'GET', path: RECORDS, token });
        answers.push([String(status), json.error?.code ?? '']);
      }
    };
    await Promise.all(many(CROWD).map(client));

    const refilled = ((performance.now() - startedAt) / 60_000) * PER_TOKEN;
    const refused = answers.filter(([status]) => status !== '200');
    const passed = answers.length - refused.length;
    expect(passed).toBeLessThanOrEqual(PER_TOKEN + refilled);
    // What one replica may have fetched in advance and the others could have used: a twentieth each, for a second.
    expect(passed).toBeGreaterThanOrEqual(PER_TOKEN - 2 * (PER_TOKEN / 20));
    expect(refused).toEqual(refused.map(() => ['429', 'rate_limit_exceeded']));
  });

  it('never send more requests upstream than that grants, and every team gets a part', async () => {
    const teams = ['acme', 'globex', 'initech'];
    const small = { gateways: 2, teams, redisUrl: redis.url, actionMs: 0, requestsPerHour: BUDGET };
    const system = await startSystem({ ...small, gatewayEnv: shortWaits });
    ends.push(system.stop);
    const call = (number: number, token: string, path: string, body: object) =>
      callDns(system.gateways[number % 2]?.url as string, { method: 'POST', path, token, body });

    const accepted = await Promise.all(
      system.teams.map(async ({ token, slug }) => {
        const set = { name: slug, type: 'A', records: [{ value: '192.0.2.1' }] };
        // The first write of a team may find the budget used up by the others.
        await waitFor('the first write to be accepted', async () => {
          return (await call(0, token, RECORDS, set)).status === 201;
        });
        let [writes, refused] = [1, 0];
        const client = async (number: number): Promise<void> => {
          for (let round = 0; refused < REFUSALS; round += 1) {
            const records = [{ value: `10.${number}.${Math.floor(round / 250)}.${round % 250}` }];
            const path = `${RECORDS}/${slug}/A/actions/set_records`;
            const { status, json } = await call(number, token, path, { records });
            // 409 for a write that waited for its turn at the set, behind others that waited for the budget.
            if (status !== 201)
              expect(['429 rate_limit_exceeded', '409 conflict']).toContain(`${status} ${json.error.code}`);
            if (status === 201) writes += 1;
            else refused += 1;
          }
        };
        await Promise.all(many(4).map(client));
        return writes;
      }),
    );

    await untilSettled(system);
    expect((await system.cloud.budget()).refused).toBe(0);
    const total = accepted.reduce((sum, writes) => sum + writes, 0);
    expect(total).toBeGreaterThan(BUDGET / 10);
    for (const writes of accepted) expect(writes).toBeGreaterThan(total / 10);
    const writes = (await system.cloud.writes()).filter(({ zone }) => zone === ZONE);
    expect(writes).toHaveLength(total);
    for (const { token, slug } of system.teams) {
      const own = replay(writes.filter(({ name }) => name === slug)).sets.get(`${slug}/A`);
      await waitFor('the mirror to show the last accepted write', async () => {
        const { json } = await callDns(system.url, { method: 'GET', path: `${RECORDS}/${slug}/A`, token });
        expect(valuesOf(json.rrset)).toEqual(valuesOf(own));
        return true;
      });
    }
  });
});
