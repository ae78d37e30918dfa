import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import type { Buckets } from './buckets.js';
import { type BucketRule, describe, type Taken } from './token-bucket.js';

/**
 * For each key: fills the bucket up, takes what is asked for as far as it goes (a negative number gives back), and
 * answers the grant and what is left. Redis' own clock, so that the replicas' clocks do not matter.
 */
const takeScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answer = {}
for i, key in ipairs(KEYS) do
  local capacity, period, asked = tonumber(ARGV[3*i-2]), tonumber(ARGV[3*i-1]), tonumber(ARGV[3*i])
  local kept = redis.call('HMGET', key, 'tokens', 'at')
  local tokens = tonumber(kept[1]) or capacity
  local at = tonumber(kept[2]) or now
  tokens = math.min(capacity, tokens + math.max(0, now - at) * capacity / period)
  local grant = math.min(asked, math.floor(tokens + 1e-9))
  tokens = math.min(capacity, tokens - grant)
  redis.call('HSET', key, 'tokens', tostring(tokens), 'at', now)
  redis.call('PEXPIRE', key, period * 2)
  answer[2*i-1] = grant
  answer[2*i] = tostring(tokens)
end
return answer`;

interface Lease {
  readonly rule: BucketRule;
  granted: number;
  /** What Redis had left beside the grant. */
  rest: number;
  at: number;
}

interface Asked {
  readonly rule: BucketRule;
  readonly amount: number;
  readonly answered: (answer: { grant: number; rest: number }) => void;
  readonly failed: (error: Error) => void;
}

export interface RedisBucketsOptions {
  readonly redis: Redis;
  /** Used while Redis is away: limits then count per process. */
  readonly fallback: Buckets;
  readonly now: () => number;
  readonly onError: (error: Error) => void;
  /** Longest wait for Redis. */
  readonly timeoutMs?: number;
}

export interface RedisBuckets extends Buckets {
  close(): Promise<void>;
}

/** A process fetches a twentieth of a bucket at a time, so that most requests need no Redis at all. */
const LEASE_SHARE = 20;
/** What a process has fetched and not used goes back after so long, for the other replicas to use. */
const LEASE_MS = 1_000;
/** After a failure Redis is left alone for so long. */
const BACKOFF_MS = 1_000;

/**
 * Buckets shared by all replicas through Redis: together they never allow more than the rule. All keys asked for in
 * the same moment go in one call.
 */
export function redisBuckets(options: RedisBucketsOptions): RedisBuckets {
  const { redis, fallback, now, timeoutMs = 250 } = options;
  const leases = new LRUCache<string, Lease>({ max: 50_000 });
  const ask = batchedAsk(redis, timeoutMs);
  /** Requests of this process that wait for Redis, by key. */
  const askingOf = new Map<string, number>();
  let downUntil = Number.NEGATIVE_INFINITY;

  const takeLeased = (key: string, rule: BucketRule): Taken | null => {
    const lease = leases.get(key);
    if (lease === undefined || lease.granted < 1) return null;
    lease.granted -= 1;
    return describe(true, lease.granted + lease.rest, rule);
  };

  const fetchAndTake = async (key: string, rule: BucketRule): Promise<Taken> => {
    try {
      for (;;) {
        const amount = amountFor(key, rule);
        const { grant, rest } = await askCounted(key, rule, amount);
        const lease = leases.get(key) ?? { rule, granted: 0, rest: 0, at: 0 };
        leases.set(key, lease);
        Object.assign(lease, { granted: lease.granted + grant, rest, at: now() });
        const taken = takeLeased(key, rule);
        if (taken !== null) return taken;
        // What was fetched for this request went to one that came later: it asks once more.
        if (rest < 1) return describe(false, Math.min(rest, 0.999), rule);
      }
    } catch (error) {
      downUntil = now() + BACKOFF_MS;
      options.onError(error as Error);
      return fallback.take(key, rule);
    }
  };

  /** Requests that come at once share one lease: a burst here must not empty the bucket for the other replicas. */
  const amountFor = (key: string, { capacity }: BucketRule): number => {
    const share = Math.max(1, Math.floor(capacity / LEASE_SHARE));
    const asking = askingOf.get(key) ?? 0;
    if (asking === 0) return share;
    return asking < share ? 0 : 1;
  };

  const askCounted = async (
    key: string,
    rule: BucketRule,
    amount: number,
  ): Promise<{ grant: number; rest: number }> => {
    askingOf.set(key, (askingOf.get(key) ?? 0) + 1);
    try {
      return await ask(key, rule, amount);
    } finally {
      const left = (askingOf.get(key) ?? 1) - 1;
      if (left === 0) askingOf.delete(key);
      else askingOf.set(key, left);
    }
  };

  const giveBack = async (olderThanMs: number): Promise<void> => {
    const due = [...leases.entries()].filter(([, lease]) => now() - lease.at >= olderThanMs);
    for (const [key] of due) leases.delete(key);
    const unused = due.filter(([, lease]) => lease.granted > 0);
    await Promise.allSettled(unused.map(([key, lease]) => ask(key, lease.rule, -lease.granted)));
  };
  const timer = setInterval(() => void giveBack(LEASE_MS), LEASE_MS).unref();

  return {
    take(key, rule) {
      if (now() < downUntil) return fallback.take(key, rule);
      return takeLeased(key, rule) ?? fetchAndTake(key, rule);
    },
    close: async () => {
      clearInterval(timer);
      await giveBack(0);
    },
  };
}

function batchedAsk(redis: Redis, timeoutMs: number) {
  let batch = new Map<string, Asked[]>();

  const send = async (): Promise<void> => {
    const asked = [...batch].flatMap(([key, items]) => items.map((item) => ({ key, item })));
    batch = new Map();
    try {
      const keys = asked.map(({ key }) => `corral:limit:${key}`);
      const args = asked.flatMap(({ item }) => [item.rule.capacity, item.rule.periodMs, item.amount]);
      const reply = await within(redis.eval(takeScript, keys.length, ...keys, ...args), timeoutMs);
      const values = reply as (number | string)[];
      for (const [index, { item }] of asked.entries()) {
        item.answered({ grant: Number(values[2 * index]), rest: Number(values[2 * index + 1]) });
      }
    } catch (error) {
      for (const { item } of asked) item.failed(error as Error);
    }
  };

  return (key: string, rule: BucketRule, amount: number): Promise<{ grant: number; rest: number }> =>
    new Promise((answered, failed) => {
      if (batch.size === 0) setImmediate(() => void send());
      batch.set(key, [...(batch.get(key) ?? []), { rule, amount, answered, failed }]);
    });
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`Redis gave no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
