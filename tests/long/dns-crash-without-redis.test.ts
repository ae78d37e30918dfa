import { afterAll, beforeAll, it } from '@jest/globals';
import { countAccepted, runChaos } from '../support/crashes/chaos.js';
import { expectNothingLostOrInvented } from '../support/crashes/crash-judge.js';
import { readCrashPlan } from '../support/crashes/crash-plan.js';
import { type System, shortLeases, startSystem } from '../support/system/start-system.js';

const { seed, minutes } = readCrashPlan({ minutes: 0 });
const KILLS_MIN = 8;
const ACCEPTED_MIN = 25;
const RECORDS_PER_TEAM = 48;

let system: System;

beforeAll(async () => {
  system = await startSystem({
    gateways: 2,
    reconcilers: 2,
    teams: ['acme', 'globex', 'initech'],
    gatewayEnv: { DNS_RECORDS_PER_TEAM: String(RECORDS_PER_TEAM), LOG_LEVEL: 'error', ...shortLeases },
    reconcilerEnv: { DNS_SYNC_INTERVAL_MS: '3s', LOG_LEVEL: 'error' },
  });
});
afterAll(() => system?.stop());

it(
  `nothing is lost or invented with jobs and limits on Postgres, whatever is killed (seed ${seed})`,
  async () => {
    process.stderr.write(`Crash test of the DNS API without Redis: CORRAL_CRASH_SEED=${seed}\n`);
    const endsAt = performance.now() + minutes * 60_000;
    const chaos = await runChaos(system, {
      seed,
      isOver: ({ kills, answered }) =>
        performance.now() >= endsAt && kills >= KILLS_MIN && countAccepted(answered) >= ACCEPTED_MIN,
    });

    const { writes, settled } = await expectNothingLostOrInvented(system, chaos, {
      recordsPerTeam: RECORDS_PER_TEAM,
    });
    process.stderr.write(
      `${chaos.kills} kills, ${chaos.answered.length} answers, ${chaos.lost} requests without one, ` +
        `${writes} writes upstream, ${settled} settled\n`,
    );
  },
  300_000 + minutes * 2 * 60_000,
);
