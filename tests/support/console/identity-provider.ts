import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import type { Provider } from 'oidc-provider';

export interface IdentityProvider {
  /** The settings with which the cluster API uses it. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export interface IdentityProviderOptions {
  /** Known only after the service listens, which in turn needs the issuer first. */
  readonly redirectUri: () => string;
  /** Who signs in. Their address is verified. */
  readonly email: string;
}

/** A real OpenID provider on a free port of `localhost` that signs one person in without a page. */
export async function startIdentityProvider(options: IdentityProviderOptions): Promise<IdentityProvider> {
  let handle: (req: IncomingMessage, res: ServerResponse) => void = (_req, res) => res.writeHead(503).end();
  const server = createServer((req, res) => handle(req, res)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  // It warns about temporary keys and in-memory storage, which are intended here.
  const warnings = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
  const oidc = await import('oidc-provider');
  let provider: Provider | undefined;
  handle = async (req, res) => {
    provider ??= providerOf(oidc.Provider, issuer, options);
    if (!req.url?.startsWith('/interaction/')) return provider.callback()(req, res);
    const outcome = { login: { accountId: 'the-person' } };
    await provider.interactionFinished(req, res, outcome, { mergeWithLastSubmission: false });
  };
  return {
    env: { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'corral', OIDC_CLIENT_SECRET: 'secret-of-the-client' },
    async close() {
      warnings.mockRestore();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function providerOf(
  OidcProvider: typeof Provider,
  issuer: string,
  { redirectUri, email }: IdentityProviderOptions,
): Provider {
  return new OidcProvider(issuer, {
    clients: [
      {
        client_id: 'corral',
        client_secret: 'secret-of-the-client',
        redirect_uris: [redirectUri()],
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'given_name', 'family_name'] },
    cookies: { keys: ['key-of-the-cookies'] },
    ttl: { IdToken: 60, AccessToken: 600, Session: 600, Interaction: 600, Grant: 600, AuthorizationCode: 60 },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: async () => ({ sub, email, email_verified: true }) }),
    // Grants consent without asking, like the provider of an organisation for its own services.
    async loadExistingGrant({ oidc }) {
      const known = oidc.session?.grantIdFor(oidc.client?.clientId as string);
      if (known !== undefined) return oidc.provider.Grant.find(known);
      const grant = new oidc.provider.Grant({
        accountId: oidc.session?.accountId as string,
        clientId: oidc.client?.clientId as string,
      });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
  });
}
