import { describe, expect, it } from '@jest/globals';
import { bumpSerial, initialSoa } from './dns-project.js';

const NOW = Date.parse('2026-01-02T03:04:05Z');

describe('the serial of the SOA', () => {
  it('starts with the day', () => {
    expect(initialSoa('ns1.example.', NOW)).toBe('ns1.example. dns.hetzner.com. 2026010200 86400 10800 3600000 3600');
  });

  it.each([
    ['2026010199', '2026010200'],
    ['2026010200', '2026010201'],
    ['2026010299', '2026010300'],
    ['1', '2026010200'],
    ['2030010100', '2030010101'],
  ])('rises from %s to %s on 2 January 2026', (before, after) => {
    const value = bumpSerial(`a. b. ${before} 1 2 3 4`, NOW);

    expect(value).toBe(`a. b. ${after} 1 2 3 4`);
  });
});
