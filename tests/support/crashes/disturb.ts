import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import type { FaultRule, LocalCloud } from '../system/local-cloud.js';
import { type RestartableStores, restartableStores } from '../system/restartable-stores.js';
import type { Ends } from '../system/system-parts.js';
import { drawer } from './crash-plan.js';

/** Continues until the run is over. */
export type Disturbance = (isOver: () => boolean) => Promise<void>;

interface Absence {
  readonly beforeMs: number;
  readonly awayMs: number;
}

const awayMs = fc.integer({ min: 0, max: 1_500 });
const oftenAway: fc.Arbitrary<Absence> = fc.record({ beforeMs: fc.integer({ min: 4_000, max: 15_000 }), awayMs });
/** Rare enough for steady work in between. */
export const seldomAway: fc.Arbitrary<Absence> = fc.record({
  beforeMs: fc.integer({ min: 10_000, max: 25_000 }),
  awayMs,
});

/** A Postgres, and a Redis if there is one, and what happens to them. */
export async function disturbedStores(ends: Ends, seed: number, absences = oftenAway) {
  const { postgres, redis, databaseUrl, redisUrl } = await restartableStores(ends);
  const disturbances: Disturbance[] = [restartedPostgres(postgres, seed + 1_000, absences)];
  if (redis !== null) disturbances.push(forgetfulRedis(redis, seed + 2_000, absences));
  return { databaseUrl, redisUrl, disturbances };
}

/** Makes Redis lose all its data, sometimes together with its process. */
function forgetfulRedis(
  redis: NonNullable<RestartableStores['redis']>,
  seed: number,
  absences: fc.Arbitrary<Absence>,
): Disturbance {
  const next = drawer(fc.record({ times: absences, ends: fc.boolean() }), seed);
  return async (isOver) => {
    while (!isOver()) {
      const { times, ends } = next();
      await pause(times.beforeMs);
      if (ends) {
        await redis.kill();
        await pause(times.awayMs);
        await redis.start();
      } else {
        await redis.flush();
      }
    }
  };
}

/** Stops Postgres for a moment. */
function restartedPostgres(
  postgres: RestartableStores['postgres'],
  seed: number,
  absences: fc.Arbitrary<Absence>,
): Disturbance {
  const next = drawer(absences, seed);
  return async (isOver) => {
    while (!isOver()) {
      const { beforeMs, awayMs } = next();
      await pause(beforeMs);
      await postgres.stop();
      await pause(awayMs);
      await postgres.start();
    }
  };
}

const RULES_MAX = 8;
const EVERY_MS = 400;

/** Injects drawn faults one after the other until the run is over, and leaves none behind. */
export async function breakCloud(
  cloud: Pick<LocalCloud, 'addFaults' | 'clearFaults'>,
  faults: fc.Arbitrary<FaultRule>,
  { seed, isOver }: { readonly seed: number; isOver(): boolean },
): Promise<void> {
  const next = drawer(faults, seed);
  while (!isOver()) {
    for (let rules = 0; rules < RULES_MAX && !isOver(); rules += 1) {
      await cloud.addFaults(next());
      await pause(EVERY_MS);
    }
    await cloud.clearFaults(); // otherwise rules without a match accumulate
  }
  await cloud.clearFaults();
}
