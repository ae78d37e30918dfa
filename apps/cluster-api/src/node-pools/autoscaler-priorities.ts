import { type KnownPrices, nodePriceOf } from '@corral/cluster-data';
import type { ClusterSpec } from '@corral/contracts';
import type Big from 'big.js';

/** Priority of pools on adopted servers. These nodes exist anyway, so they are used before any are bought. */
const OWN = 100;
/** Highest priority of a managed pool. Stays below `OWN`. */
const MANAGED_MAX = 99;

/**
 * Returns the autoscaler priority of each pool by name. Pools with higher priorities grow first. Pools on adopted
 * servers come first. The priority of a managed pool is the number of distinct higher prices, so pools with equal
 * prices share one. A pool with an unknown price ranks as the most expensive.
 *
 * Priorities are computed with each accepted change and then stored. Later price changes do not affect a cluster.
 */
export function autoscalerPriorities(
  { nodePools, region }: Pick<ClusterSpec, 'nodePools' | 'region'>,
  prices: KnownPrices | null,
): ReadonlyMap<string, number> {
  const priced = nodePools
    .filter(({ source }) => source === 'managed')
    .map((pool) => ({ name: pool.name, price: hourlyOf(nodePriceOf(pool, region, prices)) }));
  const ladder = descending(priced.flatMap(({ price }) => (price === null ? [] : [price])));
  const rankOf = (price: Big | null): number =>
    price === null ? 0 : Math.min(MANAGED_MAX, ladder.filter((other) => other.gt(price)).length);
  const managed = new Map(priced.map(({ name, price }) => [name, rankOf(price)]));
  return new Map(nodePools.map(({ name }) => [name, managed.get(name) ?? OWN]));
}

const hourlyOf = (price: ReturnType<typeof nodePriceOf>): Big | null => (price.kind === 'known' ? price.hourly : null);

/** Distinct prices, highest first. */
function descending(prices: readonly Big[]): Big[] {
  return [...prices]
    .sort((one, other) => other.cmp(one))
    .filter((price, at, all) => at === 0 || !price.eq(all[at - 1] as Big));
}
