import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { type Answer, batchedAsk, type Question } from './batched-ask.js';
import type { Buckets } from './buckets.js';
import { type BucketRule, describe, promisable, type Taken } from './token-bucket.js';

interface Lease {
  readonly rule: BucketRule;
  granted: number;
  /** What Redis had left beside the grant. */
  rest: number;
  at: number;
}

export interface RedisBucketsOptions {
  readonly redis: Redis;
  /** Used while Redis is away: this process' part of the limits. */
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
      // What was fetched for this request went to one that came later: it asks once more.
      if (rest < 1) return describe(false, Math.min(rest, 0.999), rule);
    }
  };

  /** One token, there or promised: each who waits asks once, and is told when. */
  const takeAhead = async (key: string, rule: BucketRule, patienceMs: number): Promise<Taken> => {
    const { grant, rest } = await ask(key, rule, { amount: 1, ahead: promisable(rule, patienceMs) });
    const lease = leases.get(key);
    if (lease !== undefined) lease.rest = rest;
    return describe(grant === 1, rest, rule);
  };

  /** Requests that come at once share one lease: a burst here must not empty the bucket for the other replicas. */
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
    giveBack(key, rule) {
      const alone = () => fallback.giveBack(key, rule);
      if (now() < downUntil) return alone();
      const lease = leases.get(key);
      // Into the lease, at no call of Redis, unless others may wait for it, or this process would hold too much.
      if (lease !== undefined && lease.granted < shareOf(rule) && lease.rest >= 1) {
        lease.granted += 1;
        return describe(true, Math.min(rule.capacity, lease.granted + lease.rest), rule);
      }
      return orElse(async () => describe(true, (await ask(key, rule, { amount: -1, ahead: 0 })).rest, rule), alone);
    },
    close: async () => {
      clearInterval(timer);
      await endLeases(0);
    },
  };
}

const shareOf = ({ capacity }: BucketRule): number => Math.max(1, Math.floor(capacity / LEASE_SHARE));
