import { type Config, type ConfigProblem, secret, text, url } from '@corral/service';
import { isLoopbackUrl } from '../loopback.js';
import type { OidcSettings } from './oidc-client.js';

const isWanted = (config: Record<string, unknown>): boolean =>
  [config.OIDC_ISSUER, config.OIDC_CLIENT_ID, config.OIDC_CLIENT_SECRET].some((value) => value !== undefined);

/** What the operator says of the identity provider: all of it or nothing. */
export const oidcVariables = {
  OIDC_ISSUER: url({
    default: undefined,
    requiredWhen: isWanted,
    desc: 'Issuer URL of the OpenID Connect identity provider, exactly as in its discovery document. See docs/sign-in.md.',
    example: 'https://login.example.org/realms/corral',
  }),
  OIDC_CLIENT_ID: text({
    default: undefined,
    requiredWhen: isWanted,
    desc: 'Client ID of this service at the identity provider.',
    example: 'corral',
  }),
  OIDC_CLIENT_SECRET: secret({
    default: undefined,
    minLength: 8,
    desc: 'Client secret. Leave it empty for a public client, which uses PKCE only.',
  }),
  OIDC_SCOPES: text({
    default: 'openid email profile',
    desc: 'Space-separated OAuth scopes. Must include `openid`.',
  }),
};
type OidcConfig = Config<typeof oidcVariables>;

/** @returns null without a provider */
export function oidcSettings(config: OidcConfig): OidcSettings | null {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId } = config;
  if (issuer === undefined || clientId === undefined) return null;
  return { issuer, clientId, clientSecret: config.OIDC_CLIENT_SECRET, scopes: config.OIDC_SCOPES };
}

/** What is wrong with values that are right each by itself. */
export function problemsOfOidc({ OIDC_ISSUER: issuer, OIDC_SCOPES: scopes }: OidcConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const say = (variable: string, problem: string, expected: string) => problems.push({ variable, problem, expected });
  if (issuer !== undefined && new URL(issuer).protocol !== 'https:' && !isLoopbackUrl(issuer)) {
    say('OIDC_ISSUER', 'does not use TLS', 'an https URL, unless the provider is on this machine');
  }
  if (issuer !== undefined && /[?#]/.test(issuer)) {
    say('OIDC_ISSUER', 'has a query or a fragment', 'the issuer exactly as in the provider’s discovery document');
  }
  if (!scopes.split(/ +/).includes('openid')) {
    say('OIDC_SCOPES', 'lacks openid', 'space-separated scopes that include openid');
  }
  return problems;
}
