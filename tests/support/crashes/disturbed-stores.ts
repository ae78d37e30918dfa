import { setTimeout as pause } from 'node:timers/promises';
import { isRedisInstalled } from '@corral/testing';
import fc from 'fast-check';
import { restartablePostgres } from '../system/postgres.js';
import { restartableRedis } from '../system/redis.js';
import type { Ends } from '../system/system-parts.js';
import { drawer } from './draw.js';

/** Continues until the run is over. */
export type Disturbance = (isOver: () => boolean) => Promise<void>;

const awayMs = fc.integer({ min: 0, max: 1_500 });
const oftenAway = fc.record({ beforeMs: fc.integer({ min: 4_000, max: 15_000 }), awayMs });
/** Rare enough for steady work in between. */
export const seldomAway = fc.record({ beforeMs: fc.integer({ min: 10_000, max: 25_000 }), awayMs });

/** A migrated Postgres that stops for moments, and a Redis, if there is one, that loses all its data, sometimes with its process. */
export async function disturbedStores(ends: Ends, seed: number, absences = oftenAway) {
  const postgres = await restartablePostgres(ends);
  const { databaseUrl } = postgres;
  const disturbances = [
    again(drawer(absences, seed + 1_000), async (awayMs) => {
      await postgres.stop();
      await pause(awayMs);
      await postgres.start();
    }),
  ];
  if (!isRedisInstalled()) return { databaseUrl, redisUrl: undefined, disturbances };
  const redis = await restartableRedis();
  await redis.start();
  ends.push(redis.kill);
  const isKilled = drawer(fc.boolean(), seed + 3_000);
  const forget = again(drawer(absences, seed + 2_000), async (awayMs) => {
    if (!isKilled()) return redis.flush();
    await redis.kill();
    await pause(awayMs);
    await redis.start();
  });
  return { databaseUrl, redisUrl: redis.url, disturbances: [...disturbances, forget] };
}

const again =
  (next: () => { beforeMs: number; awayMs: number }, disturb: (awayMs: number) => Promise<void>): Disturbance =>
  async (isOver) => {
    while (!isOver()) {
      const { beforeMs, awayMs } = next();
      await pause(beforeMs);
      await disturb(awayMs);
    }
  };
