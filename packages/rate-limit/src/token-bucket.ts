/** What a bucket allows: a burst of `capacity`, and on the long run `capacity` per `periodMs`. */
export interface BucketRule {
  readonly capacity: number;
  readonly periodMs: number;
}

export interface Bucket {
  /** Below zero by what was promised to those who wait. */
  readonly tokens: number;
  readonly at: number;
}

export interface Taken {
  readonly allowed: boolean;
  /** Whole tokens left. */
  readonly remaining: number;
  /** Until the bucket is full again. */
  readonly fullInMs: number;
  /** Until one token is there for whoever comes next; 0 when one is left. */
  readonly retryInMs: number;
  /** Until the token that was taken has flowed in; 0 when it was there. */
  readonly waitMs: number;
}

/** Sums of fractions may fall short of a whole token by a rounding error. */
const ROUNDING = 1e-9;

/**
 * Takes one token, if there is one, or if there will be one within the patience. A refusal takes nothing, so waiting
 * always helps. Times in milliseconds.
 */
export function takeToken(
  bucket: Bucket | undefined,
  rule: BucketRule,
  now: number,
  patienceMs = 0,
): { bucket: Bucket; taken: Taken } {
  const filled = fill(bucket, rule, now);
  const allowed = filled >= 1 - promisable(rule, patienceMs) - ROUNDING;
  const left = allowed ? filled - 1 : filled;
  const tokens = Math.abs(left) < ROUNDING ? 0 : left;
  return { bucket: { tokens, at: now }, taken: describe(allowed, tokens, rule) };
}

/** Puts one token back that was taken: never more than the bucket holds. */
export function returnToken(
  bucket: Bucket | undefined,
  rule: BucketRule,
  now: number,
): { bucket: Bucket; taken: Taken } {
  const tokens = Math.min(rule.capacity, fill(bucket, rule, now) + 1);
  return { bucket: { tokens, at: now }, taken: describe(true, tokens, rule) };
}

/** How many tokens may be promised ahead to those who wait: what flows in meanwhile, and at most a bucket full. */
export function promisable(rule: BucketRule, patienceMs: number): number {
  return Math.min(rule.capacity, (patienceMs * rule.capacity) / rule.periodMs);
}

/** @param tokens left in the bucket, fractions included */
export function describe(allowed: boolean, tokens: number, rule: BucketRule): Taken {
  const perMs = rule.capacity / rule.periodMs;
  return {
    allowed,
    remaining: Math.max(0, Math.floor(tokens + ROUNDING)),
    fullInMs: Math.ceil((rule.capacity - tokens) / perMs),
    retryInMs: tokens >= 1 - ROUNDING ? 0 : Math.ceil((1 - tokens) / perMs),
    waitMs: allowed && tokens < -ROUNDING ? Math.ceil(-tokens / perMs) : 0,
  };
}

function fill(bucket: Bucket | undefined, rule: BucketRule, now: number): number {
  if (bucket === undefined) return rule.capacity;
  const elapsed = Math.max(0, now - bucket.at);
  return Math.min(rule.capacity, bucket.tokens + (elapsed * rule.capacity) / rule.periodMs);
}
