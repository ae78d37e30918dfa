import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { tokenExchangeGrant } from '@corral/contracts';
import type { Cli } from '../cli.js';
import { usageError } from '../exit-codes.js';
import type { StoredContext } from '../settings/config-file.js';
import { checkedToken } from '../settings/settings.js';
import { requestToken } from './request-token.js';

/** RFC 8693. */
const SUBJECT_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:jwt';
const FILE_CHARACTERS_MAX = 16_384;
/** A token is not used when it would end during a command. */
const SPARE_MS = 30_000;

interface Exchange {
  readonly account: string;
  /** File with the token of a trusted issuer. Where it is replaced from time to time, the newest one is exchanged. */
  readonly subjectTokenFile: string;
}

/** Exchanges the token in a file for one of a service account, and keeps how it was done. */
export async function signInByExchange(
  cli: Cli,
  url: string,
  { account, subjectTokenFile }: Exchange,
): Promise<StoredContext> {
  const team = cli.options.team ?? (cli.io.env.CORRAL_TEAM || undefined);
  if (team === undefined) throw usageError('A service account is of one team: add --team.');
  const context = { url, team, account, subjectTokenFile: resolve(subjectTokenFile) };
  return { ...context, ...(await exchange(cli, context)) };
}

/** The token of a context that was made by exchange: renewed shortly before its end, and when it is not accepted. */
export function exchangedToken(
  cli: Cli,
  context: StoredContext,
  spareMs = SPARE_MS,
): (rejected: string | null) => Promise<string> {
  let { token = '', expiresAt = '' } = context;
  let renewal: Promise<void> | null = null;
  const renew = async (): Promise<void> => {
    const renewed = await exchange(cli, context);
    ({ token, expiresAt } = renewed);
    await cli.changeConfig((config) => {
      const isOurs = ([, stored]: [string, StoredContext]) =>
        stored.url === context.url && stored.account === context.account;
      const contexts = Object.entries(config.contexts).map((entry): [string, StoredContext] =>
        isOurs(entry) ? [entry[0], { ...entry[1], ...renewed }] : entry,
      );
      return { ...config, contexts: Object.fromEntries(contexts) };
    });
  };
  return async (rejected) => {
    if (rejected === token || Date.parse(expiresAt) - spareMs <= Date.now()) {
      // Requests that go on at the same time wait for one exchange.
      renewal ??= renew().finally(() => {
        renewal = null;
      });
      await renewal;
    }
    return token;
  };
}

async function exchange(cli: Cli, { url = '', team, account, subjectTokenFile = '' }: StoredContext) {
  const subjectToken = await readFile(subjectTokenFile, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw usageError(`${subjectTokenFile} cannot be read: ${error.code}.`);
  });
  if (subjectToken.length > FILE_CHARACTERS_MAX) throw usageError(`${subjectTokenFile} is too long for a token.`);
  const { access_token, expires_in } = await requestToken(cli, url, {
    grant_type: tokenExchangeGrant,
    audience: `${team}/${account}`,
    subject_token_type: SUBJECT_TOKEN_TYPE,
    subject_token: checkedToken(subjectToken.trim(), 'The token to exchange'),
  });
  return { token: access_token, expiresAt: new Date(Date.now() + expires_in * 1_000).toISOString() };
}
