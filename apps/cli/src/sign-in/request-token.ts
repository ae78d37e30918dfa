import { createClient } from '@corral/client';
import type { Cli } from '../cli.js';

interface IssuedToken {
  readonly access_token: string;
  /** `Cookie`: a session. `Bearer`: a token of a service account. */
  readonly token_type: string;
  /** Seconds. */
  readonly expires_in: number;
}

/**
 * Asks for a token (RFC 6749 section 4.1.3, RFC 8693).
 *
 * @param form which is sent once: a code is valid for one request
 */
export async function requestToken(
  { io, userAgent }: Cli,
  url: string,
  form: Record<string, string>,
): Promise<IssuedToken> {
  const client = createClient({
    baseUrl: url,
    credentials: 'none',
    userAgent,
    signal: io.signal,
    retries: 0,
    // This one route takes a form.
    fetch: (address, init) => {
      const headers = new Headers(init.headers);
      headers.set('Content-Type', 'application/x-www-form-urlencoded');
      return fetch(address, { ...init, headers, body: new URLSearchParams(form).toString() });
    },
  });
  return (await client.exchangeToken({}, { body: form } as never)).body as IssuedToken;
}
