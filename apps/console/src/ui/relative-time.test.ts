import { describe, expect, test } from '@jest/globals';
import { dayOf, endText, relativeTime } from './relative-time.js';

const now = Date.UTC(2026, 10, 22, 12, 0, 0);
const S = 1000;

describe('a relative time', () => {
  test.each([
    [0, 'just now'],
    [-9 * S, 'just now'],
    [-30 * S, '30 s ago'],
    [-3 * 60 * S, '3 min ago'],
    [-90 * 60 * S, '2 h ago'],
    [-47 * 3600 * S, '47 h ago'],
    [-5 * 86_400 * S, '5 days ago'],
    [2 * 3600 * S, 'in 2 h'],
    [-40 * 86_400 * S, '13 Oct 2026'],
  ])('shows a distance of %d ms as "%s"', (distance, shown) => {
    expect(relativeTime(now + distance, now)).toBe(shown);
  });

  test.each([
    [4 * 3600 * S, '22 Nov 2026 16:00 UTC (in 4 h)'],
    [-3600 * S, '22 Nov 2026 11:00 UTC (1 h ago)'],
    [5 * 86_400 * S, '27 Nov 2026 (in 5 days)'],
    [40 * 86_400 * S, '1 Jan 2027'],
  ])('shows an end %d ms away as "%s"', (distance, shown) => {
    expect(endText(now + distance, now)).toBe(shown);
  });

  test('shows days in UTC, as the API does', () => {
    expect(dayOf(Date.UTC(2027, 5, 30, 23, 59))).toBe('30 Jun 2027');
  });
});
