import type { Credentials } from '@corral/client';
import { CliError, usageError } from '../exit-codes.js';
import type { ConfigFile, StoredContext } from './config-file.js';

/** Address of the cluster API, and a credential. */
export interface ClusterAccess {
  /** The address without a slash at its end. */
  readonly url: string;
  readonly credentials: Credentials;
  readonly team: string | null;
  /** The context, if its token is one that can be exchanged anew. */
  readonly exchanged?: StoredContext;
}

/** Address of the DNS API, and a credential. */
export interface DnsAccess {
  /** The address with `/v1`. */
  readonly url: string;
  readonly token: string;
}

export interface Given {
  readonly env: NodeJS.ProcessEnv;
  readonly config: ConfigFile;
  readonly context?: string | undefined;
  readonly team?: string | undefined;
}

const tokenPattern = /^[\x21-\x7e]{8,8192}$/;

/** @returns null when none is chosen @throws CliError for a name that is unknown */
export function chosenContext({ env, config, context }: Given): { name: string; stored: StoredContext } | null {
  const name = context ?? (env.CORRAL_CONTEXT || undefined) ?? config.currentContext;
  if (name === null) return null;
  const stored = Object.hasOwn(config.contexts, name) ? config.contexts[name] : undefined;
  if (stored === undefined) {
    throw usageError(`There is no context ${name}. \`corral contexts list\` shows them, \`corral login\` makes one.`);
  }
  return { name, stored };
}

/**
 * Options come first, then variables, then the context. The token of a context goes to the address of that context only.
 *
 * @throws CliError without address or token
 */
export function clusterAccess(given: Given): ClusterAccess {
  const { env, team } = given;
  const stored = chosenContext(given)?.stored;
  const url = addressOf(env.CORRAL_URL || stored?.url, 'CORRAL_URL', env);
  if (url === null) {
    throw new CliError('signedOut', 'You are not signed in. Run `corral login --url <address of the cluster API>`.');
  }
  const own = url === addressOf(stored?.url, 'url', env) ? stored : undefined;
  const token = env.CORRAL_TOKEN || own?.token;
  const chosenTeam = team ?? (env.CORRAL_TEAM || stored?.team || null);
  if (token !== undefined) {
    const isExchanged = !env.CORRAL_TOKEN && own?.subjectTokenFile !== undefined;
    const access = { url, credentials: { bearer: checkedToken(token) }, team: chosenTeam };
    return isExchanged ? { ...access, exchanged: own } : access;
  }
  if (own?.session === undefined) {
    throw new CliError('signedOut', `There is no token for ${url}. Run \`corral login\`, or set CORRAL_TOKEN.`);
  }
  return { url, credentials: { session: checkedToken(own.session) }, team: chosenTeam };
}

/** @returns null when the DNS API is reached by a session of the cluster API, which knows its address */
export function dnsAccess(given: Given): DnsAccess | null {
  const { env } = given;
  const stored = chosenContext(given)?.stored;
  const url = addressOf(env.CORRAL_DNS_URL || stored?.dnsUrl, 'CORRAL_DNS_URL', env);
  if (url === null) {
    if (env.CORRAL_DNS_TOKEN)
      throw usageError('CORRAL_DNS_TOKEN needs CORRAL_DNS_URL, such as https://dns.example.org/v1.');
    return null;
  }
  const token = env.CORRAL_DNS_TOKEN || (url === addressOf(stored?.dnsUrl, 'url', env) ? stored?.dnsToken : undefined);
  if (token === undefined) throw new CliError('signedOut', `There is no DNS token for ${url}. Set CORRAL_DNS_TOKEN.`);
  return { url, token: checkedToken(token) };
}

/** A token that is no header would be quoted in the error of whoever sends it. */
export function checkedToken(token: string, what = 'The token'): string {
  if (!tokenPattern.test(token))
    throw usageError(`${what} has characters that no token has, or is cut. Copy it again.`);
  return token;
}

/**
 * Checks an address that a token will be sent to.
 *
 * @returns without a slash at its end; null when there is none
 */
export function addressOf(text: string | undefined, what: string, env: NodeJS.ProcessEnv): string | null {
  if (text === undefined || text === '') return null;
  if (!URL.canParse(text)) throw usageError(`${what} is no address. It looks like https://clusters.example.org.`);
  const { protocol, hostname, username, search, hash, href } = new URL(text);
  if (username !== '' || search !== '' || hash !== '') throw usageError(`${what} has parts that are no address.`);
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname) || hostname.endsWith('.localhost');
  if (protocol !== 'https:' && !(protocol === 'http:' && (isLocal || env.CORRAL_ALLOW_HTTP === 'true'))) {
    throw usageError(
      `${what} must begin with https://: anybody on the way could read the token. CORRAL_ALLOW_HTTP=true permits http://.`,
    );
  }
  return href.replace(/\/+$/, '');
}
