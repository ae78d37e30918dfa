import { describe, expect, it, jest } from '@jest/globals';
import { addressLimiter, peerOf } from './address-limiter.js';
import { memoryBuckets } from './buckets.js';

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
