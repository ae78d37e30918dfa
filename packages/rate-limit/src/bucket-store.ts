import type { Store } from 'express-rate-limit';
import type { Buckets } from './buckets.js';
import type { BucketRule, Taken } from './token-bucket.js';

/**
 * Keeps the counts of express-rate-limit in token buckets. A hit is a token in use, so hits expire one by one instead of
 * with their window, and a refused request is no hit.
 */
export class BucketStore implements Store {
  /** Other processes may count the same keys. */
  readonly localKeys = false;
  readonly #buckets: Buckets;
  readonly #rule: BucketRule;
  readonly #patienceMs: number;

  /**
   * @param prefix of each key, unique to the limit within the installation
   * @param patienceMs how long a request would wait for its token. Default: 0
   */
  constructor(
    buckets: Buckets,
    rule: BucketRule,
    readonly prefix: string,
    patienceMs = 0,
  ) {
    this.#buckets = buckets;
    this.#rule = rule;
    this.#patienceMs = patienceMs;
  }

  /** @returns more hits than the capacity when the request must be refused */
  async increment(key: string): Promise<{ totalHits: number; resetTime: BucketTime }> {
    const taken = await this.#buckets.take(`${this.prefix}${key}`, this.#rule, this.#patienceMs);
    const { capacity } = this.#rule;
    const totalHits = taken.allowed ? Math.max(1, capacity - taken.remaining) : capacity + 1;
    return { totalHits, resetTime: new BucketTime(taken) };
  }

  async decrement(key: string): Promise<void> {
    await this.#buckets.giveBack(`${this.prefix}${key}`, this.#rule);
  }

  /** Fills the bucket, except for tokens that are promised to waiting requests. */
  async resetKey(key: string): Promise<void> {
    await this.#buckets.giveBack(`${this.prefix}${key}`, this.#rule, this.#rule.capacity);
  }
}

/**
 * The time at which a bucket is full again. Also carries the times that a fixed window does not have, because the
 * library passes on nothing else of what a store returns.
 */
export class BucketTime extends Date {
  readonly retryInMs: number;
  readonly waitMs: number;

  constructor({ fullInMs, retryInMs, waitMs }: Taken) {
    super(Date.now() + fullInMs);
    this.retryInMs = retryInMs;
    this.waitMs = waitMs;
  }
}
