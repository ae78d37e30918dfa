import { clusterLimits, retentionLimits, type UsageBody, type UsagePoint, type UsageStep } from '@corral/contracts';

/** Unix times in ms, at the start of an hour or a day in UTC. */
export interface UsageRange {
  readonly step: UsageStep;
  readonly from: number;
  /** The end of the range, after the last point. */
  readonly to: number;
}

export interface WrongRange {
  /** The parameter that is wrong. */
  readonly parameter: 'from' | 'to';
  readonly reason: string;
}

export const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Unix time has no leap seconds, and UTC has no daylight saving time: all hours and days have the same length. */
const stepMs: Readonly<Record<UsageStep, number>> = { hour: HOUR_MS, day: DAY_MS };

export interface AskedRange {
  readonly step: UsageStep;
  readonly from: Date | null;
  readonly to: Date | null;
}

/**
 * Completes a range and extends it to whole hours or days.
 *
 * @param now Unix time in ms
 */
export function usageRangeOf({ step, from, to }: AskedRange, now: number): UsageRange | WrongRange {
  const each = stepMs[step];
  const down = (time: number): number => Math.floor(time / each) * each;
  const up = (time: number): number => Math.ceil(time / each) * each;
  const end = down(now) + each;
  if (to !== null && up(to.getTime()) > end) return { parameter: 'to', reason: 'must not be in the future' };
  if (from !== null && from.getTime() >= end) return { parameter: 'from', reason: 'must not be in the future' };
  if (from !== null && to !== null && from >= to) return { parameter: 'to', reason: 'must be after from' };
  const last = to === null ? end : up(to.getTime());
  const first = from === null ? last - clusterLimits.usageDaysDefault * DAY_MS : down(from.getTime());
  if ((last - first) / each > clusterLimits.usagePointsMax) {
    const most = `must be at most ${clusterLimits.usagePointsMax} ${step}s before the end`;
    return { parameter: 'from', reason: step === 'hour' ? `${most}; use step=day for longer times` : most };
  }
  return { step, from: first, to: last };
}

export const isWrongRange = (range: UsageRange | WrongRange): range is WrongRange => 'parameter' in range;

export interface HourRecord {
  readonly hour: Date;
  readonly isFinal: boolean;
  readonly requests: number | null;
  /** Null with `refusedWrites` if the hour was never added up. */
  readonly writes: number | null;
  readonly refusedWrites: number | null;
  /** Null if nothing of the following was recorded. */
  readonly sampledAt: Date | null;
  readonly records: number | null;
  readonly recordsLimit: number | null;
  readonly dnsTokens: number | null;
  readonly clusters: number | null;
  readonly nodes: number | null;
  readonly costMinimum: string | null;
  readonly costMaximum: string | null;
  readonly costCurrency: string | null;
}

/** An hour that ended longer ago is not added up any more. */
const SETTLED_MS = (retentionLimits.usageCatchUpHours + 1) * HOUR_MS;

/**
 * Folds recorded hours into the points of a range. Counters are added up; all other values are those of the last sample. What is not
 * recorded is null.
 *
 * @param now Unix time in ms
 */
export function usageSeries(
  hours: readonly HourRecord[],
  { step, from, to }: UsageRange,
  now: number,
): Omit<UsageBody, 'savedBySleep'> {
  const byStart = new Map(hours.map((record) => [record.hour.getTime(), record]));
  const each = stepMs[step];
  const points: UsagePoint[] = [];
  for (let start = from; start < to; start += each) points.push(pointOf(byStart, { start, end: start + each }, now));
  return { step, from: new Date(from).toISOString(), to: new Date(to).toISOString(), points };
}

interface Span {
  readonly start: number;
  readonly end: number;
}

function pointOf(byStart: ReadonlyMap<number, HourRecord>, { start, end }: Span, now: number): UsagePoint {
  const recorded: HourRecord[] = [];
  let complete = true;
  for (let hour = start; hour < end; hour += HOUR_MS) {
    const isSettled = hour + HOUR_MS + SETTLED_MS <= now;
    const record = byStart.get(hour);
    if (record !== undefined) recorded.push(usable(record, isSettled));
    complete &&= isSettled || record?.isFinal === true;
  }
  const known = recorded.filter(({ requests, writes, sampledAt }) => (requests ?? writes ?? sampledAt) !== null);
  const last = known.findLast(({ sampledAt }) => sampledAt !== null);
  return {
    from: new Date(start).toISOString(),
    complete,
    recordedHours: known.length,
    requests: sumOf(known.map(({ requests }) => requests)),
    writes: sumOf(known.map(({ writes }) => writes)),
    refusedWrites: sumOf(known.map(({ refusedWrites }) => refusedWrites)),
    records: { used: last?.records ?? null, limit: last?.recordsLimit ?? null },
    dnsTokens: last?.dnsTokens ?? null,
    clusters: last?.clusters ?? null,
    nodes: last?.nodes ?? null,
    cost: {
      currency: last?.costCurrency ?? null,
      minimum: last?.costMinimum ?? null,
      maximum: last?.costMaximum ?? null,
    },
  };
}

/** The counters of an hour that was never added up to its end cover a part of it only. */
const usable = (record: HourRecord, isSettled: boolean): HourRecord =>
  isSettled && !record.isFinal ? { ...record, requests: null, writes: null, refusedWrites: null } : record;

/** Null if nothing is known. */
function sumOf(counts: readonly (number | null)[]): number | null {
  const known = counts.filter((count) => count !== null);
  return known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0);
}
