import { createClient, createDnsClient, isCorralError } from '@corral/client';
import type { Cli } from '../cli.js';
import { CliError, usageError } from '../exit-codes.js';
import { readSecret } from '../output/ask.js';
import type { StoredContext } from '../settings/config-file.js';
import { checkedToken } from '../settings/settings.js';

/** Keeps the token of a service account from standard input, if the API accepts it. */
export async function signInWithToken(cli: Cli, url: string): Promise<StoredContext> {
  const { options, io, sending } = cli;
  const team = options.team ?? (io.env.CORRAL_TEAM || undefined);
  if (team === undefined) throw usageError('The token of a service account is for one team: add --team.');
  const token = checkedToken(await readSecret(io, 'Token'));
  const client = createClient({ baseUrl: url, credentials: { bearer: token }, ...sending, signal: io.signal });
  await client.listClusters({ team }, { query: { limit: 1 } }).catch((error: unknown) => {
    if (!isCorralError(error)) throw error;
    if (error.status === 404) throw new CliError('notFound', `The token is not one of team ${team}.`);
    // An account that may not read is one all the same.
    if (error.status !== 403) throw error;
  });
  return { url, team, token };
}

/** Keeps a DNS token from standard input, if the gateway accepts it. */
export async function signInWithDnsToken(cli: Cli, dnsUrl: string): Promise<StoredContext> {
  const { io, sending } = cli;
  const dnsToken = checkedToken(await readSecret(io, 'DNS token'));
  const client = createDnsClient({ baseUrl: dnsUrl, credentials: { bearer: dnsToken }, ...sending, signal: io.signal });
  const { token } = (await client.getToken({}, {})).body;
  return { dnsUrl, dnsToken, ...(token.team === null ? {} : { team: token.team }) };
}
