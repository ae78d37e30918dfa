import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describeNeeding, missingRedisServer, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Load, startLoad } from '../support/background-load.js';
import { runChaos } from '../support/chaos.js';
import { expectNothingLostOrInvented } from '../support/crash-judge.js';
import { callDns } from '../support/dns-api.js';
import { killInTurns } from '../support/killer.js';
import { restartablePostgres } from '../support/postgres.js';
import { restartableRedis } from '../support/redis.js';
import { type RoundRobin, startRoundRobin } from '../support/round-robin.js';
import { type System, startSystem, type Team, ZONE } from '../support/start-system.js';
import { untilSettled } from '../support/whole.js';

/** `CORRAL_AWAY_SECONDS=20` keeps Postgres and Redis away for longer; what has to happen meanwhile is the same. */
const awayMs = Number(process.env.CORRAL_AWAY_SECONDS ?? 3) * 1_000;
/** `CORRAL_CRASH_ROUNDS=20` kills twenty times as often; `CORRAL_CRASH_SEED=…` repeats the choices of a run. */
const rounds = Number(process.env.CORRAL_CRASH_ROUNDS ?? 1);
const seed = Number(process.env.CORRAL_CRASH_SEED ?? randomInt(1, 1_000_000));
const KILLS = 12;
const RECORDS_PER_TEAM = 48;

describeNeeding(describe, missingRedisServer(), 'three gateways and two reconcilers', () => {
  const ends: (() => Promise<unknown>)[] = [];
  let redis: Awaited<ReturnType<typeof restartableRedis>>;
  let postgres: Awaited<ReturnType<typeof restartablePostgres>>;
  let system: System;
  let proxy: RoundRobin;
  let load: Load | undefined;

  beforeAll(async () => {
    redis = await restartableRedis();
    await redis.start();
    ends.push(redis.kill);
    postgres = await restartablePostgres();
    ends.push(postgres.remove);
    system = await startSystem({
      ...{ gateways: 3, reconcilers: 2, teams: ['acme', 'globex', 'initech'] },
      ...{ redisUrl: redis.url, databaseUrl: postgres.url },
      gatewayEnv: { DNS_RECORDS_PER_TEAM: String(RECORDS_PER_TEAM), LOG_LEVEL: 'error' },
      reconcilerEnv: { DNS_SYNC_INTERVAL_MS: '3s', LOG_LEVEL: 'error' },
    });
    ends.push(system.stop);
    proxy = await startRoundRobin(system.gateways.map(({ url }) => new URL(url).origin));
    ends.push(proxy.stop);
  }, 120_000);
  afterEach(async () => {
    await load?.stop();
    load = undefined;
    await system?.cloud.clearFaults();
  });
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  }, 60_000);

  it(
    `lose nothing that was accepted when any two processes are killed at any time (seed ${seed})`,
    async () => {
      process.stderr.write(`Crash test of replicas: CORRAL_CRASH_SEED=${seed}\n`);
      const chaos = await runChaos(system, {
        ...{ seed, urls: [`${proxy.base}/v1`] },
        isOver: ({ kills }) => kills >= KILLS * rounds,
        kill: (killer) => killInTurns([...system.gateways, ...system.reconcilers, redis, postgres], killer),
      });

      const { writes, settled } = await expectNothingLostOrInvented(system, chaos, {
        recordsPerTeam: RECORDS_PER_TEAM,
      });
      process.stderr.write(
        `${chaos.kills} kills, ${chaos.answered.length} answers, ${chaos.lost} requests without one, ` +
          `${writes} writes upstream, ${settled} settled\n`,
      );
      expect(chaos.answered.filter(({ status }) => status < 300).length).toBeGreaterThan(0);
    },
    240_000 + rounds * 120_000,
  );

  it('answer 503 with Retry-After while Postgres is away, and go on without a restart', async () => {
    load = startLoad(system, `${proxy.base}/v1`);
    await untilWritten(load, 20);
    const servedBefore = [...proxy.served];
    const pids = pidsOf(system);

    await postgres.stop();
    const leftAt = performance.now();
    await waitFor('reads and writes to be refused', () => isRefused(load, false) && isRefused(load, true));
    await pause(Math.max(0, awayMs - (performance.now() - leftAt)));
    const whileAway = load.answers.length;
    await postgres.start();
    await untilWritten(load, 20);
    await load.stop();

    expect(load.failures).toEqual([]); // each answer had the documented shape, and each 503 its Retry-After
    const refused = load.answers.filter(({ status }) => status >= 500);
    expect(refused.map(({ status, json }) => [status, json.error.code])).toEqual(
      refused.map(() => [503, 'unavailable']),
    );
    expect(whileAway).toBeLessThan(load.answers.length);
    const servedSince = proxy.served.map((served, at) => served - (servedBefore[at] as number));
    expect(Math.min(...servedSince)).toBeGreaterThan(0);
    await expectReconciled(system, 'after-postgres');
    expect(pidsOf(system)).toEqual(pids);
  }, 240_000);

  it('serve as before while Redis is away, and after it', async () => {
    load = startLoad(system, `${proxy.base}/v1`);
    await untilWritten(load, 20);

    const pids = pidsOf(system);
    await redis.kill();
    const leftAt = performance.now();
    await untilWritten(load, 40);
    await pause(Math.max(0, awayMs - (performance.now() - leftAt)));
    await untilWritten(load, 10);
    await redis.start();
    await untilWritten(load, 20);
    await load.stop();

    expect(load.failures).toEqual([]);
    expect(load.answers.filter(({ status }) => status >= 500 || status === 429)).toEqual([]);
    await expectReconciled(system, 'after-redis');
    expect(pidsOf(system)).toEqual(pids);
  }, 240_000);
});

/** A write whose answer is lost is settled: so the jobs of the reconcilers go on. */
async function expectReconciled(system: System, label: string): Promise<void> {
  const { token, slug } = system.teams[0] as Team;
  const name = `${label}.${slug}`;
  await system.cloud.addFaults({ match: { method: 'POST', path: '/rrsets$' }, effect: { reset: 'after' } });
  const body = { name, type: 'A', records: [{ value: '192.0.2.1' }] };
  const { status } = await callDns(system.url, { method: 'POST', path: `/zones/${ZONE}/rrsets`, token, body });
  expect(status).toBe(502);
  await untilSettled(system);
  const found = await callDns(system.url, { method: 'GET', path: `/zones/${ZONE}/rrsets/${name}/A`, token });
  expect(found.status).toBe(200);
}

const pidsOf = ({ gateways, reconcilers }: System): number[] => [...gateways, ...reconcilers].map(({ pid }) => pid);

const isRefused = (load: Load | undefined, isWrite: boolean): boolean =>
  load?.answers.some((answer) => answer.status === 503 && answer.isWrite === isWrite) ?? false;

/** Some more writes were accepted after this moment. */
async function untilWritten(load: Load, count: number): Promise<void> {
  const accepted = () => load.answers.filter(({ isWrite, status }) => isWrite && status < 300).length;
  const before = accepted();
  await waitFor(`${count} more accepted writes`, () => accepted() >= before + count, { timeoutMs: 60_000 });
}
