const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** "3 min ago", "in 2 h", "just now". Beyond a month: the date. */
export function relativeTime(at: number, now: number): string {
  const distance = Math.abs(now - at);
  if (distance < 10_000) return 'just now';
  if (distance > 31 * DAY) return dayOf(at);
  return at <= now ? `${spanText(distance)} ago` : `in ${spanText(distance)}`;
}

/** "31 s", "4 min", "3 h", "5 days". */
export function spanText(ms: number): string {
  if (ms < MINUTE) return `${Math.round(ms / 1000)} s`;
  if (ms < HOUR) return `${Math.round(ms / MINUTE)} min`;
  return ms < 2 * DAY ? `${Math.round(ms / HOUR)} h` : `${Math.round(ms / DAY)} days`;
}

/** "30 Jun 2027", in UTC. */
export const dayOf = (at: number): string =>
  new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' }).format(at);

/** "30 Jun 2027 (in 5 days)". Within two days the hour matters: "22 Nov 2026 16:00 UTC (in 4 h)". */
export function endText(at: number, now: number): string {
  const [day, relative] = [dayOf(at), relativeTime(at, now)];
  if (day === relative) return day;
  const hour = Math.abs(at - now) < 2 * DAY ? ` ${new Date(at).toISOString().slice(11, 16)} UTC` : '';
  return `${day}${hour} (${relative})`;
}

/** "12:03:08", in the time zone of the browser. */
export const clockOf = (at: number): string =>
  new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' }).format(at);

/** UTC and local time, to the second. */
export function exactTime(at: number): string {
  const utc = new Date(at).toISOString().replace('T', ' ').slice(0, 19);
  const local = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' }).format(at);
  return `${utc} UTC, ${local} local time`;
}
