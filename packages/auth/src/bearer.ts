/**
 * Reads the bearer token of a request (RFC 6750 section 2.1). Takes the raw headers because Node.js silently drops a
 * second Authorization header, and which of two a proxy in front looked at is anybody's guess.
 *
 * @returns null when there is no Authorization header, more than one, another scheme, or a token with white space
 */
export function bearerToken(rawHeaders: readonly string[]): string | null {
  let value: string | null = null;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() !== 'authorization') continue;
    if (value !== null) return null;
    value = rawHeaders[index + 1] ?? '';
  }
  return value === null ? null : (/^bearer +([^\s]+)$/i.exec(value.trim())?.[1] ?? null);
}
