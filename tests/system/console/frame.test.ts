import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { missingBrowser } from '../../support/console/browser.js';
import { closePage, expectAccessible, type RunningConsole, startConsole } from '../../support/console/start-console.js';

const missing = await missingBrowser();

describeNeeding(describe, missing, 'the frame of the console', () => {
  let running: RunningConsole;
  const url = (path: string) => `${running.dev.baseUrl}${path}`;

  beforeAll(async () => {
    running = await startConsole();
  });
  afterAll(() => running?.stop());

  it('leads from the root of the service to the home of the last team', async () => {
    const page = await running.open('/');
    await page.goto(url('/'));
    await page.waitForURL(url('/console/teams/acme'));
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await closePage(page);
  });

  it('sends a person without a session to the sign-in, and then to where they wanted to go', async () => {
    const page = await running.open('/teams/acme/dns/records?filter=www', { sessionid: null });
    await page.getByRole('button', { name: /member@acme\.test/ }).press('Enter');
    await page.waitForURL(url('/console/teams/acme/dns/records?filter=www'));
    await page.getByRole('heading', { level: 1, name: 'Record sets' }).waitFor();
    const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
    expect(stored).not.toMatch(/[A-Za-z0-9]{64}/);
    await closePage(page);
  });

  it('asks for a sign-in over the page when the session ends, and continues there', async () => {
    const page = await running.open('/teams/acme/clusters', { sessionid: null });
    await page.getByRole('button', { name: /^member@acme\.test/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Clusters' }).waitFor();
    const [session] = await page.context().cookies();
    // The session ends when the next page asks for its contents: before that, the stream of live changes could notice it first.
    await page.context().route(
      /dns-tokens\//,
      async (route) => {
        await fetch(url('/auth/logout/'), { method: 'POST', headers: { cookie: `sessionid=${session?.value}` } });
        await route.continue();
      },
      { times: 1 },
    );
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.getByRole('dialog').getByText('Your session ended').waitFor();
    await expectAccessible(page);
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^member@acme\.test/ })
      .click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.getByRole('heading', { level: 1, name: 'DNS tokens' }).waitFor();
    await closePage(page);
  });

  it('jumps by keyboard: the palette, and sequences of keys', async () => {
    const page = await running.open('/teams/acme');
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Go to or do').fill('demo');
    await page.keyboard.press('Enter');
    await page.waitForURL(url('/console/teams/acme/dns/demos'));
    await page.getByRole('heading', { level: 1, name: 'Demos' }).waitFor();
    await page.locator('h1:focus').waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('c');
    await page.waitForURL(url('/console/teams/acme/clusters'));
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await page.keyboard.press('Escape');
    await closePage(page);
  });

  it('says that live updates stopped when the API is gone, and that they are back', async () => {
    const page = await running.open('/teams/acme');
    await page.getByText('Live', { exact: true }).waitFor();
    // The stream is cut at the server: a browser that is set offline keeps its open connections.
    await page.context().route('**/events/', (route) => route.abort());
    await running.restartApi();
    await page.getByText(/Live updates stopped\. Shown: \d\d:\d\d:\d\d/).waitFor();
    await page.context().unroute('**/events/');
    await page.getByText('Live', { exact: true }).waitFor({ timeout: 60_000 });
    await closePage(page);
  });

  it.each(['light', 'dark'] as const)('is accessible in the %s theme', async (theme) => {
    for (const path of ['/teams/acme', '/sign-in', '/me']) {
      const page = await running.open(path, { theme });
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expectAccessible(page);
      await closePage(page);
    }
  });

  it('fits a phone: the navigation is in a drawer', async () => {
    const page = await running.open('/teams/acme', { width: 390 });
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('dialog').getByRole('link', { name: 'Clusters' }).click();
    await page.getByRole('heading', { level: 1, name: 'Clusters' }).waitFor();
    const isWider = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(isWider).toBe(false);
    await closePage(page);
  });

  it('serves the page with a strict policy and a nonce of its own, never cached, and assets for ever', async () => {
    const [first, second] = await Promise.all([fetch(url('/console/')), fetch(url('/console/teams/acme/any/place'))]);
    const policy = first.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain(`connect-src 'self' ${new URL(running.dev.dnsUrl).origin};`);
    expect(policy).not.toContain('unsafe');
    expect(first.headers.get('cache-control')).toBe('no-store');
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1];
    const html = await first.text();
    expect(html).toContain(`<meta property="csp-nonce" nonce="${nonce}">`);
    expect(second.headers.get('content-security-policy')).not.toContain(nonce);

    const asset = /\/console\/assets\/[^"]+\.js/.exec(html)?.[0] ?? '';
    const script = await fetch(url(asset), { headers: { 'accept-encoding': 'br' } });
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(script.headers.get('content-encoding')).toBe('br');
    expect((await fetch(url('/console/assets/none.js'))).status).toBe(404);
    expect((await fetch(url('/console/..%2f..%2fpackage.json'))).headers.get('content-type')).not.toContain('json');
  });

  it('has complained about nothing', () => {
    expect(running.complaints()).toEqual([]);
  });
});
