import { readFile } from 'node:fs/promises';
import { waitFor } from '@corral/testing';
import { expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { clustersBeside } from '../../support/console/clusters-beside.js';
import { recordSetsBeside } from '../../support/console/record-sets-beside.js';
import { expectAccessible, type RunningConsole, signIn, waitForFocus } from '../../support/console/start-console.js';

type Control = readonly [role: 'button' | 'link' | 'textbox', name: string];
type Person = 'admin' | 'member' | 'viewer';

/** Each row names a page, a control, and who has it. */
const controls: readonly (readonly [path: string, control: Control, people: readonly Person[]])[] = [
  ['/dns/records', ['button', 'Add record set'], ['admin', 'member']],
  ['/dns/zone-file', ['textbox', 'Zone file'], ['admin', 'member']],
  ['/dns/zone-file', ['button', 'Terraform'], ['admin', 'member', 'viewer']],
  ['/dns/tokens', ['link', 'Create token'], ['admin', 'member']],
  ['/dns/tokens/+', ['button', 'Create token'], ['admin', 'member']],
  ['/dns/demos', ['button', 'Create demo'], ['admin', 'member']],
  ['/clusters', ['button', 'Create cluster'], ['admin', 'member']],
  ['/clusters/seen', ['button', 'Connect'], ['admin', 'member', 'viewer']],
  ['/clusters/seen', ['button', 'Change'], ['admin', 'member']],
  ['/clusters/seen', ['button', 'Add pool'], ['admin', 'member']],
  ['/clusters/seen', ['button', 'Add name'], ['admin', 'member']],
  ['/clusters/seen', ['button', 'More actions of seen'], ['admin', 'member']],
  ['/connections', ['link', 'Connect project'], ['admin']],
  ['/connections/+', ['button', 'Connect project'], ['admin']],
  ['/connections/main', ['button', 'Replace token or name'], ['admin']],
  ['/access', ['button', 'Invite'], ['admin']],
  ['/access', ['button', 'New robot'], ['admin']],
  ['/access', ['button', 'Trust an issuer'], ['admin']],
  ['/webhooks', ['button', 'Add a webhook'], ['admin']],
  ['/audit', ['link', 'Export all'], ['admin']],
  ['/settings', ['button', 'Save name'], ['admin']],
];

/** Roles in the team, and the room in which people, robots and issuers are given them. */
export function testRoles(running: () => RunningConsole): void {
  const headingOf = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor();
  /** What the browser keeps beyond the page. */
  const keptBy = (page: Page) =>
    page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, window.location.href]));
  const clustersWith = async (token: string) =>
    (
      await fetch(`${running().dev.baseUrl}/api/v1/teams/acme/clusters/`, {
        headers: { authorization: `Bearer ${token}` },
      })
    ).status;

  /** Opens the start page of an invited person, who joins there. */
  const joinAsViewer = async (email: string): Promise<Page> => {
    await running().api('POST', '/a/acme/team/api/invitations/', { email, role: 'viewer' });
    const page = await running().open('/', { sessionid: await signIn(running(), email) });
    await headingOf(page, 'You are not in any team');
    await page.getByText(`Signed in as ${email}`).waitFor();
    await page.getByText('You can read everything of the team and change nothing.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Join acme' }).press('Enter');
    await headingOf(page, 'Home');
    return page;
  };

  it('lets a viewer join from the start page, and read record sets, zone file, demos and clusters', async () => {
    const clusters = clustersBeside(running);
    await clusters.hurryGarden();
    await clusters.declare('seen');
    const sets = recordSetsBeside(running);
    await sets.removeAll();
    await sets.addApi();
    const page = await joinAsViewer('viewer@example.org');

    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.getByRole('row', { name: /api\.acme/ }).waitFor();
    await page.getByRole('link', { name: 'Zone file', exact: true }).first().click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Zone file' }).press('Enter'),
    ]);
    expect(await readFile(await download.path(), 'utf8')).toContain('192.0.2.1');
    await page.getByRole('link', { name: 'Demos' }).click();
    await page
      .getByText(/demos run\./)
      .first()
      .waitFor();

    await clusters.untilReady('seen');
    await page.goto(`${running().dev.consoleUrl.replace(/\/$/, '')}/teams/acme/clusters/seen`);
    await page.getByRole('button', { name: 'Connect' }).click();
    expect(await page.getByRole('menuitem').allTextContents()).toEqual(['Read only, 8 h']);
    await page.getByRole('menuitem').click();
    await page.getByRole('button', { name: 'Issue kubeconfig' }).press('Enter');
    await page.getByRole('region', { name: 'kubeconfig', exact: true }).getByText('kind: Config').waitFor();
    await page.getByRole('row', { name: /viewer@example\.org read only/ }).waitFor();
  });

  // The other tests press what administrators have.
  it.each(['member', 'viewer'] as const)(
    'offers what the role %s may do on each page, and no more, stores no token and loads nothing from elsewhere',
    async (person) => {
      const [acme] = running().dev.teams;
      const page =
        person === 'viewer'
          ? await joinAsViewer('watcher@example.org')
          : await running().open('/teams/acme', { sessionid: acme?.[person].sessionid ?? null });
      await headingOf(page, 'Home');
      const forbidden: string[] = [];
      const origins = new Set<string>();
      const kept: string[] = [];
      page.on('request', (request) => origins.add(new URL(request.url()).origin));
      page.on('response', (response) => {
        if (response.status() === 403) forbidden.push(response.url());
      });
      const offered: unknown[] = [];
      for (const path of new Set(controls.map(([each]) => each))) {
        await page.goto(`${running().dev.consoleUrl.replace(/\/$/, '')}/teams/acme${path}`);
        await page.getByText('Live', { exact: true }).first().waitFor();
        await headingOf(page, /./);
        await waitFor(`${path} to be loaded`, async () => (await page.getByText(/^Loading/).count()) === 0);
        for (const [, [role, name]] of controls.filter(([each]) => each === path)) {
          offered.push([path, name, (await page.getByRole(role, { name, exact: true }).count()) > 0]);
        }
        kept.push(await keptBy(page));
      }
      expect(offered).toEqual(controls.map(([path, [, name], people]) => [path, name, people.includes(person)]));
      expect(kept).toEqual(kept.map(() => expect.not.stringMatching(/[A-Za-z0-9_-]{32}/)));
      const { baseUrl, dnsUrl } = running().dev;
      expect([...origins].sort()).toEqual([new URL(baseUrl).origin, new URL(dnsUrl).origin].sort());
      expect(forbidden).toEqual([]);
    },
  );

  it('learns of a role that changed before the stream of changes stood', async () => {
    const page = await joinAsViewer('late@example.org');
    let connect = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      connect = resolve;
    });
    await page.context().route('**/teams/acme/events/**', async (route) => {
      await held;
      await route.continue();
    });
    await page.reload();
    await headingOf(page, 'Home');
    const { json } = await running().api('GET', '/a/acme/team/api/members/');
    const { items } = json as { items: { id: number; display_name: string }[] };
    const id = items.find(({ display_name }) => display_name === 'late@example.org')?.id;
    const { status } = await running().api('PUT', `/a/acme/team/api/members/${id}/`, { role: 'admin' });
    expect(status).toBe(200);
    connect();
    await page.getByRole('link', { name: 'Audit', exact: true }).waitFor();
  });

  it('shows a stranger nothing of the team, on whichever page', async () => {
    const page = await running().open('/teams/acme/access', {
      sessionid: running().dev.teams[1]?.admin.sessionid ?? null,
    });
    await headingOf(page, 'You are not in the team acme');
    expect(await page.getByText('admin@acme.test').count()).toBe(0);
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  });

  it('makes a robot, rotates its tokens and ends it, by keyboard', async () => {
    const page = await running().open('/teams/acme/access');
    const create = page.getByRole('button', { name: 'New robot' });
    await create.press('Enter');
    await waitForFocus(page.getByRole('textbox', { name: 'Name' }));
    await page.keyboard.press('Escape');
    await waitForFocus(create);
    await create.press('Enter');
    await waitForFocus(page.getByRole('textbox', { name: 'Name' }));
    await page.keyboard.type('ci');
    await page.getByLabel('Only these clusters').fill('ci-*');
    await page.getByRole('button', { name: 'Create robot' }).press('Enter');
    await headingOf(page, 'ci');
    const tokens: string[] = [];
    for (const active of ['0 of 2', '1 of 2']) {
      await page.getByText(`${active} are active`).waitFor();
      await page.getByRole('button', { name: 'Create token' }).press('Enter');
      const secret = page.getByRole('region', { name: 'the token', exact: true });
      await secret.getByText(/^corral_/).waitFor();
      tokens.push((await secret.textContent()) ?? '');
      await page.getByRole('button', { name: 'I have stored it' }).press('Enter');
    }
    await page.getByText('2 of 2 are active').waitFor();
    const [old = '', fresh = ''] = tokens;
    expect([await clustersWith(old), await clustersWith(fresh)]).toEqual([200, 200]);
    await expectAccessible(page);

    // The newest stands first.
    await page
      .getByRole('button', { name: /^Revoke/ })
      .last()
      .press('Enter');
    await page.getByLabel('Type ci to confirm').fill('ci');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /revoked/ }).waitFor();
    expect([await clustersWith(old), await clustersWith(fresh)]).toEqual([401, 200]);

    await page.getByRole('button', { name: 'Delete robot' }).press('Enter');
    await page.getByLabel('Type ci to confirm').fill('ci');
    await page.keyboard.press('Enter');
    await page.getByText('No robots.').waitFor();
    expect(await clustersWith(fresh)).toBe(401);
  });
}
