import { isRedisInstalled } from '@corral/testing';
import { restartablePostgres } from './postgres.js';
import { restartableRedis } from './redis.js';
import type { Ends } from './system-parts.js';

export type RestartableStores = Awaited<ReturnType<typeof restartableStores>>;

/** A Postgres and, if there is one on this machine, a Redis. */
export async function restartableStores(ends: Ends) {
  const postgres = await restartablePostgres();
  ends.push(postgres.remove);
  if (!isRedisInstalled()) return { postgres, redis: null, databaseUrl: postgres.url, redisUrl: undefined };
  const redis = await restartableRedis();
  await redis.start();
  ends.push(redis.kill);
  return { postgres, redis, databaseUrl: postgres.url, redisUrl: redis.url };
}
