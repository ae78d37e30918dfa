const HEADER = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
const LENGTH_MAX = 512;
const onlyZeros = /^0+$/;

/**
 * Reads the trace id of a `traceparent` header (https://www.w3.org/TR/trace-context/, section 3.2).
 *
 * @param header from Node.js, which joins repeated headers with a comma; they are invalid then
 * @returns 32 hexadecimal digits in lower case, or undefined without a valid header
 */
export function traceIdOf(header: string | readonly string[] | undefined): string | undefined {
  if (typeof header !== 'string' || header.length > LENGTH_MAX) return undefined;
  const [, version, traceId, parentId, rest] = HEADER.exec(header) ?? [];
  if (version === undefined || traceId === undefined || parentId === undefined) return undefined;
  if (version === 'ff' || onlyZeros.test(traceId) || onlyZeros.test(parentId)) return undefined;
  // Only later versions may have more parts.
  return version === '00' && rest !== undefined ? undefined : traceId;
}
