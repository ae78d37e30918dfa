import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isRedisInstalled, missingRedisServer, showsLessWithout, waitFor } from '@corral/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Chaos, runChaos } from '../support/chaos.js';
import { expectNothingLostOrInvented, readEntries, writesIn } from '../support/crash-judge.js';
import { forgetfulRedis, restartedPostgres, seldomAway } from '../support/disturb.js';
import { killAgainAndAgain } from '../support/killer.js';
import { restartablePostgres } from '../support/postgres.js';
import type { Program } from '../support/program.js';
import { restartableRedis } from '../support/redis.js';
import { startRoundRobin } from '../support/round-robin.js';
import {
  type Connections,
  type Holdings,
  medianOfThird,
  REPORTS_HOLDINGS,
  readConnections,
  readHoldings,
  readIdleConnections,
} from '../support/soak/holdings.js';
import { endDemos, sideLoad } from '../support/soak/side-load.js';
import { summaryOf } from '../support/soak/summary.js';
import { DEMO_ZONE, type System, startSystem } from '../support/start-system.js';
import { findUnmatched } from '../support/upstream-history.js';

/** `npm run soak -- dns --minutes N` sets it. */
const minutes = Number(process.env.CORRAL_SOAK_MINUTES ?? 3);
/** Repeats the choices of a run. */
const seed = Number(process.env.CORRAL_CRASH_SEED ?? randomInt(1, 1_000_000));

const RECORDS_PER_TEAM = 16;
const COURSE_CODE = 'SOAK-COURSE';
const SAMPLE_EVERY_MS = 4_000;
/** From the first instruction to steady work, and mostly the latter. */
const lifetimes = fc.integer({ min: 500, max: 20_000 });
const MIB = 2 ** 20;
/** How much more the steady gateway may hold in the last third of the time than in the first. Its work is the same. */
const HEAP_GROWTH_MAX = 6 * MIB;
/** Pages that V8 and malloc keep for later count here. */
const RSS_GROWTH_MAX = 48 * MIB;
/** What nobody wants to read in the output of any process. */
const ALARMING = /unexpected error ends the process|unhandled ?rejection|MaxListenersExceeded|heap out of memory/i;

showsLessWithout(missingRedisServer());
const ends: (() => Promise<unknown>)[] = [];
let system: System;
let url: string;
let disturbances: ((isOver: () => boolean) => Promise<void>)[];

beforeAll(async () => {
  const postgres = await restartablePostgres();
  ends.push(postgres.remove);
  disturbances = [restartedPostgres(postgres, seed + 1_000, seldomAway)];
  let redisUrl: string | undefined;
  if (isRedisInstalled()) {
    const redis = await restartableRedis();
    await redis.start();
    ends.push(redis.kill);
    redisUrl = redis.url;
    disturbances.push(forgetfulRedis(redis, seed + 2_000, seldomAway));
  }
  system = await startSystem({
    ...{ gateways: 3, reconcilers: 2, demos: true, teams: ['acme', 'globex', 'initech'] },
    ...{ redisUrl, databaseUrl: postgres.url },
    gatewayEnv: { DNS_RECORDS_PER_TEAM: String(RECORDS_PER_TEAM), LOG_LEVEL: 'error' },
    gatewayNodeArgs: (index) => (index === 1 ? REPORTS_HOLDINGS : []),
    reconcilerEnv: { DNS_SYNC_INTERVAL_MS: '3s', DEMO_INTERVAL_MS: '1s', LOG_LEVEL: 'error' },
  });
  ends.push(system.stop);
  const proxy = await startRoundRobin(system.gateways.map((gateway) => new URL(gateway.url).origin));
  ends.push(proxy.stop);
  url = `${proxy.base}/v1`;
  await system.admin('course', 'create', COURSE_CODE, '--limit', '8');
}, 120_000);
afterAll(async () => {
  for (const end of ends.reverse()) await end();
}, 60_000);

it(
  `the DNS API keeps its promises and its size for ${minutes} minutes of load, faults and kills (seed ${seed})`,
  async () => {
    process.stderr.write(`Soak of the DNS API for ${minutes} minutes: CORRAL_CRASH_SEED=${seed}\n`);
    const steady = system.gateways[0] as Program;
    const others = system.gateways.slice(1);
    const steadyPid = steady.pid;
    const idle = await readIdleConnections(steady, system);
    const beside = sideLoad(system, { seed, url, courseCode: COURSE_CODE });
    const samples: Holdings[] = [];

    const endsAt = performance.now() + minutes * 60_000;
    const isOver = (): boolean => performance.now() >= endsAt;
    const chaos = await runChaos(system, {
      ...{ seed, isOver, urls: [url], beside: beside.run },
      kill: (killer) =>
        Promise.all([
          ...[...others, ...system.reconcilers].map((program, index) =>
            killAgainAndAgain(program, { ...killer, lifetimes, seed: killer.seed + index }),
          ),
          ...disturbances.map((disturb) => disturb(isOver)),
          sampleHoldings(steady, samples, isOver),
        ]),
    });
    await clearDemos();
    const judged = await expectNothingLostOrInvented(system, chaos, { recordsPerTeam: RECORDS_PER_TEAM });
    const after = await untilIdle(steady, idle);

    const growth = {
      heap: growthOf(samples.map(({ heapUsed }) => heapUsed)),
      rss: growthOf(samples.map(({ rss }) => rss)),
    };
    process.stderr.write(summaryOf({ minutes, chaos, judged, growth, idle, after, beside: beside.answers }));
    await expectDemosAreGone(chaos);
    expect(growth.heap).toBeLessThan(HEAP_GROWTH_MAX);
    expect(growth.rss).toBeLessThan(RSS_GROWTH_MAX);
    expect(steady.pid).toBe(steadyPid);
    for (const program of [...system.gateways, ...system.reconcilers]) {
      expect(
        program
          .outputs()
          .split('\n')
          .filter((line) => ALARMING.test(line)),
      ).toEqual([]);
    }
    for (const kind of ['lists', 'actions', 'demos']) expect(beside.answers[kind]?.[200]).toBeGreaterThan(0);
  },
  minutes * 60_000 + 300_000,
);

/** The first ones are left out: a program gets warm first. */
const growthOf = (values: readonly number[]): number => medianOfThird(values, 2) - medianOfThird(values, 0);

async function sampleHoldings(program: Program, samples: Holdings[], isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    samples.push(await readHoldings(program));
    await pause(SAMPLE_EVERY_MS);
  }
}

/** Every demo ends, and what they left is deleted, whatever became of earlier tries. */
async function clearDemos(): Promise<void> {
  await Promise.all([...system.gateways, ...system.reconcilers].map((program) => program.untilReady()));
  await endDemos(system.pool, 0);
  await waitFor('the demo zone to be empty', async () => (await system.cloud.namesIn(DEMO_ZONE)).length === 0, {
    timeoutMs: 180_000,
  });
}

async function expectDemosAreGone({ problems }: Chaos): Promise<void> {
  expect(problems).toEqual([]);
  const entries = await readEntries(system, DEMO_ZONE);
  expect(findUnmatched(await writesIn(system, DEMO_ZONE), entries)).toEqual([]);
  expect(entries.filter(({ state }) => state === 'pending')).toEqual([]);
  const { rows } = await system.pool.query(
    `SELECT demo.label FROM demo LEFT JOIN dns_token AS token ON token.demo_id = demo.id
     WHERE ended_at IS NULL OR token.revoked_at IS NULL`,
  );
  expect(rows).toEqual([]);
}

/** Connections that were opened for the load are closed again. */
async function untilIdle(program: Program, idle: Connections): Promise<Connections> {
  return waitFor(
    'the connections to be as few as before the load',
    async () => {
      const now = await readConnections(program, system);
      if (now.sockets <= idle.sockets && now.connections <= idle.connections) return now;
      throw new Error(JSON.stringify({ now, idle }));
    },
    { timeoutMs: 90_000 },
  );
}
