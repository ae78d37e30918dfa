import type { UsagePoint, UsageStep } from '@corral/contracts';

/** A point as plots need it. Null: not known, and nothing is drawn. */
export interface PlotRow {
  readonly at: number;
  readonly requests: number | null;
  readonly writes: number | null;
  readonly refusedWrites: number | null;
  readonly records: number | null;
  readonly recordsLimit: number | null;
  readonly clusters: number | null;
  readonly nodes: number | null;
  /** Lowest and highest cost per month, in the currency of the series. Floats are precise enough for pixels. */
  readonly cost: readonly [number, number] | null;
}

export interface PlotSeries {
  readonly rows: readonly PlotRow[];
  /** Currency of the newest point that has one. Costs in another currency are not drawn. */
  readonly currency: string | null;
}

export function plotSeriesOf(points: readonly UsagePoint[]): PlotSeries {
  const currency = points.findLast(({ cost }) => cost.currency !== null)?.cost.currency ?? null;
  const rows = points.map((point) => ({
    at: Date.parse(point.from),
    requests: point.requests,
    writes: point.writes,
    refusedWrites: point.refusedWrites,
    records: point.records.used,
    recordsLimit: point.records.limit,
    clusters: point.clusters,
    nodes: point.nodes,
    cost: costIn(currency, point.cost),
  }));
  return { rows, currency };
}

/** The cost in a currency. It is zero and has no currency without clusters. */
function costIn(currency: string | null, cost: UsagePoint['cost']): PlotRow['cost'] {
  if (cost.minimum === null || cost.maximum === null) return null;
  return cost.currency === null || cost.currency === currency ? [Number(cost.minimum), Number(cost.maximum)] : null;
}

type Key = Exclude<keyof PlotRow, 'at'>;

/** Whether a line would not show this value, because there is a gap on both sides. */
export const isAlone = (rows: readonly PlotRow[], key: Key, index: number): boolean =>
  (rows[index]?.[key] ?? null) !== null &&
  (rows[index - 1]?.[key] ?? null) === null &&
  (rows[index + 1]?.[key] ?? null) === null;

export interface Summary {
  readonly total: number;
  readonly peak: number;
  readonly last: number;
}

/** Null if no value is known. */
export function summaryOf(rows: readonly PlotRow[], key: Exclude<Key, 'cost'>): Summary | null {
  const known = rows.flatMap((row) => (row[key] === null ? [] : [row[key]]));
  if (known.length === 0) return null;
  return {
    total: known.reduce((sum, value) => sum + value, 0),
    peak: known.reduce((most, value) => Math.max(most, value), 0),
    last: known.at(-1) as number,
  };
}

const inUtc = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' });
const hour = inUtc({ hour: '2-digit', minute: '2-digit' });
const day = inUtc({ day: 'numeric', month: 'short' });
const dayAndHour = inUtc({ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
const weekday = inUtc({ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' });

/** Points of an hour up to which ticks show the time of day. */
const CLOCK_POINTS_MAX = 48;
const DAY_MS = 86_400_000;

/** The text below a plot, in UTC: the time of day, or the day. */
export const tickOf = (at: number, step: UsageStep, points: number): string =>
  (step === 'hour' && points <= CLOCK_POINTS_MAX ? hour : day).format(at);

/** Places of ticks with a day among hours: its start. `undefined`: anywhere. */
export const ticksOf = (rows: readonly PlotRow[], step: UsageStep): number[] | undefined =>
  step === 'hour' && rows.length > CLOCK_POINTS_MAX
    ? rows.flatMap(({ at }) => (at % DAY_MS === 0 ? [at] : []))
    : undefined;

/** Label of one point, in UTC: "24 Nov, 10:00" or "Tue, 24 Nov 2026". */
export const labelOf = (at: number, step: UsageStep): string => (step === 'hour' ? dayAndHour : weekday).format(at);
