import { parseTime } from '@corral/contracts';

const unitsMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
/** Later years are not written with four digits. */
const YEAR_MAX = 9_999;

/**
 * Reads when a token expires: a time (RFC 3339) or a span from now, such as `12h`, `30d` or `8w`.
 *
 * @returns null for anything else
 */
export function parseExpiry(text: string, now: Date): Date | null {
  const span = /^([1-9]\d{0,5})([mhdw])$/.exec(text);
  if (span === null) return parseTime(text.toUpperCase());
  const expiry = new Date(now.getTime() + Number(span[1]) * unitsMs[span[2] as keyof typeof unitsMs]);
  return expiry.getUTCFullYear() <= YEAR_MAX ? expiry : null;
}
