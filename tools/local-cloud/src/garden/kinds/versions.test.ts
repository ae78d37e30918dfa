import { describe, expect, it } from '@jest/globals';
import { compareVersions, minorsBetween, newestIn } from './versions.js';

describe('versions', () => {
  it.each([
    ['1.34.3', '1.34.3', 0],
    ['1.9.0', '1.10.0', -1],
    ['1.34.10', '1.34.9', 1],
    ['2.0.0', '1.99.99', 1],
    ['1.34', '1.0.0', -1],
  ])('%s against %s is %p', (a, b, sign) => {
    expect(Math.sign(compareVersions(a, b))).toBe(sign);
  });

  it.each([
    ['1.33.9', '1.34.0', 1],
    ['1.34.0', '1.33.9', -1],
    ['1.99.0', '2.0.0', 901],
  ])('from %s to %s it is %p minor versions', (from, to, minors) => {
    expect(minorsBetween(from, to)).toBe(minors);
  });

  it.each([
    ['', '1.35.1'],
    ['1.34', '1.34.10'],
    ['1.33', undefined],
  ])('the newest in %p is %p', (range, version) => {
    const offered = ['1.34.9', '1.35.1', '1.34.10'].map((each) => ({ version: each }));

    expect(newestIn(offered, range)?.version).toBe(version);
  });
});
