import { expect, it } from '@jest/globals';
import { corralCommand } from '../../support/cli/corral.js';
import { expectAccessible, type RunningConsole } from '../../support/console/start-console.js';

/** The frame around all pages, and signing in. */
export function testFrame(running: () => RunningConsole): void {
  const url = (path: string) => `${running().dev.baseUrl}${path}`;

  it('sends a person without a session to the sign-in, and then to where they wanted to go', async () => {
    const page = await running().open('/teams/acme/dns/records?filter=www', { sessionid: null });
    await page.getByRole('button', { name: /member@acme\.test/ }).press('Enter');
    await page.waitForURL(url('/console/teams/acme/dns/records?filter=www'));
    await page.getByRole('heading', { level: 1, name: 'Record sets' }).waitFor();
    const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
    expect(stored).not.toMatch(/[A-Za-z0-9]{64}/);
  });

  it('leads from the root of the service to the home of the last team, and jumps from there by keyboard', async () => {
    const page = await running().open('/');
    await page.goto(url('/'));
    await page.waitForURL(url('/console/teams/acme'));
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();

    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Search or run a command').fill('demo');
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
  });

  it('serves the page with a strict policy and a nonce of its own, never cached, and assets for ever', async () => {
    const [first, second] = await Promise.all([fetch(url('/console/')), fetch(url('/console/teams/acme/any/place'))]);
    const policy = first.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain(`connect-src 'self' ${new URL(running().dev.dnsUrl).origin};`);
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

  it('lets a machine without a browser sign in with the code that it shows', async () => {
    const corral = await corralCommand();
    const login = corral.start(['login', '--url', url(''), '--device']);
    const [, address = '', code = ''] = await login.untilSaid(/(http\S+)[\s\S]*?([A-Z]{4}-[A-Z]{4})/);
    const page = await running().open('/', { sessionid: null });
    await page.goto(address);
    await page.getByRole('button', { name: /member@globex\.test/ }).press('Enter');
    await page.locator('input:focus').waitFor();
    await page.keyboard.type(code.toLowerCase());
    await page.keyboard.press('Enter');
    await page.getByText('asks to sign in as member@globex.test').waitFor();
    await page.getByText('only if you have just started it yourself').waitFor();
    expect(await page.getByText('127.0.0.1').count()).toBe(1);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.getByRole('status').getByText('is signed in as you').waitFor();
    expect(await login.ended).toMatchObject({ code: 0, out: expect.stringContaining('team globex') });
    await corral.remove();
  });
}
