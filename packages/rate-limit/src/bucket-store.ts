import type { Store } from 'express-rate-limit';
import { LRUCache } from 'lru-cache';
import type { Buckets } from './buckets.js';
import type { BucketRule, Taken } from './token-bucket.js';

/** The bucket of a request in one of the limits of a `BucketStore`. */
export interface BucketPlace {
  /** May differ between callers. The bucket is kept under the key alone, so it survives a change of its capacity. */
  readonly capacity: number;
  readonly key: string;
}

/** No key has it: keys are ids and addresses. */
const BETWEEN_PLACES = '\n';

/**
 * The key of a request in a `BucketStore`: its place in each of the store's limits, null where a limit does not concern it. It
 * carries the capacities, because the library passes on nothing else.
 */
export const storeKey = (places: readonly (BucketPlace | null)[]): string =>
  places.map((place) => (place === null ? '' : `${place.capacity}/${place.key}`)).join(BETWEEN_PLACES);

/** A bucket of a request. */
interface Asked {
  /** The index of the limit in its store. */
  readonly limit: number;
  readonly bucket: string;
  readonly rule: BucketRule;
}

/** What a bucket gave to a request. */
export interface Taking {
  readonly asked: Asked;
  readonly taken: Taken;
}

/** Reading a key takes longer than finding what was read. Bounds memory. */
const KEYS_KEPT = 10_000;

/** For express-rate-limit, whose limit is one: hits of a request that got all its tokens, and of one that did not. */
const HITS = { taken: 1, refused: 2 } as const;

interface Hits {
  readonly totalHits: number;
  readonly resetTime: Takings;
}

/**
 * Keeps the counts of express-rate-limit in token buckets, of several limits at once: a request takes a token of each, up to the
 * first that has none. Hits thus expire one by one instead of with their window, and a refused request is no hit. Used with
 * `limit: 1`. Keys are those of `storeKey`.
 */
export class BucketStore implements Store {
  /** Other processes may count the same keys. */
  readonly localKeys = false;
  readonly prefix: string;
  readonly #buckets: Buckets;
  readonly #names: readonly string[];
  readonly #periodMs: number;
  readonly #patienceMs: number;
  readonly #known = new LRUCache<string, readonly Asked[]>({ max: KEYS_KEPT });

  /**
   * @param names of the limits, unique within the installation
   * @param periodMs in which an empty bucket fills up
   * @param patienceMs how long a request would wait for its token. Default: 0
   */
  constructor(buckets: Buckets, names: readonly string[], periodMs: number, patienceMs = 0) {
    this.#buckets = buckets;
    this.#names = names;
    this.#periodMs = periodMs;
    this.#patienceMs = patienceMs;
    this.prefix = names.join('+');
  }

  /** Does not wait unless a bucket does. @returns two hits when the request must be refused, for lack of the last token */
  increment(key: string): Hits | Promise<Hits> {
    return this.#take(this.#read(key), []);
  }

  async decrement(key: string): Promise<void> {
    for (const { bucket, rule } of this.#read(key)) await this.#buckets.giveBack(bucket, rule);
  }

  /** Fills the buckets, except for tokens that are promised to waiting requests. */
  async resetKey(key: string): Promise<void> {
    for (const { bucket, rule } of this.#read(key)) await this.#buckets.giveBack(bucket, rule, rule.capacity);
  }

  #take(all: readonly Asked[], takings: Taking[]): Hits | Promise<Hits> {
    for (let at = takings.length; at < all.length; at += 1) {
      const asked = all[at] as Asked;
      const taken = this.#buckets.take(asked.bucket, asked.rule, this.#patienceMs);
      if (taken instanceof Promise) {
        return taken.then((late) => {
          takings.push({ asked, taken: late });
          return late.allowed ? this.#take(all, takings) : hitsOf(takings, HITS.refused);
        });
      }
      takings.push({ asked, taken });
      if (!taken.allowed) return hitsOf(takings, HITS.refused);
    }
    return hitsOf(takings, HITS.taken);
  }

  #read(key: string): readonly Asked[] {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const all = key.split(BETWEEN_PLACES).flatMap((place, limit) => {
      if (place === '') return [];
      const at = place.indexOf('/');
      const rule = { capacity: Number(place.slice(0, at)), periodMs: this.#periodMs };
      return [{ limit, bucket: `${this.#names[limit]}:${place.slice(at + 1)}`, rule }];
    });
    this.#known.set(key, all);
    return all;
  }
}

const hitsOf = (takings: readonly Taking[], totalHits: number): Hits => ({
  totalHits,
  resetTime: new Takings(takings),
});

/**
 * When the tokens were taken, and which: the library wants a time, and passes on nothing else of what a store returns. Only the
 * last may have been refused.
 */
export class Takings extends Date {
  constructor(readonly each: readonly Taking[]) {
    super();
  }
}
