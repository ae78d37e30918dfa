import { LRUCache } from 'lru-cache';

/** The rule of a bucket: a burst of `capacity`, and `capacity` per `periodMs` in the long run. */
export interface BucketRule {
  readonly capacity: number;
  readonly periodMs: number;
}

/** All limits of requests are stated per minute: a burst of `n`, then `n / 60` per second. */
export const perMinute = (n: number): BucketRule => ({ capacity: n, periodMs: 60_000 });

/** Time per token, in ms. */
export const msPerToken = ({ capacity, periodMs }: BucketRule): number => periodMs / capacity;

/** The value of a `Retry-After`: never too early. */
export const secondsOf = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000));

/** A bucket, which keeps its tokens when its rule changes. */
export interface RuledBucket {
  readonly key: string;
  readonly rule: BucketRule;
}

/** The answer of one bucket. */
export interface Taken {
  readonly allowed: boolean;
  /** Whole tokens left. */
  readonly remaining: number;
  /** Time until the bucket is full, in ms. */
  readonly fullInMs: number;
  /** Time until a token is available for the next request, in ms; 0 when one is left. */
  readonly retryInMs: number;
  /** Time until the token taken has flowed in, in ms; 0 when it was available. */
  readonly waitMs: number;
}

/** Token buckets are kept in memory, or in Redis for all processes together. Never rejects. */
export interface Buckets {
  /**
   * Takes one token of each bucket, or none of any.
   *
   * @param patienceMs how long the request would wait: a token that flows in within this time is taken in advance, and `waitMs` is the
   *   wait for it. Default: 0
   * @returns the answers of the buckets, in their order. If one of them does not allow the request, nothing was taken of any
   */
  take(from: readonly RuledBucket[], patienceMs?: number): Promise<readonly Taken[]>;
  /**
   * Returns tokens, as if they had never been taken. A bucket never gets more than its capacity.
   *
   * @param tokens for each bucket. Default: 1
   */
  giveBack(to: readonly RuledBucket[], tokens?: number): Promise<void>;
}

/** Bounds memory. Evicts the least recently used bucket, which has refilled by then. */
const KEYS_MAX = 50_000;

/** The live processes that share the limits. */
export interface Sharing {
  /** Changes when others start or end. */
  readonly count: number;
}

/**
 * Buckets of one process. It grants its part of each limit, at least one request, so that all processes together stay within the whole.
 *
 * @param now clock in ms
 * @param processes default: this one alone
 */
export function memoryBuckets(now: () => number, processes: Sharing = { count: 1 }): Buckets {
  const buckets = new LRUCache<string, Bucket>({ max: KEYS_MAX });
  const partOf = ({ capacity, periodMs }: BucketRule): BucketRule => ({
    capacity: Math.max(1, Math.floor(capacity / Math.max(1, processes.count))),
    periodMs,
  });
  return {
    async take(from, patienceMs) {
      const tries = from.map(({ key, rule }) => takeToken(buckets.get(key), partOf(rule), now(), patienceMs));
      const isTaken = tries.every(({ taken }) => taken.allowed);
      if (isTaken) for (const [at, { key }] of from.entries()) buckets.set(key, (tries[at] as Try).bucket);
      return tries.map(({ taken }) => taken);
    },
    async giveBack(to, tokens) {
      for (const { key, rule } of to) buckets.set(key, returnTokens(buckets.get(key), partOf(rule), now(), tokens));
    },
  };
}

export interface Bucket {
  /** Negative by the number of tokens taken in advance. */
  readonly tokens: number;
  readonly at: number;
}

interface Try {
  readonly bucket: Bucket;
  readonly taken: Taken;
}

/** Tolerance for rounding errors in sums of fractions. */
const ROUNDING = 1e-9;

/** Takes one token if one is available now or within the patience. A refusal takes nothing, so waiting always helps. */
export function takeToken(bucket: Bucket | undefined, rule: BucketRule, now: number, patienceMs = 0): Try {
  const filled = fill(bucket, rule, now);
  // At most one full bucket is taken in advance.
  const inAdvance = Math.min(rule.capacity, patienceMs / msPerToken(rule));
  const allowed = filled >= 1 - inAdvance - ROUNDING;
  const left = allowed ? filled - 1 : filled;
  const tokens = Math.abs(left) < ROUNDING ? 0 : left;
  return { bucket: { tokens, at: now }, taken: describeTaken(allowed, tokens, rule) };
}

/** Returns tokens, up to the bucket's capacity. */
export function returnTokens(bucket: Bucket | undefined, rule: BucketRule, now: number, count = 1): Bucket {
  return { tokens: Math.min(rule.capacity, fill(bucket, rule, now) + count), at: now };
}

/** @param tokens left in the bucket, including fractions */
export function describeTaken(allowed: boolean, tokens: number, rule: BucketRule): Taken {
  const gap = msPerToken(rule);
  return {
    allowed,
    remaining: Math.max(0, Math.floor(tokens + ROUNDING)),
    fullInMs: Math.ceil((rule.capacity - tokens) * gap),
    retryInMs: tokens >= 1 - ROUNDING ? 0 : Math.ceil((1 - tokens) * gap),
    waitMs: allowed && tokens < -ROUNDING ? Math.ceil(-tokens * gap) : 0,
  };
}

function fill(bucket: Bucket | undefined, rule: BucketRule, now: number): number {
  if (bucket === undefined) return rule.capacity;
  const elapsed = Math.max(0, now - bucket.at);
  return Math.min(rule.capacity, bucket.tokens + elapsed / msPerToken(rule));
}
