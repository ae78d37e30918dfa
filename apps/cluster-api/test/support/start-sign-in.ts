import { oidcClient } from '../../src/oidc/oidc-client.js';
import { type Browser, openBrowser } from './browser.js';
import { type IdentityProvider, startIdentityProvider } from './identity-provider.js';
import { listen } from './listen.js';
import { startClusterApi, type TestClusterApi, type TestOptions } from './start-cluster-api.js';

export interface SignInTest {
  readonly test: TestClusterApi;
  readonly idp: IdentityProvider;
  /** Where the service listens, as it knows itself. */
  readonly url: string;
  readonly callback: string;
  /** How much later it is than it is, in ms; for attempts. */
  readonly clock: { aheadMs: number };
  open(userAgent?: string): Browser;
  /** A browser in which somebody has signed in. */
  signedIn(person: string, userAgent?: string): Promise<Browser>;
  close(): Promise<void>;
}

/** The service over real sockets, beside a real identity provider that knows it as a client. */
export async function startSignIn(options: TestOptions = {}): Promise<SignInTest> {
  let url = '';
  const idp = await startIdentityProvider(() => `${url}/auth/callback/`);
  const clock = { aheadMs: 0 };
  const { issuer, clientId, clientSecret } = idp;
  const test = await startClusterApi({
    ...options,
    config: { publicUrl: () => url, ...options.config },
    deps: {
      oidc: oidcClient({ issuer, clientId, clientSecret, scopes: 'openid email profile' }),
      now: () => Date.now() + clock.aheadMs,
      ...options.deps,
    },
  });
  const served = await listen(test.app);
  url = served.url;
  const open = (userAgent?: string) => openBrowser(url, userAgent);
  return {
    ...{ test, idp, url, clock, open, callback: `${url}/auth/callback/` },
    async signedIn(person, userAgent) {
      idp.person = person;
      const browser = open(userAgent);
      const page = await browser.visit(`${url}/auth/login/`);
      if (page.status !== 200) throw new Error(`${person} did not get in: ${JSON.stringify(page.body)}`);
      return browser;
    },
    async close() {
      await served.close();
      await test.close();
      await idp.close();
    },
  };
}
