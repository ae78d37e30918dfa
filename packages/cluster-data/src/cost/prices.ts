import { joinsByCommand, type NodePoolSpec, serverKindOf } from '@corral/contracts';
import type { NodePrices } from '@corral/hcloud';
import Big from 'big.js';
import type { Columns } from '../columns.js';

/** The provider's price list as the project of a connection sees it. */
export interface KnownPrices {
  readonly currency: string;
  readonly prices: NodePrices;
  /** When these prices were first read. */
  readonly pricedAt: Date;
}

export interface PricesRow {
  readonly currency: string | null;
  readonly prices: unknown;
  readonly pricedAt: Date | null;
}

export const priceColumns = {
  currency: 'currency',
  prices: 'prices',
  pricedAt: 'priced_at',
} as const satisfies Columns<PricesRow>;

/** Null until the prices were first read. */
export function pricesOf({ currency, prices, pricedAt }: PricesRow): KnownPrices | null {
  return currency === null || pricedAt === null ? null : { currency, prices: prices as NodePrices, pricedAt };
}

/** Net, in the currency of the list. `reason` explains why the price is unknown. */
export type NodePrice =
  | { readonly kind: 'known'; readonly hourly: Big; readonly monthly: Big; readonly reason: null }
  | { readonly kind: 'unknown'; readonly reason: string };

/** Hours of an average month: 8,760 per year / 12. */
const HOURS_PER_MONTH = 730;

/** The price of one node of a pool: the server plus its public address, if it has one. */
export function nodePriceOf(
  { source, machineType, publicIP }: Pick<NodePoolSpec, 'source' | 'machineType' | 'publicIP'>,
  region: string,
  known: KnownPrices | null,
): NodePrice {
  if (source !== 'managed' && joinsByCommand(serverKindOf[source])) {
    return { kind: 'unknown', reason: `The price of ${source} machines is unknown.` };
  }
  if (known === null) return { kind: 'unknown', reason: 'No price list is available.' };
  const { serverTypes, primaryIpv4 } = known.prices;
  const server = ownOf(ownOf(serverTypes, machineType) ?? {}, region);
  if (server === null) return { kind: 'unknown', reason: `The price list has no ${machineType} in ${region}.` };
  const address = publicIP ? ownOf(primaryIpv4, region) : free;
  if (address === null) return { kind: 'unknown', reason: `The price list has no public address in ${region}.` };
  return {
    kind: 'known',
    hourly: new Big(server.hourly).plus(address.hourly),
    monthly: monthOf(server).plus(monthOf(address)),
    reason: null,
  };
}

/** The price of a node's public address. */
export function publicAddressPriceOf(region: string, known: KnownPrices | null): NodePrice {
  const address = known === null ? null : ownOf(known.prices.primaryIpv4, region);
  if (address === null) return { kind: 'unknown', reason: `The price list has no public address in ${region}.` };
  return { kind: 'known', hourly: new Big(address.hourly), monthly: monthOf(address), reason: null };
}

const free = { hourly: '0', monthly: '0' };

/** The provider bills each resource by the hour, up to its monthly price. */
function monthOf({ hourly, monthly }: { readonly hourly: string; readonly monthly: string }): Big {
  const [byTheHour, cap] = [new Big(hourly).times(HOURS_PER_MONTH), new Big(monthly)];
  return byTheHour.lt(cap) ? byTheHour : cap;
}

/** Reads own properties only: names come from requests, and `constructor` must not find one. */
function ownOf<T>(record: Readonly<Record<string, T>>, key: string): T | null {
  return Object.hasOwn(record, key) ? (record[key] as T) : null;
}
