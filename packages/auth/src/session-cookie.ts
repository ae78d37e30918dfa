import { hash, randomBytes } from 'node:crypto';

export const SESSION_COOKIE = 'sessionid';
const SECRET_BYTES = 32;
/** 32 bytes in base64url. */
const wellFormed = /^[\w-]{43}$/;

/** The text of a session cookie: 256 random bits, and nothing that could be told from them. */
export function mintSessionSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/** What is stored in place of the cookie's text. A fast hash is enough: the text is random, there is nothing to guess. */
export function hashSessionSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/**
 * Reads the session cookie of a request (RFC 6265 section 4.2.1).
 *
 * @returns null when there is none, when it cannot be one of ours, or when there is more than one: a page of a sibling
 *   domain can plant a second one, and which of the two is meant is anybody's guess
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
