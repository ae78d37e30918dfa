const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

/** What `parseTime` reads, for schemas. */
export const timePattern = rfc3339.source;
/** The longest text that it matches. */
export const timeCharacters = '2026-11-21T12:00:00.123456789+01:00'.length;

/** In UTC: what can be written with four digits, and kept by Postgres, which knows no year 0. */
const [yearMin, yearMax] = [1, 9_999];

/**
 * Reads a time (RFC 3339), to the millisecond.
 *
 * @returns null for anything else, days that no calendar has and years outside of 1 to 9999 included
 */
export function parseTime(text: string): Date | null {
  const [, year, month, day] = rfc3339.exec(text) ?? [];
  if (year === undefined) return null;
  const time = new Date(text);
  // JavaScript takes the 30th of February for the 2nd of March.
  const isOfCalendar = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  // An offset may lead out of the years that can be written.
  const yearInUtc = time.getUTCFullYear();
  return isOfCalendar && yearInUtc >= yearMin && yearInUtc <= yearMax ? time : null;
}
