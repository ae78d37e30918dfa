/** The rule of a bucket: a burst of `capacity`, and `capacity` per `periodMs` in the long run. */
export interface BucketRule {
  readonly capacity: number;
  readonly periodMs: number;
}

export interface Bucket {
  /** Negative by the number of tokens promised ahead. */
  readonly tokens: number;
  readonly at: number;
}

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

/** Tolerance for rounding errors in sums of fractions. */
const ROUNDING = 1e-9;

/**
 * Takes one token if one is available now or within the patience. A refusal takes nothing, so waiting always helps.
 * Times in milliseconds.
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

/** Returns tokens, up to the bucket's capacity. */
export function returnTokens(
  bucket: Bucket | undefined,
  rule: BucketRule,
  now: number,
  count = 1,
): { bucket: Bucket; taken: Taken } {
  const tokens = Math.min(rule.capacity, fill(bucket, rule, now) + count);
  return { bucket: { tokens, at: now }, taken: describe(true, tokens, rule) };
}

/** Number of tokens that may be promised ahead: those that flow in during the patience, at most one full bucket. */
export function promisable(rule: BucketRule, patienceMs: number): number {
  return Math.min(rule.capacity, (patienceMs * rule.capacity) / rule.periodMs);
}

/** @param tokens left in the bucket, including fractions */
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
