import { describe, expect, it, jest } from '@jest/globals';
import type { Request, Response } from 'express';
import { rateLimit } from 'express-rate-limit';
import { memoryBuckets } from './buckets.js';
import { addressLimiter, BucketStore, peerOf } from './refusing-limits.js';

const rule = { capacity: 3, periodMs: 60_000 };
const key = 'key';

/** express-rate-limit over a store, on a clock that the test advances. */
function start() {
  const clock = { now: 0 };
  const store = new BucketStore(
    memoryBuckets(() => clock.now),
    'test',
    rule,
  );
  const logger = { warn: jest.fn(), error: jest.fn() };
  const limiter = rateLimit({
    store,
    logger,
    windowMs: rule.periodMs,
    limit: rule.capacity,
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

  it('serves a request whose charge was given back', async () => {
    const { store, request } = start();
    for (let time = 0; time < 3; time += 1) await request();

    await store.decrement(key);

    expect([await request(), await request()]).toEqual(['served', 'refused']);
  });
});

describe('peerOf', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['::1', '::/64'],
    ['::', '::/64'],
  ])('maps %s to %s', (address, peer) => {
    expect(peerOf(address)).toBe(peer);
  });
});

describe('addressLimiter', () => {
  it('uses express-rate-limit without a mistake that the library finds', () => {
    const errors = jest.spyOn(console, 'error').mockReturnValue(undefined);

    addressLimiter(
      memoryBuckets(() => 0),
      { prefix: '', perMinute: 1, refuse: () => new Error(), credentialOf: () => null, isGood: () => false },
    );

    expect(errors.mock.calls).toEqual([]);
    errors.mockRestore();
  });
});
