import { describe, expect, it } from '@jest/globals';
import { intersect, parseCidr, toAddress } from './cidr.js';

describe('a range of addresses', () => {
  it.each([
    ['10.0.0.0/8', '10.0.0.0', '10.255.255.255', true],
    ['10.1.2.3/8', '10.0.0.0', '10.255.255.255', false],
    ['255.255.255.255/32', '255.255.255.255', '255.255.255.255', true],
    ['0.0.0.0/0', '0.0.0.0', '255.255.255.255', true],
    ['172.18.0.0/16', '172.18.0.0', '172.18.255.255', true],
  ])('%s goes from %s to %s', (text, first, last, isCanonical) => {
    const cidr = parseCidr(text);

    expect(cidr && [toAddress(cidr.first), toAddress(cidr.last), cidr.isCanonical]).toEqual([first, last, isCanonical]);
  });

  it.each(['10.0.0.0', '10.0.0.0/33', '10.0.0/8', '256.0.0.0/8', 'fd00::/64', 'x/8', '10.0.0.0/-1', ''])(
    '%p is none',
    (text) => {
      expect(parseCidr(text)).toBeNull();
    },
  );

  it.each([
    ['10.0.0.0/8', '10.244.0.0/16', true],
    ['10.244.0.0/16', '10.0.0.0/8', true],
    ['10.244.0.0/16', '10.245.0.0/16', false],
    ['192.168.128.0/17', '192.168.0.0/17', false],
    ['10.0.0.0/8', 'nonsense', false],
  ])('%s and %s share addresses: %p', (a, b, shared) => {
    expect(intersect(a, b)).toBe(shared);
  });
});
