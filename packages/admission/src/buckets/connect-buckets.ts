import { Redis } from 'ioredis';
import { type Buckets, memoryBuckets, partOf } from './buckets.js';
import { redisBuckets } from './redis-buckets.js';

export interface ConnectBucketsOptions {
  readonly redisUrl: string | undefined;
  /** Number of live processes that share the limits. Without Redis each grants its share. */
  readonly processes: () => number;
  readonly onError: (error: Error) => void;
}

/** Connects request limits: shared through Redis if configured, else divided among processes. */
export function connectBuckets({
  redisUrl,
  processes,
  onError,
}: ConnectBucketsOptions): Buckets & { close(): Promise<void> } {
  const alone = partOf(memoryBuckets(Date.now), processes);
  if (redisUrl === undefined) return { ...alone, close: async () => undefined };
  // Fail fast rather than queue: while Redis is unavailable, limits count per process.
  const redis = new Redis(redisUrl, { enableOfflineQueue: false, maxRetriesPerRequest: 0, connectTimeout: 2_000 });
  redis.on('error', onError);
  const buckets = redisBuckets({ redis, fallback: alone, now: Date.now, onError });
  return {
    ...buckets,
    close: async () => {
      await buckets.close();
      redis.disconnect();
    },
  };
}
