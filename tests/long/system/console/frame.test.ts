import { expect, it } from '@jest/globals';
import { describeConsole, expectAccessible } from '../../../support/console/start-console.js';

describeConsole('in its frame', (running) => {
  const url = (path: string) => `${running().dev.baseUrl}${path}`;

  it('says that live updates stopped when the API is gone, and that they are back', async () => {
    const page = await running().open('/teams/acme');
    await page.getByText('Live', { exact: true }).waitFor();
    // The stream is cut at the server: a browser that is set offline keeps its open connections.
    await page.context().route('**/events/', (route) => route.abort());
    await running().restartApi();
    await page.getByText(/^Offline\. Showing \d\d:\d\d:\d\d/).waitFor();
    await page.context().unroute('**/events/');
    await page.getByText('Live', { exact: true }).waitFor({ timeout: 60_000 });
  });

  it('says within 10 s that the API is frozen, although the connection stands', async () => {
    const page = await running().open('/teams/acme');
    await page.getByText('Live', { exact: true }).waitFor();
    const thaw = await running().freezeApi();
    try {
      // The page has a second to show it, and a machine with little time another one.
      await page.getByText(/^Offline\. Showing /).waitFor({ timeout: 12_000 });
    } finally {
      thaw();
    }
    await page.getByText('Live', { exact: true }).waitFor();
  });

  it('says that an answer takes longer than it should, until it is there', async () => {
    const page = await running().open('/teams/acme/dns/tokens');
    await page.getByText('Live', { exact: true }).waitFor();
    const held = Promise.withResolvers<void>();
    await page.context().route(/\/teams\/acme\/clusters\//, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.keyboard.press('g');
    await page.keyboard.press('c');
    await page.getByText('Slow', { exact: true }).waitFor();
    await page.getByText(/^Loading .*The server takes longer than usual\.$/).waitFor();
    held.resolve();
    await page.getByText('Live', { exact: true }).waitFor();
  });

  it.each(['light', 'dark'] as const)(
    'is accessible in the %s theme on each page, and none is wider than a phone',
    async (theme) => {
      const page = await running().open('/sign-in', { theme, width: 390 });
      const ofTeam = [
        '',
        '/dns/tokens',
        '/dns/tokens/+',
        '/dns/demos',
        '/connections',
        '/connections/+',
        '/access',
        '/settings',
        ...['', '/+', '/web', '/web/change', '/none'].map((each) => `/clusters${each}`),
      ];
      const { region, kubernetesVersion } = running().dev.defaults;
      const spec = { connectionRef: 'main', region, kubernetesVersion, nodePools: [] };
      await running().api('PUT', '/api/v1/teams/acme/clusters/web/', { spec });
      for (const path of ['/sign-in', '/me', ...ofTeam.map((each) => `/teams/acme${each}`)]) {
        await page.goto(url(`/console${path}`));
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page
          .getByText(/^Loading /)
          .first()
          .waitFor({ state: 'hidden' });
        await expectAccessible(page);
        expect(await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth)).toBe(false);
      }
    },
  );

  it('has its navigation in a drawer on a phone', async () => {
    const page = await running().open('/teams/acme', { width: 390 });
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('dialog').getByRole('link', { name: 'Clusters' }).click();
    await page.getByRole('heading', { level: 1, name: 'Clusters' }).waitFor();
  });

  it('prints what a page shows, without what is pressed', async () => {
    const page = await running().open('/teams/acme/clusters', { theme: 'dark' });
    const create = page.getByRole('button', { name: /^Create cluster/ }).first();
    await create.waitFor();
    await page.emulateMedia({ media: 'print' });
    await create.waitFor({ state: 'hidden' });
    await page.getByRole('navigation').first().waitFor({ state: 'hidden' });
    const heading = page.getByRole('heading', { level: 1, name: 'Clusters' });
    await heading.waitFor();
    expect(await heading.evaluate((element) => getComputedStyle(element).color)).toBe('rgb(20, 24, 29)');
  });

  it('says about itself which version it is', async () => {
    const page = await running().open('/teams/acme');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('button', { name: /@acme\.test$/ }).click();
    await page.getByRole('menuitem', { name: 'About Corral' }).click();
    const { version } = (await (await fetch(url('/healthz'))).json()) as { version: string };
    await page.getByRole('dialog', { name: 'Corral' }).getByText(`Version ${version}.`).waitFor();
  });

  it('keeps the frame around a page that does not exist', async () => {
    const page = await running().open('/teams/acme/nonsense');
    await page.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor();
    await page.getByRole('navigation', { name: 'Pages of the team' }).waitFor();
  });

  it('loads what a page shows once', async () => {
    const page = await running().open('/teams/acme/clusters');
    await page.getByText('Live', { exact: true }).waitFor();
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/api/v1/') && !request.url().endsWith('/events/')) asked.push(request.url());
    });
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Clusters' }).waitFor();
    const { region, kubernetesVersion } = running().dev.defaults;
    const spec = { connectionRef: 'main', region, kubernetesVersion, nodePools: [] };
    await running().api('PUT', '/api/v1/teams/acme/clusters/draft/', { spec });
    // The stream tells of it, so its first event has arrived.
    await page.getByRole('row', { name: /^draft/ }).waitFor();
    await running().api('DELETE', '/api/v1/teams/acme/clusters/draft/');
    expect(asked.filter((each) => each.includes('/clusters/'))).toHaveLength(1);
    expect(asked.filter((each, index) => asked.indexOf(each) !== index)).toEqual([]);
  });
});
