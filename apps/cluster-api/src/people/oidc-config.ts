import { type Config, type ConfigProblem, secret, text, url } from '@corral/service';
import type { OidcSettings } from './oidc-client.js';

const isConfigured = (config: Record<string, unknown>): boolean =>
  [config.OIDC_ISSUER, config.OIDC_CLIENT_ID, config.OIDC_CLIENT_SECRET].some((value) => value !== undefined);

/** Variables of the identity provider. Either all required ones are set or none. */
export const oidcVariables = {
  OIDC_ISSUER: url({
    default: undefined,
    requiredWhen: isConfigured,
    desc: 'Issuer URL of the OpenID Connect identity provider, exactly as in its discovery document. See docs/sign-in.md.',
    example: 'https://login.example.org/realms/corral',
  }),
  OIDC_CLIENT_ID: text({
    default: undefined,
    requiredWhen: isConfigured,
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

/** @returns null when no provider is configured */
export function oidcSettings(config: OidcConfig): OidcSettings | null {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId } = config;
  if (issuer === undefined || clientId === undefined) return null;
  return { issuer, clientId, clientSecret: config.OIDC_CLIENT_SECRET, scopes: config.OIDC_SCOPES };
}

/** Problems beyond the format of single values. */
export function problemsOfOidc({ OIDC_ISSUER: issuer, OIDC_SCOPES: scopes }: OidcConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const add = (variable: string, problem: string, expected: string) => problems.push({ variable, problem, expected });
  if (issuer !== undefined && new URL(issuer).protocol !== 'https:' && !isLoopbackUrl(issuer)) {
    add('OIDC_ISSUER', 'does not use TLS', 'an https URL, unless the provider is on this machine');
  }
  if (issuer !== undefined && /[?#]/.test(issuer)) {
    add('OIDC_ISSUER', 'has a query or a fragment', 'the issuer exactly as in the provider’s discovery document');
  }
  if (!scopes.split(/ +/).includes('openid')) {
    add('OIDC_SCOPES', 'lacks openid', 'space-separated scopes that include openid');
  }
  return problems;
}

/** Host names of this machine. */
export const loopbackHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]', '::1']);

/** Whether a URL uses plain HTTP on this machine. */
export function isLoopbackUrl(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  return protocol === 'http:' && loopbackHosts.has(hostname);
}
