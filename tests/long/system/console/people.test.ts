import { expect, it } from '@jest/globals';
import { describeConsole, expectAccessible, revokeDnsToken, signIn } from '../../../support/console/start-console.js';

describeConsole('for people, sessions and settings', (running) => {
  it('does not let the last administrator leave', async () => {
    const page = await running().open('/teams/acme/access');
    await page.getByRole('button', { name: /^Leave/ }).click();
    await page.getByLabel('Type acme to confirm').fill('acme');
    await page.keyboard.press('Enter');
    await page
      .getByRole('alert')
      .getByText(/administrator/)
      .waitFor();
  });

  it('refuses to invite a member, and keeps the address', async () => {
    const page = await running().open('/teams/acme/access');
    await page.getByLabel('E-mail address').fill('member@acme.test');
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByRole('alert').getByText('A member of the team already has this address.').waitFor();
    expect(await page.getByLabel('E-mail address').inputValue()).toBe('member@acme.test');
  });

  it('shows members what only administrators can do, and whom to ask; then lets them leave', async () => {
    const sessionid = running().dev.teams[1]?.member.sessionid ?? null;
    const page = await running().open('/teams/globex/access', { sessionid });
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
  });

  it('ends no token of a member by a key press: what a change of a role ends is said first, and can be kept', async () => {
    const memberSession = running().dev.teams[0]?.member.sessionid;
    const { token } = await (
      await fetch(`${running().dev.baseUrl}/api/v1/teams/acme/dns-tokens/`, {
        method: 'POST',
        headers: { cookie: `sessionid=${memberSession}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'of the member' }),
      })
    ).json();
    const isValid = async () => {
      const headers = { authorization: `Bearer ${token}` };
      return (await fetch(`${running().dev.dnsUrl}/token`, { headers })).ok;
    };
    const page = await running().open('/teams/acme/access');
    const role = page.getByLabel('Role of member@acme.test');
    await role.selectOption('viewer');
    const plan = page.getByRole('dialog', { name: 'Make member@acme.test a viewer' });
    await plan.getByText('of the member', { exact: true }).waitFor();
    await plan.getByRole('button', { name: 'Cancel' }).click();
    await plan.waitFor({ state: 'hidden' });
    expect([await role.inputValue(), await isValid()]).toEqual(['member', true]);

    await role.selectOption('viewer');
    await plan.getByLabel(/^Keep them/).check();
    await plan.getByRole('button', { name: 'Change role' }).click();
    await plan.waitFor({ state: 'hidden' });
    expect([await role.inputValue(), await isValid()]).toEqual(['viewer', true]);

    await role.selectOption('member');
    await page
      .getByRole('dialog', { name: 'Make member@acme.test a member' })
      .getByRole('button', { name: 'Change role' })
      .click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await revokeDnsToken(running(), 'of the member');
  });

  it('ends another session of the person, which then has to sign in, and keeps which mails they want', async () => {
    const phone = await running().open('/me', { sessionid: await signIn(running(), 'admin@globex.test', 'a phone') });
    await phone.getByText('this one', { exact: true }).waitFor();
    const page = await running().open('/me', { sessionid: await signIn(running(), 'admin@globex.test', 'a laptop') });
    await page.getByRole('button', { name: 'End session of a phone' }).press('Enter');
    await page.getByRole('row', { name: /a phone/ }).waitFor({ state: 'detached' });
    const mails = page.getByRole('switch', { name: 'Record sets that end soon' });
    await mails.press('Space');
    await page.getByText('Saved which mails you get').waitFor({ state: 'attached' });
    await page.reload();
    await mails.waitFor();
    expect([await mails.isChecked(), await page.getByRole('switch', { checked: true }).count()]).toEqual([false, 5]);
    await expectAccessible(page);
    await phone.reload();
    await phone.getByRole('heading', { level: 1, name: 'Sign in to Corral' }).waitFor();
  });

  it('trusts an issuer, refuses conditions that fit anybody at their field, and shows what a pipeline needs', async () => {
    await running().api('PUT', '/api/v1/teams/acme/service-accounts/deploy/', { spec: { role: 'member' } });
    const page = await running().open('/teams/acme/access');
    await page.getByRole('row', { name: /deploy/ }).waitFor();
    await page.getByRole('button', { name: 'Trust an issuer' }).press('Enter');
    const subject = page.getByLabel('Subject');
    await subject.fill('repo:*');
    await page.getByRole('button', { name: 'Trust issuer' }).press('Enter');
    await page.locator('input[aria-invalid="true"]').waitFor();
    await expectAccessible(page);
    await subject.fill('repo:acme/shop:ref:refs/heads/main');
    await page.getByRole('button', { name: 'Trust issuer' }).press('Enter');
    await page.getByRole('row', { name: /^github .*repo:acme\/shop/ }).waitFor();
    const snippet = page.getByRole('region', { name: 'the configuration for github' });
    await snippet.getByText('audience=acme/deploy').waitFor();
    await snippet.getByText('id-token: write').waitFor();

    await page.getByRole('button', { name: 'Remove github' }).press('Enter');
    await page.getByLabel('Type github to confirm').fill('github');
    await page.keyboard.press('Enter');
    await page.getByText('No issuer is trusted.').waitFor();
    await running().api('DELETE', '/api/v1/teams/acme/service-accounts/deploy/');
  });
});
