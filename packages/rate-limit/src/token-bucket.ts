/** What a bucket allows: a burst of `capacity`, and on the long run `capacity` per `periodMs`. */
export interface BucketRule {
  readonly capacity: number;
  readonly periodMs: number;
}

export interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

export interface Taken {
  readonly allowed: boolean;
  /** Whole tokens left. */
  readonly remaining: number;
  /** Until the bucket is full again. */
  readonly fullInMs: number;
  /** Until one token is there; 0 when one is left. */
  readonly retryInMs: number;
}

/** Sums of fractions may fall short of a whole token by a rounding error. */
const ROUNDING = 1e-9;

/** Takes one token, if there is one. A refusal takes nothing, so waiting always helps. Times in milliseconds. */
export function takeToken(bucket: Bucket | undefined, rule: BucketRule, now: number): { bucket: Bucket; taken: Taken } {
  const perMs = rule.capacity / rule.periodMs;
  const elapsed = bucket === undefined ? Number.POSITIVE_INFINITY : Math.max(0, now - bucket.at);
  const filled = bucket === undefined ? rule.capacity : Math.min(rule.capacity, bucket.tokens + elapsed * perMs);
  const allowed = filled >= 1 - ROUNDING;
  const tokens = allowed ? Math.max(0, filled - 1) : filled;
  return { bucket: { tokens, at: now }, taken: describe(allowed, tokens, rule) };
}

/** @param tokens left in the bucket, fractions included */
export function describe(allowed: boolean, tokens: number, rule: BucketRule): Taken {
  const perMs = rule.capacity / rule.periodMs;
  return {
    allowed,
    remaining: Math.floor(tokens + ROUNDING),
    fullInMs: Math.ceil((rule.capacity - tokens) / perMs),
    retryInMs: tokens >= 1 - ROUNDING ? 0 : Math.ceil((1 - tokens) / perMs),
  };
}
