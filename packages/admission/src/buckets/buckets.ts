import { Redis, type Result } from 'ioredis';
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
function describeTaken(allowed: boolean, tokens: number, rule: BucketRule): Taken {
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

export interface RedisBucketsOptions {
  readonly redis: Redis;
  /** Used while Redis is unavailable. */
  readonly fallback: Buckets;
  readonly onError: (error: Error) => void;
  /** Clock in ms. Default: real time. */
  readonly now?: () => number;
  /** See `ConnectBucketsOptions`. */
  readonly onBack?: () => void;
}

/** How long Redis is not called after a failure. */
const BACKOFF_MS = 1_000;
/** Longest wait for an answer of Redis. */
const TIMEOUT_MS = 250;
/** The client's error of a command without an answer has no name or code of its own. */
const TIMED_OUT = 'Command timed out';

/**
 * The rule of `takeToken` and `returnTokens` for all buckets of a request: what Redis must decide in one step. Arguments: the number of
 * tokens to return, 0 to take one each; the patience in ms; capacity and period of each bucket. Answers whether each bucket allows the
 * request, and its level. Uses Redis' clock, so that those of the processes do not matter.
 */
const script = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local returned, patience = tonumber(ARGV[1]), tonumber(ARGV[2])
local levels, answer, done = {}, {}, true
for i, key in ipairs(KEYS) do
  local capacity, period = tonumber(ARGV[2*i+1]), tonumber(ARGV[2*i+2])
  local kept = redis.call('HMGET', key, 'tokens', 'at')
  local tokens = tonumber(kept[1]) or capacity
  local at = tonumber(kept[2]) or now
  local level = math.min(capacity, tokens + math.max(0, now - at) * capacity / period)
  local allowed = true
  if returned > 0 then
    level = math.min(capacity, level + returned)
  elseif level >= 1 - math.min(capacity, patience * capacity / period) - 1e-9 then
    level = level - 1
  else
    allowed, done = false, false
  end
  levels[i] = tostring(level)
  answer[2*i-1] = allowed and 1 or 0
  answer[2*i] = levels[i]
end
if done then
  for i, key in ipairs(KEYS) do
    redis.call('HSET', key, 'tokens', levels[i], 'at', now)
    redis.call('PEXPIRE', key, ARGV[2*i+2] * 2)
  end
end
return answer`;

declare module 'ioredis' {
  interface RedisCommander<Context> {
    /** The command that `script` defines. */
    changeBuckets(keys: number, ...keysAndValues: (string | number)[]): Result<unknown[], Context>;
  }
}

/** Buckets that all processes share through Redis. A request needs one call. */
export function redisBuckets({ redis, fallback, onError, onBack, now = Date.now }: RedisBucketsOptions): Buckets {
  // Redis gets the script once, and then its hash.
  redis.defineCommand('changeBuckets', { lua: script });
  let awayUntil = Number.NEGATIVE_INFINITY;
  let isAway = false;

  const run = async (buckets: readonly RuledBucket[], returned: number, patienceMs: number): Promise<Taken[]> => {
    if (buckets.length === 0) return [];
    const keys = buckets.map(({ key }) => `corral:limit:${key}`);
    const rules = buckets.flatMap(({ rule }) => [rule.capacity, rule.periodMs]);
    const answer = await redis.changeBuckets(keys.length, ...keys, returned, patienceMs, ...rules);
    return buckets.map(({ rule }, at) => describeTaken(answer[2 * at] === 1, Number(answer[2 * at + 1]), rule));
  };

  const orElse = async <T>(work: () => Promise<T>, alone: () => Promise<T>): Promise<T> => {
    if (now() < awayUntil) return alone();
    // One call finds out whether Redis is back. The others do not wait for it.
    if (isAway) awayUntil = now() + BACKOFF_MS;
    try {
      const answer = await work();
      if (isAway) onBack?.();
      isAway = false;
      awayUntil = Number.NEGATIVE_INFINITY;
      return answer;
    } catch (error) {
      isAway = true;
      awayUntil = now() + BACKOFF_MS;
      onError(error as Error);
      // Calls would queue behind the one that has no answer, and be run late. A new connection has none before it.
      if ((error as Error).message === TIMED_OUT) redis.disconnect(true);
      return alone();
    }
  };

  return {
    take: (from, patienceMs = 0) =>
      orElse<readonly Taken[]>(
        () => run(from, 0, patienceMs),
        () => fallback.take(from, patienceMs),
      ),
    giveBack: (to, tokens = 1) =>
      orElse(
        async () => void (await run(to, tokens, 0)),
        () => fallback.giveBack(to, tokens),
      ),
  };
}

interface ConnectBucketsOptions {
  readonly redisUrl: string | undefined;
  /** The live processes of the service: without Redis each grants its part. */
  readonly processes: Sharing;
  readonly onError: (error: Error) => void;
  /** Redis answers again. Called once after each time that it was away. */
  readonly onBack?: () => void;
}

/** Connects request limits: shared through Redis if configured, else divided among processes. */
export function connectBuckets({
  redisUrl,
  processes,
  onError,
  onBack,
}: ConnectBucketsOptions): Buckets & { close(): void } {
  const alone = memoryBuckets(Date.now, processes);
  if (redisUrl === undefined) return { ...alone, close: () => undefined };
  const redis = new Redis(redisUrl, {
    // Fail fast rather than queue: while Redis is unavailable, limits count per process.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: TIMEOUT_MS,
  });
  redis.on('error', onError);
  return {
    ...redisBuckets({ redis, fallback: alone, onError, ...(onBack && { onBack }) }),
    close: () => redis.disconnect(),
  };
}
