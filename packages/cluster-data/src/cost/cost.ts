import type { ClusterSpec, Cost, CostDifference, NodePoolSpec } from '@corral/contracts';
import Big from 'big.js';
import { nodeRangeOf } from './node-range.js';
import { type KnownPrices, nodePriceOf } from './prices.js';

type Range = Cost['hourly'];
type Item = Cost['items'][number];

const unknown = { minimum: null, maximum: null };

/**
 * Returns what the nodes of a cluster cost, net, as a range from its lowest to its highest number of nodes. A
 * hibernated cluster only costs its adopted servers. Amounts are exact decimal strings. If one price is unknown, the
 * total is null.
 */
export function costOf({ nodePools, region, hibernated }: ClusterSpec, prices: KnownPrices | null): Cost {
  const items = nodePools.map((pool) => itemOf(pool, { region, hibernated, prices }));
  return {
    currency: prices?.currency ?? null,
    hourly: prices === null ? unknown : totalOf(items.map(({ hourly }) => hourly)),
    monthly: prices === null ? unknown : totalOf(items.map(({ monthly }) => monthly)),
    items,
    pricedAt: prices?.pricedAt.toISOString() ?? null,
  };
}

/** Returns what a change adds to the cost. Null stands for a cluster that does not exist and costs nothing. */
export function costDifferenceOf(before: Cost | null, after: Cost | null): CostDifference {
  const between = (of: 'hourly' | 'monthly') => ({
    minimum: differenceOf(before?.[of].minimum, after?.[of].minimum),
    maximum: differenceOf(before?.[of].maximum, after?.[of].maximum),
  });
  return { hourly: between('hourly'), monthly: between('monthly') };
}

interface PriceContext {
  readonly region: string;
  readonly hibernated: boolean;
  readonly prices: KnownPrices | null;
}

function itemOf(pool: NodePoolSpec, { region, hibernated, prices }: PriceContext): Item {
  const [minimum, maximum] = nodeRangeOf(pool, { hibernated });
  const price = nodePriceOf(pool, region, prices);
  const rangeOf = (each: Big): Range => ({
    minimum: each.times(minimum).toFixed(),
    maximum: each.times(maximum).toFixed(),
  });
  return {
    kind: 'nodePool',
    name: pool.name,
    machineType: pool.machineType,
    minimum,
    maximum,
    hourly: price.kind === 'known' ? rangeOf(price.hourly) : unknown,
    monthly: price.kind === 'known' ? rangeOf(price.monthly) : unknown,
    reason: price.reason,
  };
}

function totalOf(ranges: readonly Range[]): Range {
  return {
    minimum: sumOf(ranges.map(({ minimum }) => minimum)),
    maximum: sumOf(ranges.map(({ maximum }) => maximum)),
  };
}

function sumOf(amounts: readonly (string | null)[]): string | null {
  let sum = new Big(0);
  for (const amount of amounts) {
    if (amount === null) return null;
    sum = sum.plus(amount);
  }
  return sum.toFixed();
}

/** `undefined` counts as 0: there is no cluster. Null means unknown. */
function differenceOf(before: string | null = '0', after: string | null = '0'): string | null {
  return before === null || after === null ? null : new Big(after).minus(before).toFixed();
}
