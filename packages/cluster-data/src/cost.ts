import {
  awakeShareOf,
  type ClusterSpec,
  type Cost,
  type CostDifference,
  type HibernationSchedule,
  joinsByCommand,
  type NodePoolSpec,
  type PoolSource,
  serverKindOf,
} from '@corral/contracts';
import type { NodePrices } from '@corral/hcloud';
import Big from 'big.js';
import type { Columns } from './columns.js';

/** Whether the garden creates the pool's nodes. Other pools consist of servers that the team adopted. */
export const isManaged = ({ source }: { readonly source: PoolSource }): boolean => source === 'managed';

/** The lowest and highest number of nodes of a pool. Adopted servers exist even while the cluster is hibernated. */
export function nodeRangeOf(pool: NodePoolSpec, hibernated: boolean): readonly [fewest: number, most: number] {
  if (!isManaged(pool)) return [pool.maximum, pool.maximum];
  return hibernated ? [0, 0] : [effectiveMinimum(pool), pool.maximum];
}

/** The garden keeps at least one node in a pool whose maximum is above zero. */
function effectiveMinimum({ minimum, maximum }: NodePoolSpec): number {
  return maximum > 0 ? Math.max(1, minimum) : 0;
}

/** The provider's price list as the project of a connection sees it. */
export interface KnownPrices {
  readonly currency: string;
  readonly prices: NodePrices;
  /** The time when these prices were first read. */
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

/** What the price of a node of a pool depends on, besides its region. */
export interface PricedPool {
  readonly source: PoolSource;
  readonly machineType: string;
  readonly publicIP: boolean;
}

/** The price of one node of a pool: the server plus its public address, if it has one. */
export function nodePriceOf(
  { source, machineType, publicIP }: PricedPool,
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

type Range = Cost['hourly'];
type Item = Cost['items'][number];

const unknown = { minimum: null, maximum: null };

/**
 * Returns what the nodes of a cluster cost, net, as a range from its lowest to its highest number of nodes. A
 * hibernated cluster only costs its adopted servers, and one with a schedule costs its managed nodes by the month only while it is awake.
 * Amounts are exact decimal strings. If one price is unknown, the
 * total is null.
 */
export function costOf(
  { nodePools, region, hibernated, hibernationSchedule }: ClusterSpec,
  prices: KnownPrices | null,
): Cost {
  const items = nodePools.map((pool) =>
    itemOf(pool, { region, hibernated, prices, schedule: hibernationSchedule ?? null }),
  );
  return {
    currency: prices?.currency ?? null,
    hourly: prices === null ? unknown : totalOf(items.map(({ hourly }) => hourly)),
    monthly: prices === null ? unknown : totalOf(items.map(({ monthly }) => monthly)),
    items,
    pricedAt: prices?.pricedAt.toISOString() ?? null,
  };
}

/**
 * What an hour of sleep saves, net, with the fewest nodes: the difference of the monthly cost to that of a cluster which is always awake,
 * divided by the hours asleep. Null if a price is unknown.
 */
export function savedPerHourOf(spec: ClusterSpec, prices: KnownPrices | null): Big | null {
  const { hibernationSchedule, ...unscheduled } = spec;
  const share = hibernationSchedule === undefined ? 1 : 1 - awakeShareOf(hibernationSchedule);
  // Asleep against a schedule that knows no sleep.
  const asleep = { ...(share === 0 ? unscheduled : spec), hibernated: true };
  const saved = differenceOf(
    costOf(asleep, prices).monthly.minimum,
    costOf({ ...unscheduled, hibernated: false }, prices).monthly.minimum,
  );
  return saved === null ? null : new Big(saved).div(HOURS_PER_MONTH * (share || 1)).round(SUMMAND_DIGITS);
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
  readonly schedule: HibernationSchedule | null;
  readonly prices: KnownPrices | null;
}

function itemOf(pool: NodePoolSpec, { region, hibernated, schedule, prices }: PriceContext): Item {
  const [minimum, maximum] = nodeRangeOf(pool, hibernated);
  const follows = schedule !== null && pool.source === 'managed';
  const [least, most] = nodeRangeOf(pool, hibernated && !follows);
  const price = nodePriceOf(pool, region, prices);
  const rangeOf = (each: Big, [low, high] = [minimum, maximum]): Range => ({
    minimum: each.times(low).toFixed(),
    maximum: each.times(high).toFixed(),
  });
  return {
    kind: 'nodePool',
    name: pool.name,
    machineType: pool.machineType,
    minimum,
    maximum,
    hourly: price.kind === 'known' ? rangeOf(price.hourly) : unknown,
    monthly:
      price.kind === 'known'
        ? rangeOf(follows ? awakeMonthOf(price, schedule) : price.monthly, [least, most])
        : unknown,
    reason: price.reason,
  };
}

/** Billed by the hour while the cluster is awake, up to the monthly price. */
function awakeMonthOf(
  { hourly, monthly }: { readonly hourly: Big; readonly monthly: Big },
  schedule: HibernationSchedule,
): Big {
  const byTheHour = hourly.times(HOURS_PER_MONTH).times(awakeShareOf(schedule)).round(AMOUNT_DIGITS);
  return byTheHour.lt(monthly) ? byTheHour : monthly;
}

/** Digits after the point of an amount that a share of the month makes endless. */
const AMOUNT_DIGITS = 4;
/** An amount that is added up for years has more digits. */
const SUMMAND_DIGITS = 10;

function totalOf(ranges: readonly Range[]): Range {
  return { minimum: sumOf(ranges.map(({ minimum }) => minimum)), maximum: sumOf(ranges.map(({ maximum }) => maximum)) };
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
