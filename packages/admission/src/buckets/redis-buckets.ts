import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { type Answer, batchedAsk, type Question } from './batched-ask.js';
import type { Buckets } from './buckets.js';
import { type BucketRule, describe, promisable, type Taken } from './token-bucket.js';

interface BucketPortion {
  readonly rule: BucketRule;
  granted: number;
  /** Tokens left in Redis besides the grant. */
  rest: number;
  at: number;
}

export interface RedisBucketsOptions {
  readonly redis: Redis;
  /** Used while Redis is unavailable: this process's share of the limits. */
  readonly fallback: Buckets;
  readonly now: () => number;
  readonly onError: (error: Error) => void;
  /** Longest wait for Redis in ms. Default: 250. */
  readonly timeoutMs?: number;
}

export interface RedisBuckets extends Buckets {
  close(): Promise<void>;
}

/** A process fetches a twentieth of a bucket at a time, so that most requests need no call to Redis. */
const LEASE_SHARE = 20;
/** Age at which unused fetched tokens are given back for other replicas. */
const LEASE_MS = 1_000;
/** How long Redis is not called after a failure. */
const BACKOFF_MS = 1_000;

/**
 * Buckets shared by all replicas through Redis. Together they never allow more than the rule. All keys of the same
 * moment share one call.
 */
export function redisBuckets(options: RedisBucketsOptions): RedisBuckets {
  const { redis, fallback, now, timeoutMs = 250 } = options;
  const leases = new LRUCache<string, BucketPortion>({ max: 50_000 });
  const ask = batchedAsk(redis, timeoutMs);
  /** Number of this process's requests waiting for Redis, by key. */
  const askingOf = new Map<string, number>();
  let downUntil = Number.NEGATIVE_INFINITY;

  const takeLeased = (key: string, rule: BucketRule): Taken | null => {
    const lease = leases.get(key);
    if (lease === undefined || lease.granted < 1) return null;
    lease.granted -= 1;
    return describe(true, lease.granted + Math.max(0, lease.rest), rule);
  };

  const orElse = async (work: () => Promise<Taken>, alone: () => Taken | Promise<Taken>): Promise<Taken> => {
    try {
      return await work();
    } catch (error) {
      downUntil = now() + BACKOFF_MS;
      options.onError(error as Error);
      return alone();
    }
  };

  const fetchAndTake = async (key: string, rule: BucketRule): Promise<Taken> => {
    for (;;) {
      const { grant, rest } = await askCounted(key, rule, { amount: amountFor(key, rule), ahead: 0 });
      const lease = leases.get(key) ?? { rule, granted: 0, rest: 0, at: 0 };
      leases.set(key, lease);
      Object.assign(lease, { granted: lease.granted + grant, rest, at: now() });
      const taken = takeLeased(key, rule);
      if (taken !== null) return taken;
      // A later request took the fetched tokens, so fetch again.
      if (rest < 1) return describe(false, Math.min(rest, 0.999), rule);
    }
  };

  /** Takes one token of a new lease, or else one that is promised. Each request that must wait makes its own call. */
  const takeAhead = async (key: string, rule: BucketRule, patienceMs: number): Promise<Taken> => {
    if ((leases.get(key)?.rest ?? 1) >= 1) {
      const taken = await fetchAndTake(key, rule);
      if (taken.allowed) return taken;
    }
    const { grant, rest } = await ask(key, rule, { amount: 1, ahead: promisable(rule, patienceMs) });
    const lease = leases.get(key);
    if (lease !== undefined) lease.rest = rest;
    return describe(grant === 1, rest, rule);
  };

  /** Concurrent requests share one lease, so that a burst here does not empty the bucket for other replicas. */
  const amountFor = (key: string, rule: BucketRule): number => {
    const share = shareOf(rule);
    const asking = askingOf.get(key) ?? 0;
    if (asking === 0) return share;
    return asking < share ? 0 : 1;
  };

  const askCounted = async (key: string, rule: BucketRule, question: Question): Promise<Answer> => {
    askingOf.set(key, (askingOf.get(key) ?? 0) + 1);
    try {
      return await ask(key, rule, question);
    } finally {
      const left = (askingOf.get(key) ?? 1) - 1;
      if (left === 0) askingOf.delete(key);
      else askingOf.set(key, left);
    }
  };

  const endLeases = async (olderThanMs: number): Promise<void> => {
    const due = [...leases.entries()].filter(([, lease]) => now() - lease.at >= olderThanMs);
    for (const [key] of due) leases.delete(key);
    const unused = due.filter(([, lease]) => lease.granted > 0);
    await Promise.allSettled(unused.map(([key, lease]) => ask(key, lease.rule, { amount: -lease.granted, ahead: 0 })));
  };
  const timer = setInterval(() => void endLeases(LEASE_MS), LEASE_MS).unref();

  return {
    take(key, rule, patienceMs = 0) {
      const alone = () => fallback.take(key, rule, patienceMs);
      if (now() < downUntil) return alone();
      const leased = takeLeased(key, rule);
      if (leased !== null) return leased;
      return orElse(() => (patienceMs > 0 ? takeAhead(key, rule, patienceMs) : fetchAndTake(key, rule)), alone);
    },
    giveBack(key, rule, tokens = 1) {
      const alone = () => fallback.giveBack(key, rule, tokens);
      if (now() < downUntil) return alone();
      const lease = leases.get(key);
      // Into the lease without a call to Redis, unless requests may be waiting for the token or this process would hold
      // too much.
      if (lease !== undefined && lease.granted + tokens <= shareOf(rule) && lease.rest >= 1) {
        lease.granted += tokens;
        return describe(true, Math.min(rule.capacity, lease.granted + lease.rest), rule);
      }
      return orElse(
        async () => describe(true, (await ask(key, rule, { amount: -tokens, ahead: 0 })).rest, rule),
        alone,
      );
    },
    close: async () => {
      clearInterval(timer);
      await endLeases(0);
    },
  };
}

const shareOf = ({ capacity }: BucketRule): number => Math.max(1, Math.floor(capacity / LEASE_SHARE));
