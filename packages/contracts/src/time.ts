const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

/** The pattern of `parseTime`, for schemas. */
export const timePattern = rfc3339.source;
/** Length of the longest match. */
export const timeCharacters = '2026-11-21T12:00:00.123456789+01:00'.length;

/** Years in UTC that have four digits and that Postgres can store, which has no year 0. */
const [yearMin, yearMax] = [1, 9_999];

/**
 * Parses a time (RFC 3339) with millisecond precision.
 *
 * @returns null for anything else, including dates not in the calendar and years outside 1 to 9999
 */
export function parseTime(text: string): Date | null {
  const [, year, month, day] = rfc3339.exec(text) ?? [];
  if (year === undefined) return null;
  const time = new Date(text);
  // JavaScript parses February 30 as March 2.
  const isOfCalendar = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  // An offset may shift the time out of the permitted years.
  const yearInUtc = time.getUTCFullYear();
  return isOfCalendar && yearInUtc >= yearMin && yearInUtc <= yearMax ? time : null;
}
