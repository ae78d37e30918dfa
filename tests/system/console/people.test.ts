import { createHmac } from 'node:crypto';
import { describeNeeding, waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { missingBrowser } from '../../support/console/browser.js';
import { closePage, expectAccessible, type RunningConsole, startConsole } from '../../support/console/start-console.js';

const missing = await missingBrowser();
const BILLING_SECRET = 'secret-of-the-billing-system-for-tests';

describeNeeding(describe, missing, 'people, sessions and settings in the console', () => {
  let running: RunningConsole;

  beforeAll(async () => {
    running = await startConsole({ BILLING_WEBHOOK_SECRETS: BILLING_SECRET });
  });
  afterAll(() => running?.stop());

  const signIn = async (email: string, userAgent: string): Promise<string> => {
    const response = await fetch(`${running.dev.baseUrl}/auth/dev-login/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': userAgent },
      body: JSON.stringify({ email }),
    });
    return /sessionid=([^;]+)/.exec(response.headers.get('set-cookie') ?? '')?.[1] ?? '';
  };

  const linkInMailTo = (email: string): Promise<string> =>
    waitFor(`the mail to ${email}`, async () => {
      const response = await fetch(`${running.dev.upstream.adminUrl}/admin/mails`);
      const { mails } = (await response.json()) as { mails: { recipients: string[]; text: string }[] };
      const mail = mails.find(({ recipients }) => recipients.includes(email));
      return /http\S+\/invitations\/\S+/.exec(mail?.text ?? '')?.[0] ?? false;
    });

  it('does not let the last administrator leave', async () => {
    const page = await running.open('/teams/acme/people');
    await page.getByRole('button', { name: /^Leave/ }).click();
    await page.getByLabel('Type acme to confirm').fill('acme');
    await page.keyboard.press('Enter');
    await page
      .getByRole('alert')
      .getByText(/administrator/)
      .waitFor();
    await closePage(page);
  });

  it('invites by keyboard; another person accepts from the mail, becomes an administrator and is removed', async () => {
    const page = await running.open('/teams/acme/people');
    await page.getByRole('row', { name: /member@acme\.test/ }).waitFor();
    await page.keyboard.press('n');
    await page.keyboard.type('ada@example.org');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /ada@example\.org/ }).waitFor();
    await expectAccessible(page);

    const invited = await running.open('/sign-in', { sessionid: null });
    await invited.goto(await linkInMailTo('ada@example.org'));
    await invited.getByLabel('E-mail address').fill('ada@example.org');
    await invited.keyboard.press('Enter');
    await invited.getByText(/invites you to the team acme/).waitFor();
    await expectAccessible(invited);
    await invited.getByRole('button', { name: 'Accept' }).press('Enter');
    await invited.getByRole('heading', { level: 1, name: 'Home' }).waitFor();

    const role = page.getByLabel('Role of ada@example.org');
    await role.selectOption('admin');
    await invited.keyboard.press('g');
    await invited.keyboard.press('a');
    await invited.getByRole('row', { name: /invitation\.accept/ }).waitFor();

    await page.getByRole('button', { name: 'Remove ada@example.org' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Remove ada@example.org' });
    await dialog.getByLabel(/^Keep them/).check();
    await dialog.getByLabel('Type ada@example.org to confirm').fill('ada@example.org');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    await role.waitFor({ state: 'detached' });
    await invited.reload();
    await invited.getByText('Not found, or not in your teams.').first().waitFor();
    await closePage(invited);
    await closePage(page);
  });

  it('refuses to invite a member, and keeps the address', async () => {
    const page = await running.open('/teams/acme/people');
    await page.getByLabel('E-mail address').fill('member@acme.test');
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByRole('alert').getByText('A member of the team already has this address.').waitFor();
    expect(await page.getByLabel('E-mail address').inputValue()).toBe('member@acme.test');
    await closePage(page);
  });

  it('ends another session of the person, which then has to sign in', async () => {
    const phone = await running.open('/me', { sessionid: await signIn('admin@globex.test', 'a phone') });
    await phone.getByText('this one', { exact: true }).waitFor();
    const page = await running.open('/me', { sessionid: await signIn('admin@globex.test', 'a laptop') });
    await page.getByRole('button', { name: 'End session of a phone' }).press('Enter');
    await page.getByRole('row', { name: /a phone/ }).waitFor({ state: 'detached' });
    await phone.reload();
    await phone.getByRole('heading', { level: 1, name: 'Sign in to Corral' }).waitFor();
    await closePage(phone);
    await closePage(page);
  });

  it('renames the team, and shows its subscription as the billing system states it', async () => {
    const subscription = {
      id: 'sub_1',
      display_name: 'Team plan',
      billing_interval: 'month',
      status: 'active',
      quantity: 3,
      start_date: '2026-01-01T00:00:00Z',
      cancel_at_period_end: true,
      current_period_start: '2026-11-01T00:00:00Z',
      current_period_end: '2027-12-01T00:00:00Z',
      items: [],
    };
    const body = JSON.stringify({ id: 'evt_1', stated_at: '2026-11-21T10:00:00Z', team: 'globex', subscription });
    const seconds = Math.floor(Date.now() / 1_000);
    const v1 = createHmac('sha256', BILLING_SECRET).update(`${seconds}.${body}`).digest('hex');
    const headers = { 'content-type': 'application/json', 'corral-signature': `t=${seconds},v1=${v1}` };
    const stated = await fetch(`${running.dev.baseUrl}/billing/webhook/`, { method: 'POST', headers, body });
    expect(stated.status).toBe(200);

    const sessionid = running.dev.teams[1]?.admin.sessionid ?? null;
    const page = await running.open('/teams/globex/settings', { sessionid });
    await page.getByText('Team plan').waitFor();
    await page.getByText('Billed by month. Ends on').waitFor();
    await page.getByRole('textbox', { name: 'Name' }).fill('Rockets');
    await page.reload();
    expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('Rockets');
    await page.getByRole('button', { name: 'Save name' }).press('Enter');
    await page.getByRole('status').getByText('Saved.').waitFor();
    expect(await page.getByLabel('Team', { exact: true }).locator('option:checked').textContent()).toBe(
      'Rockets (globex)',
    );
    await expectAccessible(page);
    await closePage(page);
  });

  it('shows members what only administrators can do, and whom to ask; then lets them leave', async () => {
    const sessionid = running.dev.teams[1]?.member.sessionid ?? null;
    const page = await running.open('/teams/globex/people', { sessionid });
    await page.getByRole('row', { name: /member@globex\.test \(you\)/ }).waitFor();
    expect(await page.getByRole('button', { name: /^(Invite|Remove)/ }).count()).toBe(0);
    for (const [key, heading] of [
      ['a', 'Audit'],
      ['c', 'Clusters'],
    ] as const) {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      if (key === 'a') await page.getByText('Only administrators see the audit log. Ask admin@globex.test.').waitFor();
    }
    await page.getByRole('link', { name: 'People' }).click();
    await page.getByRole('button', { name: /^Leave/ }).press('Enter');
    await page.getByLabel('Type globex to confirm').fill('globex');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'You are not in any team' }).waitFor();
    await closePage(page);
  });

  it.each(['light', 'dark'] as const)('is accessible in the %s theme, also on a phone', async (theme) => {
    const page = await running.open('/teams/acme/people', { theme, width: 390 });
    for (const path of ['/teams/acme/people', '/teams/acme/settings', '/me']) {
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
