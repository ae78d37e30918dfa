import Big from 'big.js';

interface Range {
  readonly minimum: string | null;
  readonly maximum: string | null;
}

const DECIMALS = 2;

/** "40.80–81.60 EUR"; "not known" without a price. Amounts are decimal strings and never become floats. */
export function moneyRange({ minimum, maximum }: Range, currency: string | null): string {
  if (minimum === null || maximum === null || currency === null) return 'not known';
  const [low, high] = [amountOf(minimum), amountOf(maximum)];
  return `${low === high ? low : `${low}–${high}`} ${currency}`;
}

/** "+3.10 to +9.30 EUR"; "no change" for zero. */
export function moneyDifference({ minimum, maximum }: Range, currency: string | null): string {
  if (minimum === null || maximum === null || currency === null) return 'not known';
  const [low, high] = [signedAmountOf(minimum), signedAmountOf(maximum)];
  if (new Big(minimum).eq(0) && new Big(maximum).eq(0)) return 'no change';
  return low === high ? `${low} ${currency}` : `${low} to ${high} ${currency}`;
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
const signedAmountOf = (amount: string): string => (new Big(amount).gt(0) ? `+${amountOf(amount)}` : amountOf(amount));
