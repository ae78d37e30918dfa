import type { ClusterSpec } from '@corral/contracts';
import type Big from 'big.js';
import { type KnownPrices, nodePriceOf } from './prices.js';

/** Nodes that are there anyway come before any that are bought. */
const OWN = 100;
/** Below `OWN`, however many prices there are. */
const MANAGED_MAX = 99;

/**
 * Which pool grows first, by name: the higher, the sooner. Pools on adopted servers come first; among the others a pool's
 * number is how many higher prices there are among them, so that pools of one price share a number. A pool whose price is
 * not known counts as the dearest.
 *
 * They are decided with each accepted change and kept from then on: prices that change later change no cluster.
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

/** Each price once, the dearest first. */
function descending(prices: readonly Big[]): Big[] {
  return [...prices]
    .sort((one, other) => other.cmp(one))
    .filter((price, at, all) => at === 0 || !price.eq(all[at - 1] as Big));
}
