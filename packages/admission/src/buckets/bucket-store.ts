import type { ClientRateLimitInfo, Store } from 'express-rate-limit';
import type { Buckets } from './buckets.js';
import type { BucketRule } from './token-bucket.js';

/**
 * Keeps the counts of express-rate-limit in token buckets: a hit is a token in use. Hits thus expire one by one instead of with their
 * window, and a refused request is no hit.
 */
export class BucketStore implements Store {
  /** Other processes may count the same keys. */
  readonly localKeys = false;
  readonly prefix: string;
  readonly #buckets: Buckets;
  readonly #rule: BucketRule;

  /**
   * @param name of the limit, unique within the installation
   * @param rule of its buckets: the limiter's `limit` and `windowMs`
   */
  constructor(buckets: Buckets, name: string, rule: BucketRule) {
    this.prefix = `${name}:`;
    this.#buckets = buckets;
    this.#rule = rule;
  }

  /**
   * Takes a token. `resetTime` is when the bucket is full again; of a request that has to be refused, it is when the next token is
   * available.
   */
  async increment(key: string): Promise<ClientRateLimitInfo & { readonly resetTime: Date }> {
    const { allowed, remaining, fullInMs, retryInMs } = await this.#buckets.take(this.prefix + key, this.#rule);
    const { capacity } = this.#rule;
    return {
      totalHits: allowed ? capacity - remaining : capacity + 1,
      resetTime: new Date(Date.now() + (allowed ? fullInMs : retryInMs)),
    };
  }

  async decrement(key: string): Promise<void> {
    await this.#buckets.giveBack(this.prefix + key, this.#rule);
  }

  /** Fills the bucket. */
  async resetKey(key: string): Promise<void> {
    await this.#buckets.giveBack(this.prefix + key, this.#rule, this.#rule.capacity);
  }
}
