import { LRUCache } from 'lru-cache';
import { type Bucket, type BucketRule, returnToken, type Taken, takeToken } from './token-bucket.js';

/** Where the state of token buckets lives. */
export interface Buckets {
  /**
   * Takes one token.
   *
   * @param patienceMs for a caller who would wait: a token that flows in within so long is taken ahead, and `waitMs` says
   *   when it is there. Default: 0
   */
  take(key: string, rule: BucketRule, patienceMs?: number): Taken | Promise<Taken>;
  /** Puts back what one `take` took, as if it had never been asked. @returns what is left then */
  giveBack(key: string, rule: BucketRule): Taken | Promise<Taken>;
}

/** Bounds memory. What is forgotten is the bucket unused for longest, which has filled up again by then. */
const KEYS_MAX = 50_000;

/** Buckets of one process. */
export function memoryBuckets(now: () => number): Buckets {
  const buckets = new LRUCache<string, Bucket>({ max: KEYS_MAX });
  const keep = (key: string, { bucket, taken }: { bucket: Bucket; taken: Taken }): Taken => {
    buckets.set(key, bucket);
    return taken;
  };
  return {
    take: (key, rule, patienceMs) => keep(key, takeToken(buckets.get(key), rule, now(), patienceMs)),
    giveBack: (key, rule) => keep(key, returnToken(buckets.get(key), rule, now())),
  };
}

/**
 * Buckets of one process that grant its part of each limit: all processes together grant no more than the whole. A
 * part is one request at least.
 *
 * @param processes how many live processes share the limits
 */
export function partOf(buckets: Buckets, processes: () => number): Buckets {
  const part = ({ capacity, periodMs }: BucketRule): BucketRule => ({
    capacity: Math.max(1, Math.floor(capacity / Math.max(1, processes()))),
    periodMs,
  });
  return {
    take: (key, rule, patienceMs) => buckets.take(key, part(rule), patienceMs),
    giveBack: (key, rule) => buckets.giveBack(key, part(rule)),
  };
}
