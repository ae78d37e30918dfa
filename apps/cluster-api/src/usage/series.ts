import { retentionLimits, type UsageBody, type UsagePoint } from '@corral/contracts';
import { HOUR_MS, stepMs, type UsageRange } from './range.js';

/** One recorded hour. */
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
export function usageSeries(hours: readonly HourRecord[], { step, from, to }: UsageRange, now: number): UsageBody {
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
