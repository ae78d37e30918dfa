const unitsMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

/**
 * Reads when a token expires: a time (RFC 3339) or a span from now, such as `12h`, `30d` or `8w`.
 *
 * @returns null for anything else
 */
export function parseExpiry(text: string, now: Date): Date | null {
  const span = /^([1-9]\d{0,5})([mhdw])$/.exec(text);
  if (span !== null) return new Date(now.getTime() + Number(span[1]) * unitsMs[span[2] as keyof typeof unitsMs]);
  if (!rfc3339.test(text)) return null;
  const date = new Date(text.toUpperCase());
  return Number.isNaN(date.getTime()) ? null : date;
}
