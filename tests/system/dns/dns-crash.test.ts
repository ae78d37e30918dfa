import { missingRedisServer, showsLessWithout } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type AnsweredWrite, countAccepted, runChaos } from '../../support/crashes/chaos.js';
import { expectNothingLostOrInvented } from '../../support/crashes/crash-judge.js';
import { readCrashPlan } from '../../support/crashes/crash-plan.js';
import { type Disturbance, disturbedStores, seldomAway } from '../../support/crashes/disturb.js';
import { type Killer, killAgainAndAgain, killInTurns, lifetimesOf } from '../../support/crashes/killer.js';
import { clearDemos, expectDemosAreGone } from '../../support/soak/demos.js';
import { growthOf, type Memory, REPORTS_MEMORY, sampleMemory } from '../../support/soak/memory.js';
import { type Answers, sideLoad } from '../../support/soak/side-load.js';
import type { Program } from '../../support/system/program.js';
import { type RoundRobin, startRoundRobin } from '../../support/system/round-robin.js';
import { type System, shortLeases, startSystem } from '../../support/system/start-system.js';
import { undo } from '../../support/system/system-parts.js';

/** Set by `npm run test:long -- soak`: kills and outages are rarer, so that there is steady work in between. */
const soakMinutes = process.env.CORRAL_SOAK_MINUTES;
const isSoak = soakMinutes !== undefined;
const { seed, minutes } = readCrashPlan({ minutes: Number(soakMinutes ?? 0) });

/** `npm test` ends when each process that may be killed was. */
const [EACH, KILLS_MIN, ACCEPTED_MIN] = minutes > 0 ? [3, 8, 25] : [2, 3, 10];
const RECORDS_PER_TEAM = 12;
const TEAMS = ['acme', 'globex', 'initech'];
const COURSE_CODE = 'CRASH-COURSE';
const longLifetimes = lifetimesOf({ steadyMsMax: 20_000 });
/** In shorter runs, a program still warms up in the first third. */
const MEASURED_FROM_MINUTES = 3;
const MIB = 2 ** 20;
const isMeasured = isSoak && minutes >= MEASURED_FROM_MINUTES;
/** How much more the steady gateway may hold in the last third of the time than in the first. Its work stays the same. */
const HEAP_GROWTH_MAX = 6 * MIB;
/** This includes pages that V8 and malloc keep for later. */
const RSS_GROWTH_MAX = 48 * MIB;
/** Texts that must not appear in the output of any process. */
const ALARMING = /unexpected error ends the process|unhandled ?rejection|MaxListenersExceeded|heap out of memory/i;

const ends: (() => Promise<unknown>)[] = [];
let disturbances: readonly Disturbance[];
let system: System;
let proxy: RoundRobin;
let url: string;

showsLessWithout(missingRedisServer());

beforeAll(async () => {
  const stores = await disturbedStores(ends, seed, isSoak ? seldomAway : undefined);
  const { databaseUrl, redisUrl } = stores;
  disturbances = stores.disturbances;
  system = await startSystem({
    gateways: EACH,
    reconcilers: EACH,
    demos: true,
    teams: TEAMS,
    redisUrl,
    databaseUrl,
    gatewayEnv: { DNS_RECORDS_PER_TEAM: String(RECORDS_PER_TEAM), LOG_LEVEL: 'error', ...shortLeases },
    gatewayNodeArgs: (index) => (index === 1 ? REPORTS_MEMORY : []),
    reconcilerEnv: { DNS_SYNC_INTERVAL_MS: '3s', DEMO_INTERVAL_MS: '1s', LOG_LEVEL: 'error' },
  });
  ends.push(system.stop);
  proxy = await startRoundRobin(system.gateways.map((gateway) => new URL(gateway.url).origin));
  ends.push(proxy.stop);
  url = `${proxy.base}/v1`;
  await system.admin('course', 'create', COURSE_CODE, '--limit', '8');
});
afterEach(async () => {
  await system?.cloud.clearFaults();
});
afterAll(async () => {
  await undo(ends);
});

describe('gateways and reconcilers', () => {
  it(
    `lose and invent nothing, whatever is killed, restarted or fails (seed ${seed})`,
    async () => {
      process.stderr.write(`Crash test of the DNS API: CORRAL_CRASH_SEED=${seed}\n`);
      const steady = system.gateways[0] as Program;
      const others = [...system.gateways.slice(1), ...system.reconcilers];
      const steadyPid = steady.pid;
      const beside = sideLoad(system, { seed, url, courseCode: COURSE_CODE });
      const samples: Memory[] = [];

      const endsAt = performance.now() + minutes * 60_000;
      const chaos = await runChaos(system, {
        seed,
        urls: [url],
        beside: beside.run,
        isOver: ({ kills, answered }) =>
          performance.now() >= endsAt &&
          kills >= KILLS_MIN &&
          countAccepted(answered) >= ACCEPTED_MIN &&
          wasFull(answered) &&
          beside.failedActions.size > 0 &&
          wereAllServed(beside.answers),
        kill: (killer) =>
          Promise.all([
            ...(isSoak ? others.map(killSeldom(killer)) : [killInTurns(others, killer)]),
            ...disturbances.map((disturb) => disturb(killer.isOver)),
            ...(isSoak ? [sampleMemory(steady, samples, killer.isOver)] : []),
          ]),
      });
      await clearDemos(system);
      const judged = await expectNothingLostOrInvented({ ...system, url }, chaos, { recordsPerTeam: RECORDS_PER_TEAM });
      await expectDemosAreGone(system);

      const growth = isMeasured ? growthOf(samples) : { heapUsed: 0, rss: 0 };
      const { kills, lost, answered } = chaos;
      const run = { minutes, kills, lost, answered: answered.length, ...judged, beside: beside.answers, growth };
      process.stderr.write(`${JSON.stringify(run)}\n`);
      expect(growth.heapUsed).toBeLessThan(HEAP_GROWTH_MAX);
      expect(growth.rss).toBeLessThan(RSS_GROWTH_MAX);
      expect(steady.pid).toBe(steadyPid);
      const outputs = [...system.gateways, ...system.reconcilers].flatMap((program) => program.outputs().split('\n'));
      expect(outputs.filter((line) => ALARMING.test(line))).toEqual([]);
    },
    600_000 + minutes * 2 * 60_000,
  );
});

const killSeldom =
  (killer: Killer) =>
  (program: Program, index: number): Promise<void> =>
    killAgainAndAgain(program, { ...killer, seed: killer.seed + index, lifetimes: longLifetimes });

/** Whether the quota had to refuse something: a run without a refusal says nothing about the quota. */
const wasFull = (answered: readonly AnsweredWrite[]): boolean =>
  answered.some(({ code }) => code === 'resource_limit_exceeded');

const wereAllServed = (answers: Answers): boolean =>
  ['lists', 'actions', 'demos'].every((kind) => (answers[kind]?.[200] ?? 0) > 0);
