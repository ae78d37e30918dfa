import type { UsagePoint } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { earlierCost } from './earlier-cost.js';

const point = (day: number, minimum: string | null, currency: string | null = 'EUR') =>
  ({ from: `2026-11-0${day}T00:00:00.000Z`, cost: { currency, minimum, maximum: minimum } }) as UsagePoint;

describe('the earlier cost', () => {
  it('is that of the oldest day with a known cost', () => {
    expect(earlierCost([point(1, null), point(2, '0', null), point(3, '5'), point(4, '6')])?.from).toContain('11-03');
  });

  it('is never that of the current day', () => {
    expect(earlierCost([point(1, null), point(2, '5')])).toBeNull();
    expect(earlierCost([])).toBeNull();
  });
});
