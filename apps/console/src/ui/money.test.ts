import type { Cost } from '@corral/contracts';
import { describe, expect, test } from '@jest/globals';
import { costDifferenceText, costText, moneyDifference, moneyRange, sumOfRanges } from './money.js';

const range = (minimum: string | null, maximum: string | null) => ({ minimum, maximum });

const cost = (...pools: ReturnType<typeof range>[]): Cost => {
  const items = pools.map((monthly, at) => ({
    ...{ kind: 'nodePool' as const, name: `p${at}`, machineType: 'cpx31', minimum: 1, maximum: 2 },
    ...{ hourly: monthly, monthly, reason: null },
  }));
  const total = sumOfRanges(pools);
  return { currency: 'EUR', hourly: total, monthly: total, items, pricedAt: null };
};

describe('the rules for money', () => {
  test.each([
    [range('40.8', '81.6'), 'EUR', '40.80–81.60 EUR'],
    [range('13.1', '13.10'), 'EUR', '13.10 EUR'],
    [range(null, null), 'EUR', 'not known'],
    [range('1', '2'), null, 'not known'],
    [range('0', '0'), 'EUR', '0.00 EUR'],
  ])('show %j as %s', (amounts, currency, shown) => {
    expect(moneyRange(amounts, currency)).toBe(shown);
  });

  test.each([
    [range('3.1', '9.3'), '+3.10 to +9.30 EUR'],
    [range('-3.1', '-3.1'), '−3.10 EUR'],
    [range('0', '0'), 'no change'],
    [range('-1', '2'), '−1.00 to +2.00 EUR'],
    [range(null, '1'), 'not known'],
  ])('show a difference of %j as %s', (amounts, shown) => {
    expect(moneyDifference(amounts, 'EUR')).toBe(shown);
  });

  test('show what is priced of a cluster, and how many pools have no price', () => {
    expect(costText(cost(range('1', '2')))).toBe('1.00–2.00 EUR');
    expect(costText(cost(range('1', '2'), range(null, null)))).toBe('1.00–2.00 EUR plus 1 pool without a price');
    expect(costText(cost(range(null, null), range(null, null)))).toBe('not known');
  });

  test('show what a change adds, although a pool has no price', () => {
    const [now, after] = [cost(range('1', '2'), range(null, null)), cost(range('2', '4'), range(null, null))];
    expect(costDifferenceText(now, after)).toBe('+1.00 to +2.00 EUR, of the pools with a price');
    expect(costDifferenceText(cost(range('1', '2')), cost(range('1', '2')))).toBe('no change');
  });

  test('add amounts without rounding', () => {
    expect(sumOfRanges([range('0.1', '0.7'), range('0.2', '0.1')])).toEqual(range('0.3', '0.8'));
  });

  test('know no sum with an unknown price', () => {
    expect(sumOfRanges([range('1', '2'), range(null, null)])).toEqual(range(null, null));
  });
});
