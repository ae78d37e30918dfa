import { createHmac } from 'node:crypto';
import { waitFor } from '@corral/testing';
import { expect, it } from '@jest/globals';
import { recordSetsBeside } from '../../support/console/record-sets-beside.js';
import { expectAccessible, type RunningConsole } from '../../support/console/start-console.js';

export const BILLING_SECRET = 'secret-of-the-billing-system-for-tests';

/** People and settings, the audit log and usage. */
export function testTeam(running: () => RunningConsole): void {
  const linkInMailTo = (email: string): Promise<string> =>
    waitFor(`the mail to ${email}`, async () => {
      const response = await fetch(`${running().dev.upstream.adminUrl}/admin/mails`);
      const { mails } = (await response.json()) as { mails: { recipients: string[]; text: string }[] };
      const mail = mails.find(({ recipients }) => recipients.includes(email));
      return /http\S+\/invitations\/\S+/.exec(mail?.text ?? '')?.[0] ?? false;
    });

  it('invites by keyboard; another person accepts from the mail, becomes an administrator and is removed', async () => {
    const page = await running().open('/teams/acme/access');
    await page.getByRole('row', { name: /member@acme\.test/ }).waitFor();
    await page.keyboard.press('n');
    await page.keyboard.type('ada@example.org');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /ada@example\.org/ }).waitFor();
    await expectAccessible(page);

    const invited = await running().open('/sign-in', { sessionid: null });
    await invited.goto(await linkInMailTo('ada@example.org'));
    await invited.getByLabel('E-mail address').fill('ada@example.org');
    await invited.keyboard.press('Enter');
    await invited.getByText(/invites you to the team acme/).waitFor();
    await expectAccessible(invited);
    await invited.getByRole('button', { name: 'Join acme' }).press('Enter');
    await invited.getByRole('heading', { level: 1, name: 'Home' }).waitFor();

    const role = page.getByLabel('Role of ada@example.org');
    await role.selectOption('admin');
    const plan = page.getByRole('dialog', { name: 'Make ada@example.org an administrator' });
    await plan.getByText('can do everything in the team').waitFor();
    await expectAccessible(page);
    await plan.getByRole('button', { name: 'Change role' }).press('Enter');
    await plan.waitFor({ state: 'hidden' });
    await invited.keyboard.press('g');
    await invited.keyboard.press('a');
    await invited.getByRole('row', { name: /Accepted the invitation of/ }).waitFor();

    await page.getByRole('button', { name: 'Remove ada@example.org' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Remove ada@example.org' });
    await dialog.getByLabel(/^Keep them/).check();
    await dialog.getByLabel('Type ada@example.org to confirm').fill('ada@example.org');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    await role.waitFor({ state: 'detached' });
    await invited.reload();
    await invited.getByRole('heading', { level: 1, name: 'You are not in the team acme' }).waitFor();
    await expectAccessible(invited);
  });

  it('invites somebody without a team, who finds the invitation after signing in and declines it', async () => {
    const page = await running().open('/teams/acme/access');
    await page.getByRole('row', { name: /member@acme\.test/ }).waitFor();
    await page.keyboard.press('n');
    await page.keyboard.type('grace@example.org');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /grace@example\.org/ }).waitFor();

    const invited = await running().open('/sign-in', { sessionid: null });
    await invited.getByLabel('E-mail address').fill('grace@example.org');
    await invited.keyboard.press('Enter');
    await invited.getByText(/invites you to the team acme/).waitFor();
    await invited.getByRole('button', { name: 'Decline' }).press('Enter');
    await invited.getByText('The invitation is then shown here.').waitFor();
    expect(await invited.evaluate(() => document.activeElement?.textContent)).toBe('You are not in any team');
    await expectAccessible(invited);

    await page.reload();
    await page.getByRole('row', { name: /member@acme\.test/ }).waitFor();
    await page.getByRole('row', { name: /grace@example\.org/ }).waitFor({ state: 'detached' });
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
    const stated = await fetch(`${running().dev.baseUrl}/billing/webhook/`, { method: 'POST', headers, body });
    expect(stated.status).toBe(200);

    const sessionid = running().dev.teams[1]?.admin.sessionid ?? null;
    const page = await running().open('/teams/globex/settings', { sessionid });
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
  });

  it('takes back what an entry did, and names a later change that this loses', async () => {
    const sets = recordSetsBeside(running);
    await sets.removeAll();
    await sets.addApi();
    const address = '/api.acme/A/actions/set_records';
    for (const value of ['192.0.2.66', '192.0.2.67']) await sets.dns('POST', address, { records: [{ value }] });
    const page = await running().open('/teams/acme/audit?name=api.acme&action=dns.set_records');
    await page.getByRole('button', { name: 'Details: Set the records of api.acme' }).last().press('Enter');
    await page.getByRole('button', { name: 'Undo Set the records of api.acme' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Undo Set the records of api.acme' });
    await dialog.getByText('Changed again since, and taken back too: records.').waitFor();
    await dialog.getByRole('button', { name: 'Undo', exact: true }).press('Enter');
    await dialog.getByText('Confirm that their changes go, too.').waitFor();
    await expectAccessible(page);
    await dialog.getByLabel('Also take back the later changes').press('Space');
    await dialog.getByRole('button', { name: 'Undo', exact: true }).press('Enter');
    await dialog.getByText('api.acme A changed').waitFor();
    expect(await sets.setAt('/api.acme/A')).toMatchObject({ rrset: { records: [{ value: '192.0.2.1' }] } });
    await dialog.getByRole('button', { name: 'Close', exact: true }).last().press('Enter');
    await dialog.waitFor({ state: 'hidden' });
  });

  it('shows what is recorded of the current hour, and says so when there is nothing', async () => {
    const page = await running().open('/teams/acme');
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('u');
    await page.getByText('All values as a table').click();
    await page.getByRole('row', { name: /not complete/ }).waitFor();
    expect(await page.getByRole('figure').count()).toBe(5);
    await page
      .context()
      .route('**/usage/?*', (route) =>
        route.fulfill({ json: { step: 'day', from: new Date(), to: new Date(), points: [] } }),
      );
    await page.getByText('90 d', { exact: true }).click();
    await page.getByText('Nothing recorded in this time.').waitFor();
  });
}
