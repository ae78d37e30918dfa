import { hash, randomBytes } from 'node:crypto';

export const SESSION_COOKIE = 'sessionid';
const SECRET_BYTES = 32;
/** 32 bytes in base64url. */
const wellFormed = /^[\w-]{43}$/;

/** Creates the text of a session cookie: 256 random bits without any meaning. */
export function mintSessionSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/** The stored form of the cookie's text. A fast hash is enough because the text is random. */
export function hashSessionSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/**
 * Reads the session cookie of a request (RFC 6265 section 4.2.1).
 *
 * @returns null when there is none, when it is malformed, or when there is more than one: a page of a sibling domain
 *   can plant a second one, and the right one cannot be identified
 */
export function sessionSecretOf(cookieHeader: string | undefined): string | null {
  const prefix = `${SESSION_COOKIE}=`;
  const found = (cookieHeader ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix));
  const secret = found.length === 1 ? (found[0] as string).slice(prefix.length) : '';
  return wellFormed.test(secret) ? secret : null;
}
