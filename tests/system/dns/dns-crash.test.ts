import { missingRedisServer, showsLessWithout } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { clearDemos, expectDemosAreGone } from '../../support/crashes/demos.js';
import { disturbedStores, seldomAway } from '../../support/crashes/disturbed-stores.js';
import { type AnsweredWrite, countAccepted, countAnswers, write } from '../../support/crashes/dns-clients.js';
import { expectNothingLostOrInvented } from '../../support/crashes/dns-judge.js';
import { faultArbitrary } from '../../support/crashes/dns-steps.js';
import { minutes as crashMinutes, seed } from '../../support/crashes/draw.js';
import { growthOf, type Memory, REPORTS_MEMORY, sampleMemory } from '../../support/crashes/memory.js';
import { type Answers, sideLoad } from '../../support/crashes/side-load.js';
import { type Crashes, type Crashing, whileCrashing } from '../../support/crashes/while-crashing.js';
import type { Program } from '../../support/system/program.js';
import { startRoundRobin } from '../../support/system/round-robin.js';
import { type System, shortLeases, startSystem } from '../../support/system/start-system.js';
import { type Ends, undo } from '../../support/system/system-parts.js';

/** Set by `npm run test:long -- soak`: kills and outages are rarer, so that there is steady work in between. */
const soakMinutes = process.env.CORRAL_SOAK_MINUTES;
const isSoak = soakMinutes !== undefined;
const minutes = isSoak ? Number(soakMinutes) : crashMinutes;

/** `npm test` ends when each process that may be killed was. */
const [EACH, KILLS_MIN, ACCEPTED_MIN] = minutes > 0 ? [3, 8, 25] : [2, 3, 10];
const TIMEOUT_MS = 600_000 + minutes * 2 * 60_000;
const teams = ['acme', 'globex', 'initech'];
const COURSE_CODE = 'CRASH-COURSE';
/** In shorter runs, a program still warms up in the first third. */
const MEASURED_FROM_MINUTES = 3;
const MIB = 2 ** 20;
/** How much more the steady gateway may hold in the last third of the time than in the first. Its work stays the same. */
const HEAP_GROWTH_MAX = 6 * MIB;
/** This includes pages that V8 and malloc keep for later. */
const RSS_GROWTH_MAX = 48 * MIB;
/** Texts that must not appear in the output of any process. */
const ALARMING = /unexpected error ends the process|unhandled ?rejection|MaxListenersExceeded|heap out of memory/i;

const ends: Ends = [];
afterEach(() => undo(ends));

interface Plan extends Pick<Crashes, 'programs' | 'disturbances' | 'downMax' | 'pauseMsMax'> {
  readonly urls: readonly string[];
  readonly isEnough?: (answered: readonly AnsweredWrite[]) => boolean;
  readonly beside?: (run: Crashing, answered: readonly AnsweredWrite[]) => Promise<unknown>;
}

/** Lets clients write while programs are killed. Afterwards nothing has happened that must never happen. */
async function crash(system: System, { urls, isEnough, beside, ...plan }: Plan) {
  process.stderr.write(`Crash test of the DNS API: CORRAL_CRASH_SEED=${seed}\n`);
  const answered: AnsweredWrite[] = [];
  const endsAt = performance.now() + minutes * 60_000;
  const crashes: Crashes = {
    ...plan,
    seed,
    faults: { cloud: system.cloud, of: faultArbitrary },
    answers: () => countAnswers(answered),
    isEnough: (kills) =>
      performance.now() >= endsAt &&
      kills >= KILLS_MIN &&
      countAccepted(answered) >= ACCEPTED_MIN &&
      (isEnough?.(answered) ?? true),
  };
  const { kills, problems } = await whileCrashing(crashes, (run) =>
    Promise.all([write(system, { seed, urls, answered }, run), beside?.(run, answered)]),
  );
  expect(problems).toEqual([]);
  return { kills, answered };
}

showsLessWithout(missingRedisServer());

describe('gateways and reconcilers', () => {
  it(
    `lose and invent nothing, whatever is killed, restarted or fails (seed ${seed})`,
    async () => {
      const { disturbances, ...stores } = await disturbedStores(ends, seed, isSoak ? seldomAway : undefined);
      const limits = { recordsPerTeam: 12 };
      const system = await startSystem({
        gateways: EACH,
        reconcilers: EACH,
        demos: true,
        teams,
        ...stores,
        gatewayEnv: { DNS_RECORDS_PER_TEAM: String(limits.recordsPerTeam), LOG_LEVEL: 'error', ...shortLeases },
        gatewayNodeArgs: (index) => (index === 1 ? REPORTS_MEMORY : []),
        reconcilerEnv: { DNS_SYNC_INTERVAL_MS: '3s', DEMO_INTERVAL_MS: '1s', LOG_LEVEL: 'error' },
      });
      ends.push(system.stop);
      const [steady, ...others] = system.gateways as unknown as readonly [Program, ...Program[]];
      const proxy = await startRoundRobin(system.gateways.map(({ base }) => base));
      ends.push(proxy.stop);
      const url = `${proxy.base}/v1`;
      await system.admin('course', 'create', COURSE_CODE, '--limit', '8');
      const side = sideLoad(system, { seed, url, courseCode: COURSE_CODE });
      const steadyPid = steady.pid;
      const samples: Memory[] = [];

      const { kills, answered } = await crash(system, {
        urls: [url],
        programs: [...others, ...system.reconcilers],
        disturbances,
        ...(isSoak && { pauseMsMax: 15_000 }),
        isEnough: (answered) => wasFull(answered) && side.failedActions.size > 0 && wereAllServed(side.answers),
        beside: (run, answered) =>
          Promise.all([side.run(run, answered), ...(isSoak ? [sampleMemory(steady, samples, run.isOver)] : [])]),
      });
      await clearDemos(system);
      const judged = await expectNothingLostOrInvented({ ...system, url }, answered, limits);
      await expectDemosAreGone(system);

      const growth = isSoak && minutes >= MEASURED_FROM_MINUTES ? growthOf(samples) : { heapUsed: 0, rss: 0 };
      const run = { minutes, kills, answered: answered.length, ...judged, beside: side.answers, growth };
      process.stderr.write(`${JSON.stringify(run)}\n`);
      expect(growth.heapUsed).toBeLessThan(HEAP_GROWTH_MAX);
      expect(growth.rss).toBeLessThan(RSS_GROWTH_MAX);
      expect(steady.pid).toBe(steadyPid);
      const outputs = [...system.gateways, ...system.reconcilers].flatMap((program) => program.outputs().split('\n'));
      expect(outputs.filter((line) => ALARMING.test(line))).toEqual([]);
    },
    TIMEOUT_MS,
  );

  if (minutes === 0 || isSoak) return;
  it(
    `lose and invent nothing with jobs and limits on Postgres, where all may be down at once (seed ${seed})`,
    async () => {
      const limits = { recordsPerTeam: 48 };
      const system = await startSystem({
        gateways: 2,
        reconcilers: 2,
        teams,
        gatewayEnv: { DNS_RECORDS_PER_TEAM: String(limits.recordsPerTeam), LOG_LEVEL: 'error', ...shortLeases },
        reconcilerEnv: { DNS_SYNC_INTERVAL_MS: '3s', LOG_LEVEL: 'error' },
      });
      ends.push(system.stop);
      const { gateways, reconcilers } = system;

      const urls = gateways.map((gateway) => gateway.url);
      const programs = [...gateways, ...reconcilers];
      const { kills, answered } = await crash(system, { urls, programs, downMax: programs.length });

      const judged = await expectNothingLostOrInvented(system, answered, limits);
      process.stderr.write(`${JSON.stringify({ minutes, kills, answered: answered.length, ...judged })}\n`);
    },
    TIMEOUT_MS,
  );
});

/** Whether the quota had to refuse something: a run without a refusal says nothing about the quota. */
const wasFull = (answered: readonly AnsweredWrite[]): boolean =>
  answered.some(({ code }) => code === 'resource_limit_exceeded');

const wereAllServed = (answers: Answers): boolean =>
  ['lists', 'actions', 'demos'].every((kind) => (answers[kind]?.[200] ?? 0) > 0);
