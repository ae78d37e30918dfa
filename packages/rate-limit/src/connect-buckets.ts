import { Redis } from 'ioredis';
import { type Buckets, memoryBuckets } from './buckets.js';
import { redisBuckets } from './redis-buckets.js';

/** Request limits shared through Redis where there is one, else of this process. */
export function connectBuckets(
  redisUrl: string | undefined,
  onError: (error: Error) => void,
): Buckets & { close(): Promise<void> } {
  const memory = memoryBuckets(Date.now);
  if (redisUrl === undefined) return { take: memory.take, close: async () => undefined };
  // Fail fast rather than queue: while Redis is away, limits count per process.
  const redis = new Redis(redisUrl, { enableOfflineQueue: false, maxRetriesPerRequest: 0, connectTimeout: 2_000 });
  redis.on('error', onError);
  const buckets = redisBuckets({ redis, fallback: memory, now: Date.now, onError });
  return {
    take: buckets.take,
    close: async () => {
      await buckets.close();
      redis.disconnect();
    },
  };
}
