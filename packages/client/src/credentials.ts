import { CorralError } from './corral-error.js';

/**
 * The credentials say who calls.
 *
 * - `bearer`: a token. A function is asked before each request, and again with the token that was answered 401.
 * - `session`: the value of the session cookie, for programs.
 * - `browser`: the cookie of the page.
 * - `none`: for operations that need no authentication.
 */
export type Credentials =
  | { readonly bearer: string | ((rejected: string | null) => string | Promise<string>) }
  | { readonly session: string }
  | 'browser'
  | 'none';

/**
 * Adds the credentials to the headers of a request.
 *
 * @param rejected the token that the last request was refused with
 * @returns the token, if a refusal of it may be answered with a new one
 */
export async function identify(
  headers: Headers,
  credentials: Credentials,
  rejected: string | null,
): Promise<string | null> {
  if (typeof credentials === 'string') return null;
  if ('session' in credentials) {
    headers.set('Cookie', `sessionid=${checked(credentials.session, 'session')}`);
    return null;
  }
  const { bearer } = credentials;
  const token = checked(typeof bearer === 'function' ? await bearer(rejected) : bearer, 'token');
  headers.set('Authorization', `Bearer ${token}`);
  return typeof bearer === 'function' ? token : null;
}

/** `Headers` would quote an invalid value in its error. */
function checked(secret: string, what: string): string {
  if (typeof secret === 'string' && /^[\x21-\x3a\x3c-\x7e]+$/.test(secret)) return secret;
  const detail = `The ${what} is empty or contains characters that no ${what} has.`;
  throw new CorralError({ status: 0, code: 'invalid_request', detail });
}
