import type { Store } from 'express-rate-limit';
import type { Buckets } from './buckets.js';
import type { BucketRule, Taken } from './token-bucket.js';

/**
 * The key of a request in a `BucketStore`. It carries the capacity, which may differ between callers, because the library
 * passes on nothing else. The bucket is kept under the key alone, so it survives a change of its capacity.
 */
export const storeKey = (capacity: number, key: string): string => `${capacity}/${key}`;

/**
 * Keeps the counts of express-rate-limit in token buckets. A hit is a token in use, so hits expire one by one instead of
 * with their window, and a refused request is no hit. Keys are those of `storeKey`.
 */
export class BucketStore implements Store {
  /** Other processes may count the same keys. */
  readonly localKeys = false;
  readonly #buckets: Buckets;
  readonly #periodMs: number;
  readonly #patienceMs: number;

  /**
   * @param periodMs in which an empty bucket fills up
   * @param prefix of each key, unique to the limit within the installation
   * @param patienceMs how long a request would wait for its token. Default: 0
   */
  constructor(
    buckets: Buckets,
    periodMs: number,
    readonly prefix: string,
    patienceMs = 0,
  ) {
    this.#buckets = buckets;
    this.#periodMs = periodMs;
    this.#patienceMs = patienceMs;
  }

  /** @returns more hits than the capacity when the request must be refused */
  async increment(key: string): Promise<{ totalHits: number; resetTime: BucketTime }> {
    const { bucket, rule } = this.#read(key);
    const taken = await this.#buckets.take(bucket, rule, this.#patienceMs);
    const { capacity } = rule;
    const totalHits = taken.allowed ? Math.max(1, capacity - taken.remaining) : capacity + 1;
    return { totalHits, resetTime: new BucketTime(taken) };
  }

  async decrement(key: string): Promise<void> {
    const { bucket, rule } = this.#read(key);
    await this.#buckets.giveBack(bucket, rule);
  }

  /** Fills the bucket, except for tokens that are promised to waiting requests. */
  async resetKey(key: string): Promise<void> {
    const { bucket, rule } = this.#read(key);
    await this.#buckets.giveBack(bucket, rule, rule.capacity);
  }

  #read(key: string): { bucket: string; rule: BucketRule } {
    const at = key.indexOf('/');
    return {
      bucket: `${this.prefix}${key.slice(at + 1)}`,
      rule: { capacity: Number(key.slice(0, at)), periodMs: this.#periodMs },
    };
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
