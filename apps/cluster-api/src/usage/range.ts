import { clusterLimits, type UsageStep } from '@corral/contracts';

/** Unix times in ms, at the start of an hour or a day in UTC. */
export interface UsageRange {
  readonly step: UsageStep;
  readonly from: number;
  /** After the last point. */
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
export const stepMs: Readonly<Record<UsageStep, number>> = { hour: HOUR_MS, day: DAY_MS };

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
