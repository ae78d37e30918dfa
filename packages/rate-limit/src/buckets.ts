import { LRUCache } from 'lru-cache';
import { type Bucket, type BucketRule, type Taken, takeToken } from './token-bucket.js';

/** Where the state of token buckets lives. */
export interface Buckets {
  take(key: string, rule: BucketRule): Taken | Promise<Taken>;
}

/** Bounds memory. What is forgotten is the bucket unused for longest, which has filled up again by then. */
const KEYS_MAX = 50_000;

/** Buckets of one process. */
export function memoryBuckets(now: () => number): Buckets {
  const buckets = new LRUCache<string, Bucket>({ max: KEYS_MAX });
  return {
    take(key, rule) {
      const { bucket, taken } = takeToken(buckets.get(key), rule, now());
      buckets.set(key, bucket);
      return taken;
    },
  };
}
