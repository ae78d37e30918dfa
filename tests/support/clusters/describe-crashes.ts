import { randomInt } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { forgetfulRedis, restartedPostgres } from '../disturb.js';
import { restartablePostgres } from '../postgres.js';
import { restartableRedis } from '../redis.js';
import { runClusterChaos } from './chaos.js';
import { recordRowChanges } from './row-history.js';
import { findContradictions, untilSettled } from './settled.js';
import { type ClusterSystem, startClusterSystem } from './start-cluster-system.js';

/** `CORRAL_CRASH_ROUNDS=20` kills twenty times as often; `CORRAL_CRASH_SEED=…` repeats the choices of a run. */
const rounds = Number(process.env.CORRAL_CRASH_ROUNDS ?? 1);
const seed = Number(process.env.CORRAL_CRASH_SEED ?? randomInt(1, 1_000_000));

export interface CrashTest {
  /** Completes the sentence "with …". */
  readonly title: string;
  readonly kills: number;
  /** How far the clocks of the processes are off. */
  readonly clockShiftsMs?: readonly number[];
  readonly disturbed?: 'Redis' | 'Postgres';
}

/** Kills two APIs and three reconcilers at random moments while clients work, and judges what is left. */
export function describeCrashes({ title, kills, clockShiftsMs = [], disturbed }: CrashTest): void {
  describe(`with ${title}`, () => {
    const ends: (() => Promise<unknown>)[] = [];
    let system: ClusterSystem;
    let disturb: ((isOver: () => boolean) => Promise<void>) | undefined;

    beforeAll(async () => {
      let [redisUrl, databaseUrl]: (string | undefined)[] = [];
      if (disturbed === 'Redis') {
        const server = await restartableRedis();
        await server.start();
        ends.push(server.kill);
        redisUrl = server.url;
        disturb = forgetfulRedis(server, seed + 1_000);
      }
      if (disturbed === 'Postgres') {
        const server = await restartablePostgres();
        ends.push(server.remove);
        databaseUrl = server.url;
        disturb = restartedPostgres(server, seed + 1_000);
      }
      system = await startClusterSystem({
        ...{ apis: 2, reconcilers: 3, teams: ['acme', 'globex'], clockShiftsMs, redisUrl },
        ...(databaseUrl === undefined ? {} : { databaseUrl }),
        ...{ apiEnv: { LOG_LEVEL: 'error' }, reconcilerEnv: { LOG_LEVEL: 'error' } },
      });
      ends.push(system.stop);
      await recordRowChanges(system.pool, ['cluster', 'operation', 'audit_entry']);
    }, 120_000);
    afterEach(() => system?.cloud.clearFaults());
    afterAll(async () => {
      for (const end of ends.reverse()) await end();
    }, 60_000);

    it(
      `keeps every promise, whatever is killed and whatever fails (seed ${seed})`,
      async () => {
        process.stderr.write(`Crash test of clusters with ${title}: CORRAL_CRASH_SEED=${seed}\n`);

        const chaos = await runClusterChaos(system, {
          ...{ seed, kills: kills * rounds },
          ...(disturb === undefined ? {} : { disturb }),
        });
        await Promise.all([...system.apis, ...system.reconcilers].map((program) => program.untilReady()));
        await untilSettled(system);

        process.stderr.write(
          `${chaos.kills} kills, ${chaos.requests} requests, ${chaos.told.length} operations, ` +
            `accepted: ${JSON.stringify(chaos.accepted)}\n`,
        );
        expect(await findContradictions(system, chaos)).toEqual([]);
        expect(chaos.kills).toBeGreaterThanOrEqual(kills * rounds);
      },
      600_000 + rounds * 600_000,
    );
  });
}
