import { type HibernationSchedule, weekdayNames } from '@corral/contracts';

/*
 * When a cluster sleeps. Only the clock on the wall of the time zone counts, so summer and winter time need no rule: an hour that the
 * clock skips does not exist, and one that it repeats counts twice.
 */

/** Whether the cluster sleeps at a time. */
export function sleepsAt({ timeZone, awake, exceptions }: HibernationSchedule, at: Date): boolean {
  const { date, weekday, minutes } = wallTimeIn(timeZone, at);
  const exception = exceptions.find((each) => each.date === date);
  const hours = exception === undefined ? awake.filter(({ weekdays }) => isOn(weekdays, weekday)) : [exception];
  return !hours.flatMap(spanOf).some(([from, until]) => from <= minutes && minutes < until);
}

/** The part of an ordinary week in which the cluster is awake, from 0 to 1. Exceptions do not count. */
export function awakeShareOf({ awake }: Pick<HibernationSchedule, 'awake'>): number {
  const minutes = weekdayNames.map((day) =>
    coveredBy(awake.filter(({ weekdays }) => isOn(weekdays, day)).flatMap(spanOf)),
  );
  return minutes.reduce((sum, each) => sum + each, 0) / (7 * MINUTES_PER_DAY);
}

const MINUTES_PER_DAY = 1_440;

type Span = readonly [from: number, until: number];

const isOn = (weekdays: readonly string[], weekday: string): boolean => weekdays.includes(weekday);

/** In minutes since midnight. Hours that are not given are none. */
function spanOf({ from, until }: { readonly from?: string; readonly until?: string }): Span[] {
  return from === undefined || until === undefined ? [] : [[minutesOf(from), minutesOf(until)]];
}

/** @param time `07:30`; `24:00` is the end of the day */
function minutesOf(time: string): number {
  const [hours, minutes] = time.split(':').map(Number) as [number, number];
  return hours * 60 + minutes;
}

function coveredBy(spans: readonly Span[]): number {
  let covered = 0;
  let end = 0;
  for (const [from, until] of spans.toSorted(([one], [other]) => one - other)) {
    covered += Math.max(0, until - Math.max(from, end));
    end = Math.max(end, until);
  }
  return covered;
}

function wallTimeIn(timeZone: string, at: Date): { date: string; weekday: string; minutes: number } {
  const two = '2-digit';
  const shown = { year: 'numeric', month: two, day: two, weekday: 'long', hour: two, minute: two } as const;
  const format = new Intl.DateTimeFormat('en', { ...shown, timeZone, hourCycle: 'h23' });
  const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  return {
    date: `${part.year}-${part.month}-${part.day}`,
    weekday: String(part.weekday).toLowerCase(),
    minutes: Number(part.hour) * 60 + Number(part.minute),
  };
}
