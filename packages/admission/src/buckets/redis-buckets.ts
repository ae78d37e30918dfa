import { Redis } from 'ioredis';
import {
  type Buckets,
  describeTaken,
  memoryBuckets,
  type RuledBucket,
  type Sharing,
  type Taken,
} from './token-bucket.js';

export interface RedisBucketsOptions {
  readonly redis: Pick<Redis, 'eval' | 'disconnect'>;
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

/** Buckets that all processes share through Redis. A request needs one call. */
export function redisBuckets({ redis, fallback, onError, onBack, now = Date.now }: RedisBucketsOptions): Buckets {
  let awayUntil = Number.NEGATIVE_INFINITY;
  let isAway = false;

  const run = async (buckets: readonly RuledBucket[], returned: number, patienceMs: number): Promise<Taken[]> => {
    if (buckets.length === 0) return [];
    const keys = buckets.map(({ key }) => `corral:limit:${key}`);
    const rules = buckets.flatMap(({ rule }) => [rule.capacity, rule.periodMs]);
    const answer = (await redis.eval(script, keys.length, ...keys, returned, patienceMs, ...rules)) as unknown[];
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
