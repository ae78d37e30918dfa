import { type HibernationSchedule, weekdayNames } from './hibernation-schedule.js';

/*
 * These rules say when a cluster sleeps. Only the clock on the wall of the time zone counts, so summer and winter time need no
 * rule: an hour that the clock skips does not exist, and one that it repeats counts twice.
 */

/** Whether the cluster sleeps at a time. */
export const sleepsAt = (schedule: HibernationSchedule, at: Date): boolean =>
  sleepsAtWall(schedule, wallTimeIn(schedule.timeZone, at));

/** What the schedule says at a time, and until when. */
export interface SleepState {
  readonly asleep: boolean;
  /** A date and a time such as `07:00` in the time zone of the schedule. Null: it stays so. */
  readonly until: { readonly date: string; readonly time: string } | null;
}

export function sleepStateAt(schedule: HibernationSchedule, at: Date): SleepState {
  const { date: today, minutes: now } = wallTimeIn(schedule.timeZone, at);
  const asleep = sleepsAt(schedule, at);
  for (const day of daysOfChange(schedule, Date.parse(today))) {
    const date = new Date(day).toISOString().slice(0, 10);
    const weekday = weekdayOf(day);
    // The end of a day is the beginning of the next one.
    const times = [0, ...hoursOf(schedule, { date, weekday }).flat()].filter((minutes) => minutes < MINUTES_PER_DAY);
    const next = times
      .filter((minutes) => date > today || minutes > now)
      .toSorted((one, other) => one - other)
      .find((minutes) => sleepsAtWall(schedule, { date, weekday, minutes }) !== asleep);
    if (next !== undefined) return { asleep, until: { date, time: timeOf(next) } };
  }
  return { asleep, until: null };
}

/** The days that can be the first with a change: those of the week and of each exception, and of the week after it. */
function daysOfChange({ exceptions }: HibernationSchedule, today: number): number[] {
  const days = [today, ...exceptions.map(({ date }) => Date.parse(date))].flatMap((first) =>
    Array.from({ length: 9 }, (_, ahead) => first + ahead * MS_PER_DAY),
  );
  return [...new Set(days)].filter((day) => day >= today).toSorted((one, other) => one - other);
}

/** The part of an ordinary week in which the cluster is awake, from 0 to 1. Exceptions do not count. */
export function awakeShareOf({ awake }: Pick<HibernationSchedule, 'awake'>): number {
  const minutes = weekdayNames.map((day) =>
    coveredBy(awake.filter(({ weekdays }) => isOn(weekdays, day)).flatMap(spanOf)),
  );
  return minutes.reduce((sum, each) => sum + each, 0) / (7 * MINUTES_PER_DAY);
}

const MINUTES_PER_DAY = 1_440;
const MS_PER_DAY = MINUTES_PER_DAY * 60_000;

interface WallDay {
  readonly date: string;
  readonly weekday: string;
}
interface WallTime extends WallDay {
  /** Minutes since midnight. */
  readonly minutes: number;
}

const sleepsAtWall = (schedule: HibernationSchedule, wall: WallTime): boolean =>
  !hoursOf(schedule, wall).some(([from, until]) => from <= wall.minutes && wall.minutes < until);

/** Finds the hours in which the cluster is awake on a day. */
function hoursOf({ awake, exceptions }: HibernationSchedule, { date, weekday }: WallDay): Span[] {
  const exception = exceptions.find((each) => each.date === date);
  const hours = exception === undefined ? awake.filter(({ weekdays }) => isOn(weekdays, weekday)) : [exception];
  return hours.flatMap(spanOf);
}

type Span = readonly [from: number, until: number];

const isOn = (weekdays: readonly string[], weekday: string): boolean => weekdays.includes(weekday);

/** The span in minutes since midnight. Hours that are not given are none. */
function spanOf({ from, until }: { readonly from?: string; readonly until?: string }): Span[] {
  return from === undefined || until === undefined ? [] : [[minutesOf(from), minutesOf(until)]];
}

/** @param time `07:30`; `24:00` is the end of the day */
function minutesOf(time: string): number {
  const [hours, minutes] = time.split(':').map(Number) as [number, number];
  return hours * 60 + minutes;
}

/** @param minutes since midnight */
const timeOf = (minutes: number): string =>
  [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':');

/** @param day its midnight in UTC, in ms */
const weekdayOf = (day: number): string => weekdayNames[(new Date(day).getUTCDay() + 6) % 7] as string;

function coveredBy(spans: readonly Span[]): number {
  let covered = 0;
  let end = 0;
  for (const [from, until] of spans.toSorted(([one], [other]) => one - other)) {
    covered += Math.max(0, until - Math.max(from, end));
    end = Math.max(end, until);
  }
  return covered;
}

/** Formats by time zone: making one takes longer than all else, and a reconciler asks for each cluster with a schedule every 30 s. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatIn(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const two = '2-digit';
  const shown = { year: 'numeric', month: two, day: two, weekday: 'long', hour: two, minute: two } as const;
  const format = new Intl.DateTimeFormat('en', { ...shown, timeZone, hourCycle: 'h23' });
  formats.set(timeZone, format);
  return format;
}

function wallTimeIn(timeZone: string, at: Date): WallTime {
  const part = Object.fromEntries(
    formatIn(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  return {
    date: `${part.year}-${part.month}-${part.day}`,
    weekday: String(part.weekday).toLowerCase(),
    minutes: Number(part.hour) * 60 + Number(part.minute),
  };
}
