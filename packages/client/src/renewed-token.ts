import { call } from './calls.js';
import { clusterOperations } from './generated/cluster-operations.js';
import { type ClientOptions, createTransport } from './transport.js';

export interface IssuedToken {
  readonly token: string;
  /** How long it is valid from now on, in ms. */
  readonly validMs: number;
}

/** A token is renewed this long before it ends, or after three quarters of its time. */
const RENEW_BEFORE_MS = 120_000;
/** A clock that is wrong must not ask for a token per request: a token that has really ended is answered 401. */
const KEPT_MS_MIN = 30_000;

/**
 * A value for `credentials.bearer` that gets tokens when they are needed, once for all requests that wait for one.
 *
 * @param issue gets a new token; its errors are those of the requests
 */
export function renewedToken(issue: () => Promise<IssuedToken>): (rejected: string | null) => Promise<string> {
  let current: Promise<IssuedToken & { readonly renewAt: number }> | null = null;
  const begin = async () => {
    const issued = await issue();
    const keptMs = Math.max(issued.validMs - Math.min(RENEW_BEFORE_MS, issued.validMs / 4), KEPT_MS_MIN);
    return { ...issued, renewAt: performance.now() + keptMs };
  };
  return async (rejected) => {
    const used = current;
    const known = await used?.catch(() => null);
    // Another request may have renewed it meanwhile.
    if (current !== null && current !== used) return (await current).token;
    if (known && known.token !== rejected && performance.now() < known.renewAt) return known.token;
    current = begin();
    return (await current).token;
  };
}

export interface ExchangeOptions extends Pick<ClientOptions, 'baseUrl' | 'fetch' | 'userAgent' | 'signal' | 'pause'> {
  /** The service account, such as `acme/ci`. */
  readonly account: string;
  /** Gets a token of the trusted issuer, such as that of the pipeline. */
  readonly subjectToken: () => string | Promise<string>;
  /** Default: a JWT. */
  readonly subjectTokenType?: string;
}

const OAUTH = 'urn:ietf:params:oauth';

/**
 * A value for `credentials.bearer` of a program without any secret of Corral: it exchanges the token of an issuer that the
 * team trusts for a short-lived one of a service account (RFC 8693).
 */
export function exchangedToken(options: ExchangeOptions): (rejected: string | null) => Promise<string> {
  const { account, subjectToken, subjectTokenType = `${OAUTH}:token-type:jwt`, ...connection } = options;
  const transport = createTransport({ ...connection, credentials: 'none' });
  return renewedToken(async () => {
    const body = {
      grant_type: `${OAUTH}:grant-type:token-exchange`,
      audience: account,
      subject_token: await subjectToken(),
      subject_token_type: subjectTokenType,
    };
    const answer = await call(transport, clusterOperations, 'exchangeToken', {}, { body });
    const { access_token, expires_in } = answer.body as { readonly access_token: string; readonly expires_in: number };
    return { token: access_token, validMs: expires_in * 1_000 };
  });
}
