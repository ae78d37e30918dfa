import { createMetrics } from '@corral/service';
import { type IdentityProvider, startIdentityProvider } from '@corral/testing/identity-provider';
import { buildApp } from '../../../src/build-app.js';
import { oidcClient } from '../../../src/people/oidc-client.js';
import { checkedClient } from '../checked-client.js';
import { listen } from '../listen.js';
import { startClusterApi, type TestClusterApi, type TestOptions } from '../start-cluster-api.js';
import { type Browser, openBrowser } from './browser.js';

export interface SignInTest {
  readonly test: TestClusterApi;
  readonly idp: IdentityProvider;
  /** Base URL of the service, also its `publicUrl`. */
  readonly url: string;
  readonly callback: string;
  /** How far the service's clock is ahead, in ms. Used for sign-in attempts. */
  readonly clock: { aheadMs: number };
  open(userAgent?: string): Browser;
  /** Serves the service with other settings on the same database and provider. */
  serveWith(others: Pick<TestOptions, 'config' | 'deps'>): Promise<OtherService>;
  /** A browser with a signed-in person. */
  signedIn(person: string, userAgent?: string): Promise<Browser>;
  close(): Promise<void>;
}

interface OtherService extends Pick<SignInTest, 'url' | 'callback' | 'open'> {
  close(): Promise<void>;
}

/** Starts the service over real sockets together with a real identity provider that has it as a client. */
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
    test: { ...test, api: checkedClient(test.app, url) },
    idp,
    url,
    clock,
    open,
    callback: `${url}/auth/callback/`,
    async serveWith({ config, deps }) {
      const other = { url: '' };
      const metrics = createMetrics({ service: 'test' });
      const { deps: own } = test;
      const settings = { ...own.config, publicUrl: () => other.url, ...config };
      const serving = await listen(buildApp({ ...own, metrics, ...deps, config: settings }));
      other.url = serving.url;
      return {
        url: serving.url,
        callback: `${serving.url}/auth/callback/`,
        open: (userAgent) => openBrowser(serving.url, userAgent),
        close: serving.close,
      };
    },
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
