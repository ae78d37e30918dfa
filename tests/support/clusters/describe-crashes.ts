import { randomInt } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { forgetfulRedis, restartedPostgres } from '../disturb.js';
import { restartablePostgres } from '../postgres.js';
import { restartableRedis } from '../redis.js';
import { adoptionEnv, adoptions } from './adoptions.js';
import { billingEnv, billingSystem } from './billing-system.js';
import { runClusterChaos } from './chaos.js';
import { keyRotation } from './key-rotation.js';
import { recordRowChanges } from './row-history.js';
import { newKey, serviceKeys } from './service-keys.js';
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
    const firstKey = newKey(1);
    const keys = serviceKeys(firstKey);

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
        apiEnv: { LOG_LEVEL: 'error', ...billingEnv },
        reconcilerEnv: { LOG_LEVEL: 'error', ...adoptionEnv },
        secretKeys: keys.valueFor,
      });
      ends.push(system.stop);
      await recordRowChanges(system.pool, ['cluster', 'operation', 'audit_entry', 'adopted_server', 'billing_event']);
    }, 120_000);
    afterEach(() => system?.cloud.clearFaults());
    afterAll(async () => {
      for (const end of ends.reverse()) await end();
    }, 60_000);

    it(
      `keeps every promise, whatever is killed and whatever fails (seed ${seed})`,
      async () => {
        process.stderr.write(`Crash test of clusters with ${title}: CORRAL_CRASH_SEED=${seed}\n`);
        const sidelines = [
          adoptions(system, seed + 400),
          billingSystem(system, seed + 500),
          // It starts each process anew, which is disturbance enough.
          ...(disturbed === undefined ? [keyRotation(system, { keys, first: firstKey, seed: seed + 600 })] : []),
        ];

        const chaos = await runClusterChaos(system, {
          ...{ seed, kills: kills * rounds, sidelines },
          ...(disturb === undefined ? {} : { disturb }),
        });
        await Promise.all([...system.apis, ...system.reconcilers].map((program) => program.untilReady()));
        await untilSettled(system);

        process.stderr.write(
          `${chaos.kills} kills, ${chaos.requests} requests, ${chaos.told.length} operations, ` +
            `accepted: ${JSON.stringify(chaos.accepted)}\n`,
        );
        expect(await findContradictions(system, chaos, sidelines)).toEqual([]);
        expect(chaos.kills).toBeGreaterThanOrEqual(kills * rounds);
      },
      600_000 + rounds * 600_000,
    );
  });
}
