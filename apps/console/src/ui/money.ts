import type { Cost } from '@corral/contracts';
import Big from 'big.js';
import { plural } from './plural.js';

interface Range {
  readonly minimum: string | null;
  readonly maximum: string | null;
}

const DECIMALS = 2;
const NOT_KNOWN = 'not known';

/** "40.80–81.60 EUR"; "not known" without a price. Amounts are decimal strings and never become floats. */
export function moneyRange({ minimum, maximum }: Range, currency: string | null): string {
  if (minimum === null || maximum === null || currency === null) return NOT_KNOWN;
  const [low, high] = [amountOf(minimum), amountOf(maximum)];
  return `${low === high ? low : `${low}–${high}`} ${currency}`;
}

/** "+3.10 to +9.30 EUR"; "no change" for zero. */
export function moneyDifference({ minimum, maximum }: Range, currency: string | null): string {
  if (minimum === null || maximum === null || currency === null) return NOT_KNOWN;
  const [low, high] = [signedAmountOf(minimum), signedAmountOf(maximum)];
  if (new Big(minimum).eq(0) && new Big(maximum).eq(0)) return 'no change';
  return low === high ? `${low} ${currency}` : `${low} to ${high} ${currency}`;
}

/** What a cluster costs per month: of the pools with a price, and how many pools have none. */
export function pricedMonthly({ items, monthly }: Pick<Cost, 'items' | 'monthly'>): {
  priced: Range;
  unpriced: number;
} {
  if (monthly.minimum !== null && monthly.maximum !== null) return { priced: monthly, unpriced: 0 };
  const known = items
    .map((item) => item.monthly)
    .filter(({ minimum, maximum }) => minimum !== null && maximum !== null);
  const priced = known.length === 0 ? { minimum: null, maximum: null } : sumOfRanges(known);
  return { priced, unpriced: items.length - known.length };
}

/** "13.60–27.20 EUR plus 1 pool without a price". */
export function costText(cost: Pick<Cost, 'items' | 'monthly' | 'currency'>): string {
  const { priced, unpriced } = pricedMonthly(cost);
  const range = moneyRange(priced, cost.currency);
  return unpriced === 0 || range === NOT_KNOWN ? range : `${range} plus ${unpricedText(unpriced)}`;
}

/** "1 pool without a price". */
export const unpricedText = (pools: number): string => `${plural(pools, 'pool')} without a price`;

/** What a change adds to the cost per month, of the pools with a price when others have none. */
export function costDifferenceText(now: Cost, after: Cost): string {
  const [before, then] = [pricedMonthly(now), pricedMonthly(after)];
  const minus = (one: string | null, other: string | null) =>
    one === null || other === null ? null : new Big(one).minus(other).toString();
  const difference = {
    minimum: minus(then.priced.minimum, before.priced.minimum),
    maximum: minus(then.priced.maximum, before.priced.maximum),
  };
  const text = moneyDifference(difference, after.currency ?? now.currency);
  return before.unpriced + then.unpriced === 0 || text === NOT_KNOWN ? text : `${text}, of the pools with a price`;
}

/** The sum of ranges; unknown when one of them is. */
export function sumOfRanges(ranges: readonly Range[]): Range {
  const sum = (amounts: readonly (string | null)[]): string | null =>
    amounts.some((amount) => amount === null)
      ? null
      : amounts.reduce((total, amount) => total.plus(amount as string), new Big(0)).toString();
  return { minimum: sum(ranges.map(({ minimum }) => minimum)), maximum: sum(ranges.map(({ maximum }) => maximum)) };
}

const amountOf = (amount: string): string => new Big(amount).toFixed(DECIMALS);
const signedAmountOf = (amount: string): string =>
  new Big(amount).gt(0) ? `+${amountOf(amount)}` : amountOf(amount).replace('-', '−');
