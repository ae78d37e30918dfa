import { type ClusterSchemas, createClient } from '@corral/client';
import type { Cli } from '../cli.js';

type IssuedToken = ClusterSchemas['IssuedToken'];
/** The grant decides which other members there are. */
type TokenForm = { readonly grant_type: string } & Readonly<Record<string, string>>;

/**
 * Asks for a token (RFC 6749 section 4.1.3, RFC 8693).
 *
 * @param form which is sent once: a code is valid for one request
 */
export async function requestToken({ io, sending }: Cli, url: string, form: TokenForm): Promise<IssuedToken> {
  const client = createClient({ baseUrl: url, credentials: 'none', ...sending, signal: io.signal, retries: 0 });
  return (await client.exchangeToken({}, { body: form })).body;
}
