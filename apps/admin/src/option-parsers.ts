import { parseTime } from '@corral/contracts';
import { InvalidArgumentError } from 'commander';

/** Parses an option as a whole number from 1 to `max`. */
export const wholeNumber = (max: number) => (text: string) => {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > max) throw new InvalidArgumentError(`Use a whole number from 1 to ${max}.`);
  return value;
};

const unitsMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
/** Years with four digits only. */
const YEAR_MAX = 9_999;

/**
 * Parses an expiry: a time (RFC 3339) or a duration from now, such as `12h`, `30d` or `8w`.
 *
 * @returns null for anything else
 */
export function parseExpiry(text: string, now: Date): Date | null {
  const span = /^([1-9]\d{0,5})([mhdw])$/.exec(text);
  if (span === null) return parseTime(text.toUpperCase());
  const expiry = new Date(now.getTime() + Number(span[1]) * unitsMs[span[2] as keyof typeof unitsMs]);
  return expiry.getUTCFullYear() <= YEAR_MAX ? expiry : null;
}

/** Parses an option as a time in the past (RFC 3339). */
export function timeOption(text: string): Date {
  const time = parseTime(text.toUpperCase());
  if (time === null || time.getTime() > Date.now()) {
    throw new InvalidArgumentError('Use a time in the past, such as 2026-05-01T03:00:00Z.');
  }
  return time;
}
