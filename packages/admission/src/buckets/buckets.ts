import { LRUCache } from 'lru-cache';
import { type Bucket, type BucketRule, returnTokens, type Taken, takeToken } from './token-bucket.js';

/** The state of token buckets. */
export interface Buckets {
  /**
   * Takes one token.
   *
   * @param patienceMs how long the caller would wait: a token that flows in within this time is taken ahead, and
   *   `waitMs` is the wait for it. Default: 0
   */
  take(key: string, rule: BucketRule, patienceMs?: number): Taken | Promise<Taken>;
  /**
   * Returns tokens taken by `take`, as if they had never been taken.
   *
   * @param tokens default: 1
   * @returns the state afterwards
   */
  giveBack(key: string, rule: BucketRule, tokens?: number): Taken | Promise<Taken>;
}

/** Bounds memory. Evicts the least recently used bucket, which has refilled by then. */
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
    giveBack: (key, rule, tokens) => keep(key, returnTokens(buckets.get(key), rule, now(), tokens)),
  };
}

/**
 * Buckets that grant this process its share of each limit, so that all processes together stay within the whole. A
 * share is at least one request.
 *
 * @param processes number of live processes that share the limits
 */
export function partOf(buckets: Buckets, processes: () => number): Buckets {
  const part = ({ capacity, periodMs }: BucketRule): BucketRule => ({
    capacity: Math.max(1, Math.floor(capacity / Math.max(1, processes()))),
    periodMs,
  });
  return {
    take: (key, rule, patienceMs) => buckets.take(key, part(rule), patienceMs),
    giveBack: (key, rule, tokens) => buckets.giveBack(key, part(rule), tokens),
  };
}
