import { describe, expect, it, jest } from '@jest/globals';
import type { Request, Response } from 'express';
import { rateLimit } from 'express-rate-limit';
import { BucketStore, storeKey } from './bucket-store.js';
import { type Buckets, memoryBuckets } from './buckets.js';

const rule = { capacity: 3, periodMs: 60_000 };
const key = storeKey([{ capacity: rule.capacity, key: 'key' }]);

/** express-rate-limit over a store, on a clock that the test advances. */
function start(patienceMs = 0) {
  const clock = { now: 0 };
  const store = new BucketStore(
    memoryBuckets(() => clock.now),
    ['test', 'other'],
    rule.periodMs,
    patienceMs,
  );
  const logger = { warn: jest.fn(), error: jest.fn() };
  const limiter = rateLimit({
    store,
    logger,
    windowMs: rule.periodMs,
    limit: 1,
    keyGenerator: () => key,
    handler: (_req, _res, next) => next('refused'),
    standardHeaders: false,
    legacyHeaders: false,
  });
  const request = () =>
    new Promise((done) => {
      const req = { headers: {}, app: new Map() } as unknown as Request;
      void limiter(req, {} as Response, (error) => done(error ?? 'served'));
    });
  return { clock, store, logger, limiter, request };
}

describe('express-rate-limit over a bucket store', () => {
  it('serves the capacity, and one more as soon as a token has flowed in', async () => {
    const { clock, request, logger } = start();

    const answers = [await request(), await request(), await request(), await request()];
    clock.now += 20_000;
    answers.push(await request(), await request());

    expect(answers).toEqual(['served', 'served', 'served', 'refused', 'served', 'refused']);
    // The library logs a warning for each mistake in its configuration that it finds.
    expect([logger.warn.mock.calls, logger.error.mock.calls]).toEqual([[], []]);
  });

  it('does not count refused requests', async () => {
    const { clock, request } = start();
    for (let time = 0; time < 10; time += 1) await request();

    clock.now += 20_000;

    expect(await request()).toBe('served');
  });

  it('serves a request whose charge was given back', async () => {
    const { store, request } = start();
    for (let time = 0; time < 3; time += 1) await request();

    await store.decrement(key);

    expect([await request(), await request()]).toEqual(['served', 'refused']);
  });

  it('serves the capacity again after the key was reset', async () => {
    const { limiter, request } = start();
    for (let time = 0; time < 4; time += 1) await request();

    await limiter.resetKey(key);

    expect([await request(), await request(), await request(), await request()]).toEqual([
      'served',
      'served',
      'served',
      'refused',
    ]);
  });
});

describe('a bucket store with patience', () => {
  it('promises tokens that flow in within the patience, and says when', async () => {
    const { store } = start(40_000);

    const answers = [];
    for (let time = 0; time < 6; time += 1) answers.push(await store.increment(key));

    expect(answers.map(({ totalHits }) => totalHits)).toEqual([1, 1, 1, 1, 1, 2]);
    const taken = answers.map(({ resetTime }) => resetTime.each[0]?.taken);
    expect(taken.map((each) => each?.waitMs)).toEqual([0, 0, 0, 20_000, 40_000, 0]);
    expect(taken.at(-1)?.retryInMs).toBe(60_000);
  });
});

describe('a bucket store of several limits', () => {
  const places = [
    { capacity: 2, key: 'of/both' },
    { capacity: 1, key: 'of/both' },
  ] as const;
  const taken = ({ resetTime }: Awaited<ReturnType<BucketStore['increment']>>) =>
    resetTime.each.map(({ asked, taken: each }) => [asked.bucket, each.allowed, each.remaining]);

  it.each([
    ['of this process', memoryBuckets(() => 0)],
    ['that must be asked', askedBuckets()],
  ])('takes a token of each, up to the first that has none, from buckets %s', async (_which, buckets) => {
    const store = new BucketStore(buckets, ['test', 'other'], rule.periodMs);

    const answers = [await store.increment(storeKey(places)), await store.increment(storeKey(places))];
    const third = await store.increment(storeKey(places));

    expect([...answers, third].map(({ totalHits }) => totalHits)).toEqual([1, 2, 2]);
    expect(answers.map(taken)).toEqual([
      [
        ['test:of/both', true, 1],
        ['other:of/both', true, 0],
      ],
      [
        ['test:of/both', true, 0],
        ['other:of/both', false, 0],
      ],
    ]);
    expect(taken(third)).toEqual([['test:of/both', false, 0]]);
  });

  it('leaves alone the limits that do not concern a request', async () => {
    const { store } = start();

    const hits = await store.increment(storeKey([null, places[1]]));
    const none = await store.increment(storeKey([null, null]));

    expect(taken(hits)).toEqual([['other:of/both', true, 0]]);
    expect([none.totalHits, taken(none)]).toEqual([1, []]);
  });
});

/** Buckets of another process. */
function askedBuckets(): Buckets {
  const buckets = memoryBuckets(() => 0);
  return {
    take: async (...question) => buckets.take(...question),
    giveBack: async (...question) => buckets.giveBack(...question),
  };
}
