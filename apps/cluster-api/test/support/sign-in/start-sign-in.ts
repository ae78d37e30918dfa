import { createMetrics } from '@corral/service';
import { startIdentityProvider } from '@corral/testing/identity-provider';
import { buildApp } from '../../../src/build-app.js';
import { oidcClient } from '../../../src/people/oidc-client.js';
import { checkedClient } from '../checked-client.js';
import { listen } from '../listen.js';
import { startClusterApi, type TestOptions } from '../start-cluster-api.js';
import { type Browser, openBrowser } from './browser.js';

/** Starts the service over real sockets together with a real identity provider that has it as a client. */
export async function startSignIn(options: TestOptions = {}) {
  let url = '';
  const idp = await startIdentityProvider(() => `${url}/auth/callback/`);
  /** How far the service's clock is ahead, in ms. Used for sign-in attempts. */
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
    /** Base URL of the service, also its `publicUrl`. */
    url,
    clock,
    open,
    callback: `${url}/auth/callback/`,
    /** Serves the service with other settings on the same database and provider. */
    async serveWith({ config, deps }: Pick<TestOptions, 'config' | 'deps'>) {
      const other = { url: '' };
      const metrics = createMetrics({ service: 'test' });
      const { deps: own } = test;
      const settings = { ...own.config, publicUrl: () => other.url, ...config };
      const serving = await listen(buildApp({ ...own, metrics, ...deps, config: settings }));
      other.url = serving.url;
      return {
        url: serving.url,
        callback: `${serving.url}/auth/callback/`,
        open: (userAgent?: string) => openBrowser(serving.url, userAgent),
        close: serving.close,
      };
    },
    /** A browser with a signed-in person. */
    async signedIn(person: string, userAgent?: string): Promise<Browser> {
      idp.person = person;
      const browser = open(userAgent);
      const page = await browser.visit(`${url}/auth/login/`);
      if (page.status !== 200) throw new Error(`${person} did not get in: ${JSON.stringify(page.body)}`);
      return browser;
    },
    async close(): Promise<void> {
      await served.close();
      await test.close();
      await idp.close();
    },
  };
}
export type SignInTest = Awaited<ReturnType<typeof startSignIn>>;
