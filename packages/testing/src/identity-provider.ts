import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import type { Configuration, Provider } from 'oidc-provider';

/** Claims of a person, besides `sub`. */
export type Account = Readonly<Record<string, unknown>>;

export interface IdentityProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** People by subject. */
  readonly accounts: Map<string, Account>;
  /** The subject who signs in. Null for someone who cancels. */
  person: string | null;
  /** How far the clock is ahead when tokens are issued, in ms. */
  clockOffsetMs: number;
  /** Changes the claims of an ID token without signing them again. */
  forge: ((claims: object) => object) | null;
  /** Replaces the answer to the exchange of a code. */
  answerCode: ((code: string) => { readonly status: number; readonly body: string }) | null;
  /** Requested paths, oldest first. */
  readonly asked: string[];
  /** Adds a redirect URI of the client. */
  redirectTo(uri: string): void;
  leave(): Promise<void>;
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

/**
 * A real OpenID provider on a free port of `localhost` that signs people in without a page.
 *
 * @param redirectUri known only after the service listens, which in turn needs the issuer first
 */
export async function startIdentityProvider(redirectUri: () => string): Promise<IdentityProvider> {
  let handle: (req: IncomingMessage, res: ServerResponse) => void = (_req, res) => res.writeHead(503).end();
  const server = createServer((req, res) => handle(req, res)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  let provider: Provider | undefined;
  const others: string[] = [];
  const idp: IdentityProvider = {
    issuer: `http://localhost:${port}`,
    clientId: 'corral',
    clientSecret: 'secret-of-the-client',
    accounts: new Map(),
    person: null,
    clockOffsetMs: 0,
    forge: null,
    answerCode: null,
    asked: [],
    redirectTo(uri) {
      others.push(uri);
      provider = undefined;
    },
    async leave() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
    async comeBack() {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    async close() {
      warnings.mockRestore();
      if (server.listening) await this.leave();
    },
  };

  // It warns about temporary keys and in-memory storage, which are intended here.
  const warnings = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
  const { Provider } = await import('oidc-provider');
  handle = async (req, res) => {
    provider ??= forgeTokens(new Provider(idp.issuer, configurationOf(idp, [redirectUri(), ...others])), idp);
    idp.asked.push((req.url as string).split('?')[0] as string);
    if (req.url?.startsWith('/interaction/')) return signIn(provider, idp, req, res);
    if (req.url === '/token') shiftClock(idp.clockOffsetMs, res);
    provider.callback()(req, res);
  };
  return idp;
}

function configurationOf(idp: IdentityProvider, redirectUris: string[]): Configuration {
  return {
    clients: [
      {
        client_id: idp.clientId,
        client_secret: idp.clientSecret,
        redirect_uris: redirectUris,
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
      {
        client_id: 'public',
        token_endpoint_auth_method: 'none',
        redirect_uris: redirectUris,
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'given_name', 'family_name'] },
    cookies: { keys: ['key-of-the-cookies'] },
    ttl: { IdToken: 60, AccessToken: 600, Session: 600, Interaction: 600, Grant: 600, AuthorizationCode: 600 },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    findAccount: (_ctx, id) => ({ accountId: id, claims: async () => ({ ...idp.accounts.get(id), sub: id }) }),
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
  };
}

async function signIn(provider: Provider, idp: IdentityProvider, req: IncomingMessage, res: ServerResponse) {
  const outcome = idp.person === null ? { error: 'access_denied' } : { login: { accountId: idp.person } };
  await provider.interactionFinished(req, res, outcome, { mergeWithLastSubmission: false });
}

/** Changes the claims of issued ID tokens but keeps the signature. */
function forgeTokens(provider: Provider, idp: IdentityProvider): Provider {
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.path !== '/token') return;
    if (idp.answerCode !== null) {
      const { status, body } = idp.answerCode(String(ctx.oidc.params?.code));
      ctx.status = status;
      ctx.set('Content-Type', 'application/json');
      ctx.body = body;
    }
    if (idp.forge === null) return;
    const body = ctx.body as { id_token: string };
    const [header, claims, signature] = body.id_token.split('.') as [string, string, string];
    const forged = idp.forge(JSON.parse(Buffer.from(claims, 'base64url').toString()));
    body.id_token = [header, Buffer.from(JSON.stringify(forged)).toString('base64url'), signature].join('.');
  });
  return provider;
}

/** Shifts the clock until one answer of the provider is finished. */
function shiftClock(offsetMs: number, res: ServerResponse): void {
  const realNow = Date.now;
  Date.now = () => realNow() + offsetMs;
  res.once('finish', () => {
    Date.now = realNow;
  });
}
