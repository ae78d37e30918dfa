import type { IdentityClaims } from '@corral/auth';
import { LRUCache } from 'lru-cache';
import * as oidc from 'openid-client';
import { claimsOf, lacksPerson } from './claims.js';
import { problemOfProvider, providerAway } from './problem-of-provider.js';

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Absent: a public client, which PKCE alone protects. */
  readonly clientSecret: string | undefined;
  /** Parted by blanks; with `openid`. */
  readonly scopes: string;
}

/** What proves that an answer of the provider belongs to an attempt. */
export interface AttemptChecks {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

export interface OidcClient {
  /**
   * Begins an attempt.
   *
   * @returns where the browser has to go, and what has to be remembered meanwhile
   * @throws Problem `upstream_unavailable`
   */
  begin(redirectUri: string): Promise<AttemptChecks & { readonly url: string }>;
  /**
   * Ends an attempt.
   *
   * @param callback the address that the provider sent the browser back to, with its query
   * @throws Problem `sign_in_cancelled`, `sign_in_refused`, `upstream_unavailable`
   */
  finish(callback: URL, checks: AttemptChecks): Promise<IdentityClaims>;
}

const CALL_SECONDS_MAX = 10;
/** How far the provider's clock and ours may be apart. */
const CLOCK_SECONDS_MAX = 60;
/** What the provider says of itself hardly changes; its keys are looked after by the library. */
const FRESH_MS = 3_600_000;

/**
 * A client of an OpenID provider: code flow with PKCE. Nothing is asked before somebody signs in, so the service starts
 * and works while the provider is away.
 */
export function oidcClient(settings: OidcSettings): OidcClient {
  // Those who come at once share one call. What failed is tried again by the next; what is stale serves until then.
  const provider = new LRUCache<'provider', oidc.Configuration>({
    max: 1,
    ttl: FRESH_MS,
    fetchMethod: () => discover(settings),
    allowStaleOnFetchRejection: true,
    noDeleteOnFetchRejection: true,
  });
  const configuration = () =>
    provider.forceFetch('provider').catch((error: unknown) => {
      throw providerAway(error);
    });

  return {
    async begin(redirectUri) {
      const config = await configuration();
      const [state, nonce, codeVerifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()];
      const url = oidc.buildAuthorizationUrl(config, {
        ...{ state, nonce, redirect_uri: redirectUri, scope: settings.scopes },
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
        throw problemOfProvider(error);
      }
    },
  };
}

async function identify(config: oidc.Configuration, callback: URL, { state, nonce, codeVerifier }: AttemptChecks) {
  const tokens = await oidc.authorizationCodeGrant(config, callback, {
    ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: codeVerifier },
    idTokenExpected: true,
  });
  const idToken = tokens.claims() as oidc.IDToken;
  const more = config.serverMetadata().userinfo_endpoint !== undefined && lacksPerson(idToken);
  return claimsOf(idToken, more ? await oidc.fetchUserInfo(config, tokens.access_token, idToken.sub) : null);
}

function discover({ issuer, clientId, clientSecret }: OidcSettings): Promise<oidc.Configuration> {
  const server = new URL(issuer);
  const checks = [oidc.enableNonRepudiationChecks];
  // The configuration lets plain HTTP pass for this machine only.
  if (server.protocol === 'http:') checks.push(oidc.allowInsecureRequests);
  const metadata = { [oidc.clockTolerance]: CLOCK_SECONDS_MAX };
  return oidc.discovery(server, clientId, metadata, clientAuthentication(clientSecret), {
    timeout: CALL_SECONDS_MAX,
    execute: checks,
  });
}

/** In the way that the provider takes; a provider that does not say takes Basic (OpenID Connect Discovery 1.0). */
function clientAuthentication(secret: string | undefined): oidc.ClientAuth {
  if (secret === undefined) return oidc.None();
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const usePost = methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
    return (usePost ? post : basic)(server, ...rest);
  };
}
