import type { IdentityClaims } from '@corral/auth';
import { LRUCache } from 'lru-cache';
import * as oidc from 'openid-client';
import { Problem } from '../problem.js';

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a public client, which only PKCE protects. */
  readonly clientSecret: string | undefined;
  /** Space-separated. Includes `openid`. */
  readonly scopes: string;
}

/** Values that prove that a response of the provider belongs to an attempt. */
interface AttemptChecks {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

export interface OidcClient {
  /**
   * Begins an attempt.
   *
   * @returns the URL to redirect the browser to, and the values to store until the callback
   * @throws Problem `upstream_unavailable`
   */
  begin(redirectUri: string): Promise<AttemptChecks & { readonly url: string }>;
  /**
   * Ends an attempt.
   *
   * @param callback the URL that the provider redirected the browser to, with its query
   * @throws Problem `sign_in_cancelled`, `sign_in_refused`, `upstream_unavailable`
   */
  finish(callback: URL, checks: AttemptChecks): Promise<IdentityClaims>;
}

const CALL_SECONDS_MAX = 10;
/** Largest tolerated difference between the provider's clock and ours. */
const CLOCK_SECONDS_MAX = 60;
/** Cache time of the discovery document in ms. It rarely changes. The library refreshes the keys itself. */
const FRESH_MS = 3_600_000;

/**
 * A client of an OpenID provider: authorization code flow with PKCE. The provider is first called when someone signs
 * in, so the service starts and works while the provider is unavailable.
 */
export function oidcClient(settings: OidcSettings): OidcClient {
  // Concurrent sign-ins share one call. After a failure the next one tries again and the stale document stays in use.
  const provider = new LRUCache<'provider', oidc.Configuration>({
    max: 1,
    ttl: FRESH_MS,
    fetchMethod: () => discover(settings),
    allowStaleOnFetchRejection: true,
    noDeleteOnFetchRejection: true,
  });
  const configuration = () =>
    provider.forceFetch('provider').catch((error: unknown) => {
      throw identityProviderAway(error);
    });

  return {
    async begin(redirectUri) {
      const config = await configuration();
      const [state, nonce, codeVerifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
      const url = oidc.buildAuthorizationUrl(config, {
        state,
        nonce,
        redirect_uri: redirectUri,
        scope: settings.scopes,
        code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, state, nonce, codeVerifier };
    },

    async finish(callback, checks) {
      const config = await configuration();
      try {
        return await identify(config, callback, checks);
      } catch (error) {
        throw signInProblemOf(error);
      }
    },
  };
}

async function identify(config: oidc.Configuration, callback: URL, { state, nonce, codeVerifier }: AttemptChecks) {
  const tokens = await oidc.authorizationCodeGrant(config, callback, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: codeVerifier,
    idTokenExpected: true,
  });
  const idToken = tokens.claims() as oidc.IDToken;
  // The library checks `exp` and `nbf` only. An early `iat` is common: some providers tolerate clocks that are behind.
  if (idToken.iat > Date.now() / 1_000 + CLOCK_SECONDS_MAX) throw refusedClock();
  const more = config.serverMetadata().userinfo_endpoint !== undefined && lacksPerson(idToken);
  return claimsOf(idToken, more ? await oidc.fetchUserInfo(config, tokens.access_token, idToken.sub) : null);
}

function discover({ issuer, clientId, clientSecret }: OidcSettings): Promise<oidc.Configuration> {
  const server = new URL(issuer);
  const checks = [oidc.enableNonRepudiationChecks];
  // The configuration allows plain HTTP only for this machine.
  if (server.protocol === 'http:') checks.push(oidc.allowInsecureRequests);
  const metadata = { [oidc.clockTolerance]: CLOCK_SECONDS_MAX };
  return oidc.discovery(server, clientId, metadata, clientAuthentication(clientSecret), {
    timeout: CALL_SECONDS_MAX,
    execute: checks,
  });
}

/** Prefers Basic, which is also the default of OpenID Connect Discovery 1.0. */
function clientAuthentication(secret: string | undefined): oidc.ClientAuth {
  if (secret === undefined) return oidc.None();
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const usePost = methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
    return (usePost ? post : basic)(server, ...rest);
  };
}

type Claims = Readonly<Record<string, unknown>>;

/** Whether the ID token lacks e-mail or name. Many providers return them only from their userinfo endpoint. */
export const lacksPerson = (idToken: Claims): boolean => !hasEmail(idToken) || !hasName(idToken);

const hasEmail = (claims: Claims): boolean => claims.email !== undefined && claims.email_verified !== undefined;
const hasName = ({ name, given_name: given, family_name: family }: Claims): boolean =>
  [name, given, family].some((claim) => claim !== undefined);

/**
 * Reads the standard claims (OpenID Connect Core 1.0 section 5.1). `email` and `email_verified` come from the same
 * document: one document must not verify the address of the other.
 *
 * @param idToken validated, and `userInfo` is known to have the same subject
 */
export function claimsOf(idToken: Claims, userInfo: Claims | null): IdentityClaims {
  const about = userInfo === null || hasEmail(idToken) ? idToken : userInfo;
  const all = { ...userInfo, ...idToken };
  return {
    issuer: idToken.iss as string,
    subject: idToken.sub as string,
    email: textOf(about.email),
    // Only the boolean counts. The meaning of other values is not defined.
    emailVerified: about.email_verified === true,
    firstName: textOf(all.given_name),
    lastName: textOf(all.family_name),
    displayName: textOf(all.name),
  };
}

const textOf = (claim: unknown): string | null => (typeof claim === 'string' ? claim : null);

const RETRY_SECONDS = 10;

/**
 * The relevant fields of openid-client's errors. Compared by name and code, because its classes may be loaded twice.
 */
interface ProviderError {
  readonly name: string;
  readonly message: string;
  readonly code?: unknown;
  /** The provider's error code, such as `access_denied`. */
  readonly error?: unknown;
  readonly cause?: unknown;
}

/** Codes for a response that failed validation. */
const unacceptable = new Set<unknown>([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_INVALID_REQUEST',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
]);
const CLOCK_SKEW = 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED';
/** Error codes of the authorization endpoint for faults of the provider (RFC 6749 section 4.1.2.1). */
const faults = new Set(['server_error', 'temporarily_unavailable']);

/** Maps the failure of a sign-in. Failures that a new attempt cannot fix count as an unavailable provider. */
function signInProblemOf(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  const error = thrown as ProviderError;
  const { name, code } = error;
  const word = wordOf(error);
  if (name === 'AuthorizationResponseError' && word === 'access_denied') {
    return new Problem(
      'sign_in_cancelled',
      'The sign-in was cancelled at the identity provider. Start again at /auth/login/.',
    );
  }
  if (name === 'AuthorizationResponseError' && !faults.has(word))
    return refused(`refused the sign-in (${word})`, error);
  if (name === 'ResponseBodyError' && word === 'invalid_grant') {
    return refused('did not accept the code of this attempt. The code may be expired or already used', error);
  }
  if (code === CLOCK_SKEW) return refusedClock(error);
  if (unacceptable.has(code)) return refused('gave an answer that failed validation', error);
  return identityProviderAway(error);
}

/** The times of an ID token do not fit the clock of this service. */
const refusedClock = (error: ProviderError = { name: 'IdToken', message: 'issued in the future' }): Problem =>
  refused('has a clock that differs too much from that of this service', error);

/** The provider is unavailable. Existing sessions keep working. */
function identityProviderAway(error: unknown): Problem {
  const detail = 'The identity provider does not answer correctly. Try again in a moment.';
  return new Problem('upstream_unavailable', detail, {
    retryAfterSeconds: RETRY_SECONDS,
    cause: new Error(described(error as ProviderError)),
  });
}

const refused = (what: string, error: ProviderError): Problem =>
  new Problem('sign_in_refused', `The identity provider ${what}. Start again at /auth/login/.`, {
    cause: new Error(described(error)),
  });

/** The code is repeated in the response and in the log, so only harmless characters are allowed. */
function wordOf({ error }: ProviderError): string {
  return typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : 'for an unknown reason';
}

/**
 * Describes an error for the log. Leaves out all that the provider wrote but its error code: its answers, tokens and claims,
 * its description, which may repeat the authorization code or an address, and what a parser cites of an answer that it
 * cannot read.
 */
function described(thrown: ProviderError): string {
  const { name, code, error, cause } = thrown;
  const message = name === 'SyntaxError' ? 'not JSON' : thrown.message;
  const words = [
    `${name}: ${message}`,
    ...(typeof code === 'string' ? [code] : []),
    ...(error === undefined ? [] : [wordOf(thrown)]),
  ];
  const here = words.join('; ');
  return isErrorLike(cause) ? `${here}, for ${described(cause)}` : here;
}

const isErrorLike = (value: unknown): value is ProviderError =>
  typeof value === 'object' && value !== null && 'name' in value && 'message' in value;
