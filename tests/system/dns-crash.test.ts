import { randomInt } from 'node:crypto';
import { describeEachNeeding, missingRedis, redisForTests, type TestRedis } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type AnsweredWrite, runChaos } from '../support/chaos.js';
import { expectNothingLostOrInvented } from '../support/crash-judge.js';
import { type System, startSystem } from '../support/start-system.js';

/** `CORRAL_CRASH_ROUNDS=20` kills twenty times as often; `CORRAL_CRASH_SEED=…` repeats the choices of a run. */
const rounds = Number(process.env.CORRAL_CRASH_ROUNDS ?? 1);
const seed = Number(process.env.CORRAL_CRASH_SEED ?? randomInt(1, 1_000_000));
const RECORDS_PER_TEAM = 12;
const TEAMS = ['acme', 'globex', 'initech'];

/** Whether the quota had to refuse something: a run without that says nothing about it. */
const wasFull = (answered: readonly AnsweredWrite[]): boolean =>
  answered.some(({ code }) => code === 'resource_limit_exceeded');

const backends = [
  { backend: 'Postgres', kills: 40, missing: null },
  { backend: 'Redis', kills: 12, missing: missingRedis() },
];

describeEachNeeding(describe, backends, 'with jobs and limits on $backend', ({ backend, kills }) => {
  let redis: TestRedis | null = null;
  let system: System;

  beforeAll(async () => {
    if (backend === 'Redis') redis = await redisForTests();
    system = await startSystem({
      ...{ gateways: 2, reconcilers: 2, teams: TEAMS, redisUrl: redis?.url },
      gatewayEnv: { DNS_RECORDS_PER_TEAM: String(RECORDS_PER_TEAM), LOG_LEVEL: 'error' },
      reconcilerEnv: { DNS_SYNC_INTERVAL_MS: '3s', LOG_LEVEL: 'error' },
    });
  }, 120_000);
  afterEach(() => system.cloud.clearFaults());
  afterAll(async () => {
    await system.stop();
    await redis?.stop();
  }, 60_000);

  it(
    `loses nothing and invents nothing, whatever is killed and whatever fails (seed ${seed})`,
    async () => {
      process.stderr.write(`Crash test on ${backend}: CORRAL_CRASH_SEED=${seed}\n`);

      const chaos = await runChaos(system, {
        seed,
        isOver: (soFar) => soFar.kills >= kills * rounds && wasFull(soFar.answered),
      });
      process.stderr.write(
        `${chaos.kills} kills, ${chaos.answered.length} answers, ${chaos.lost} requests without one\n`,
      );
      const { writes, settled } = await expectNothingLostOrInvented(system, chaos, {
        recordsPerTeam: RECORDS_PER_TEAM,
      });

      process.stderr.write(`${writes} writes upstream, ${settled} settled\n`);
      expect(chaos.kills).toBeGreaterThanOrEqual(kills * rounds);
    },
    120_000 + rounds * 120_000,
  );
});
