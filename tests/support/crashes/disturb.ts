import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import type { FaultRule, LocalCloud } from '../system/local-cloud.js';
import type { restartablePostgres } from '../system/postgres.js';
import type { restartableRedis } from '../system/redis.js';
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

/** Makes Redis lose all its data, sometimes together with its process. */
export function forgetfulRedis(
  redis: Awaited<ReturnType<typeof restartableRedis>>,
  seed: number,
  absences = oftenAway,
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
export function restartedPostgres(
  postgres: Awaited<ReturnType<typeof restartablePostgres>>,
  seed: number,
  absences = oftenAway,
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
