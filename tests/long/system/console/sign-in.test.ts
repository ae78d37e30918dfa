import { startFlakyProxy } from '@corral/testing';
import { type IdentityProvider, startIdentityProvider } from '@corral/testing/identity-provider';
import { afterAll, expect, it } from '@jest/globals';
import { describeConsole, type RunningConsole } from '../../../support/console/start-console.js';

const TABS = 7;

let identityProvider: IdentityProvider | undefined;
afterAll(() => identityProvider?.close());

async function startProvider(running: () => RunningConsole): Promise<Record<string, string>> {
  const provider = await startIdentityProvider(() => `${running().dev.baseUrl}/auth/callback/`);
  identityProvider = provider;
  provider.accounts.set('the-person', { email: 'member@acme.test', email_verified: true });
  provider.person = 'the-person';
  const { issuer, clientId, clientSecret } = provider;
  return { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret };
}

function testSessions(running: () => RunningConsole): void {
  const url = (path: string) => `${running().dev.baseUrl}${path}`;
  const createToken = (name: string) => running().api('POST', '/api/v1/teams/acme/dns-tokens/', { name });

  it('returns from the identity provider to the address that was opened', async () => {
    const page = await running().open('/teams/acme/clusters?filter=web', { sessionid: null });
    await page.getByRole('link', { name: 'Sign in' }).press('Enter');
    await page.waitForURL(url('/console/teams/acme/clusters?filter=web'));
    await page.getByRole('heading', { level: 1, name: 'Clusters' }).waitFor();
    await page.getByRole('button', { name: 'member@acme.test' }).waitFor();
  });

  it('keeps what was typed when the session ends while a form is sent, and is live again after a sign-in in any tab', async () => {
    const page = await running().open('/teams/acme/dns/tokens/+', { sessionid: null });
    await page.getByRole('button', { name: /^admin@acme\.test/ }).click();
    await page.getByLabel('Name', { exact: true }).fill('typed before');
    const other = await page.context().newPage();
    await other.goto(url('/console/teams/acme/access'));
    await other.getByText('Live', { exact: true }).waitFor();
    const [session] = await page.context().cookies();
    await fetch(url('/auth/logout/'), { method: 'POST', headers: { cookie: `sessionid=${session?.value}` } });
    await page.getByRole('button', { name: 'Create token' }).click();
    await other.getByRole('dialog', { name: 'Your session ended' }).waitFor();
    const dialog = page.getByRole('dialog', { name: 'Your session ended' });
    await dialog.getByRole('button', { name: /^admin@acme\.test/ }).click();
    await dialog.waitFor({ state: 'hidden' });
    await other.getByRole('dialog').waitFor({ state: 'hidden' });
    await other.getByText('Live', { exact: true }).waitFor();

    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('typed before');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Create token' }).click();
    await page.getByRole('heading', { level: 1, name: 'Token typed before created' }).waitFor();
  });

  it('shows until when it knows, after a connection died without a word, and loads again when it is back', async () => {
    const { hostname, port, origin } = new URL(running().dev.baseUrl);
    const proxy = await startFlakyProxy({ host: hostname, port: Number(port) });
    const page = await running().open('/sign-in');
    await page.clock.install();
    await page.goto(`${origin.replace(port, String(proxy.port))}/console/teams/acme/dns/tokens`);
    await page.getByText('Live', { exact: true }).waitFor();
    proxy.hang();
    const lost = await page.evaluate(() => Date.now());
    await createToken('created meanwhile');

    await page.clock.fastForward(46_000);
    await page.clock.fastForward(6_000);
    const banner = await page.getByText(/^Offline\. Showing /).textContent();
    const [, hours, minutes, seconds] = /Showing (\d+):(\d+):(\d+)/.exec(banner ?? '') ?? [];
    const shown = await page.evaluate(
      ([time, h, m, s]) => new Date(time as number).setHours(Number(h), Number(m), Number(s)),
      [lost, hours, minutes, seconds],
    );
    expect(shown).toBeLessThanOrEqual(lost);

    proxy.restore();
    await page.clock.fastForward(46_000);
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'created meanwhile' }).waitFor();
    await proxy.close();
  });

  it('follows changes in seven tabs over one connection, also after the first tab is closed', async () => {
    const first = await running().open('/teams/acme/dns/tokens');
    await first.getByText('Live', { exact: true }).waitFor();
    const context = first.context();
    let streams = 0;
    context.on('request', (request) => {
      if (request.url().endsWith('/events/')) streams += 1;
    });
    const others = await Promise.all(
      Array.from({ length: TABS - 1 }, async () => {
        const page = await context.newPage();
        await page.goto(url('/console/teams/acme/dns/tokens'));
        await page.getByText('Live', { exact: true }).waitFor();
        return page;
      }),
    );
    await createToken('for all tabs');
    for (const page of [first, ...others]) await page.getByRole('link', { name: 'for all tabs' }).waitFor();
    expect(streams).toBe(0);

    await first.close();
    await createToken('after the first');
    for (const page of others) await page.getByRole('link', { name: 'after the first' }).waitFor();
    expect(streams).toBe(1);
    await context.close();
  });
}

describeConsole('for sessions and live updates', testSessions, startProvider);
