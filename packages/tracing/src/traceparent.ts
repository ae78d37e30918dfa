const HEADER = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const LENGTH_MAX = 512;
const onlyZeros = /^0+$/;

/** The place of a span in a trace. Ids are hexadecimal digits in lower case. */
export interface Traceparent {
  /** 32 digits. */
  readonly traceId: string;
  /** 16 digits. */
  readonly spanId: string;
  /** Bit 0: the sender records the trace. */
  readonly traceFlags: number;
}

/**
 * Reads a `traceparent` header (https://www.w3.org/TR/trace-context/, section 3.2).
 *
 * @param header from Node.js, which joins repeated headers with a comma; they are invalid then
 * @returns null without a valid header
 */
export function parseTraceparent(header: string | readonly string[] | null | undefined): Traceparent | null {
  if (typeof header !== 'string' || header.length > LENGTH_MAX) return null;
  const [, version, traceId, spanId, flags, rest] = HEADER.exec(header) ?? [];
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (version === 'ff' || onlyZeros.test(traceId) || onlyZeros.test(spanId)) return null;
  // Only later versions may have more parts.
  if (version === '00' && rest !== undefined) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
}

/** The header of version 00, 55 characters. */
export const renderTraceparent = ({ traceId, spanId, traceFlags }: Traceparent): string =>
  `00-${traceId}-${spanId}-0${traceFlags & 1}`;
