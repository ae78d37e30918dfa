import { describe, expect, it } from '@jest/globals';
import { parseExpiry } from './option-parsers.js';

const now = new Date('2026-11-21T12:00:00Z');

describe('parseExpiry', () => {
  it.each([
    ['30m', '2026-11-21T12:30:00.000Z'],
    ['12h', '2026-11-22T00:00:00.000Z'],
    ['30d', '2026-12-21T12:00:00.000Z'],
    ['2w', '2026-12-05T12:00:00.000Z'],
    ['2027-01-31T00:00:00Z', '2027-01-31T00:00:00.000Z'],
    ['2027-01-31t00:00:00.5+01:00', '2027-01-30T23:00:00.500Z'],
  ])('accepts %s', (text, expected) => {
    expect(parseExpiry(text, now)?.toISOString()).toBe(expected);
  });

  it.each([
    '',
    'soon',
    '30',
    '0d',
    '-1d',
    '1.5d',
    '30 d',
    '2027-01-31',
    '2027-13-31T00:00:00Z',
    '9999999d',
    '999999w',
    '9999-12-31T23:59:59-14:00',
  ])('rejects %p', (text) => {
    expect(parseExpiry(text, now)).toBeNull();
  });
});
