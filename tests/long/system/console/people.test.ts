import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { missingBrowser } from '../../../support/console/browser.js';
import {
  closePage,
  expectAccessible,
  type RunningConsole,
  startConsole,
} from '../../../support/console/start-console.js';

const missing = await missingBrowser();

describeNeeding(describe, missing, 'people, sessions and settings in the console', () => {
  let running: RunningConsole;

  beforeAll(async () => {
    running = await startConsole();
  });
  afterAll(() => running?.stop());

  it('does not let the last administrator leave', async () => {
    const page = await running.open('/teams/acme/access');
    await page.getByRole('button', { name: /^Leave/ }).click();
    await page.getByLabel('Type acme to confirm').fill('acme');
    await page.keyboard.press('Enter');
    await page
      .getByRole('alert')
      .getByText(/administrator/)
      .waitFor();
    await closePage(page);
  });

  it('refuses to invite a member, and keeps the address', async () => {
    const page = await running.open('/teams/acme/access');
    await page.getByLabel('E-mail address').fill('member@acme.test');
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByRole('alert').getByText('A member of the team already has this address.').waitFor();
    expect(await page.getByLabel('E-mail address').inputValue()).toBe('member@acme.test');
    await closePage(page);
  });

  it('shows members what only administrators can do, and whom to ask; then lets them leave', async () => {
    const sessionid = running.dev.teams[1]?.member.sessionid ?? null;
    const page = await running.open('/teams/globex/access', { sessionid });
    await page.getByRole('row', { name: /member@globex\.test \(you\)/ }).waitFor();
    expect(await page.getByRole('button', { name: /^(Invite|Remove)/ }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Audit' }).count()).toBe(0);
    await page.keyboard.press('g');
    await page.keyboard.press('a');
    await page.getByText('Only administrators see the audit log. You are a member. Ask admin@globex.test.').waitFor();
    await page.getByRole('link', { name: 'Access' }).click();
    await page.getByRole('button', { name: /^Leave/ }).press('Enter');
    await page.getByLabel('Type globex to confirm').fill('globex');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'You are not in any team' }).waitFor();
    await closePage(page);
  });

  it.each(['light', 'dark'] as const)('is accessible in the %s theme, also on a phone', async (theme) => {
    const page = await running.open('/teams/acme/access', { theme, width: 390 });
    for (const path of ['/teams/acme/access', '/teams/acme/settings', '/me']) {
      await page.goto(`${running.dev.baseUrl}/console${path}`);
      await page.locator('table').first().waitFor();
      await expectAccessible(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth)).toBe(false);
    }
    await closePage(page);
  });

  it('breaks no policy and throws nothing', () => {
    expect(running.complaints()).toEqual([]);
  });
});
