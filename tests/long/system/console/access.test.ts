import { expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { describeConsole, expectAccessible, waitForFocus } from '../../../support/console/start-console.js';

const TOKEN = /[A-Za-z0-9]{64}/;

/** What the browser keeps beyond the page. */
const storedIn = (page: Page) =>
  page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage, url: window.location.href }));

const textOf = async (locator: Locator): Promise<string> => (await locator.textContent()) ?? '';

/** Text of the copyable area with that name. */
const snippetOf = (page: Page, name: string) => textOf(page.getByRole('region', { name, exact: true }));

describeConsole('for tokens, demos and connections', (running) => {
  it('shows a new token once, and asks once before it is lost', async () => {
    const page = await running().open('/teams/acme/dns/tokens/+');
    await page.getByLabel('Name', { exact: true }).fill('ci');
    await page.getByRole('button', { name: 'Create token' }).click();
    const token = await snippetOf(page, 'the token');
    expect(token).toMatch(TOKEN);
    expect(await storedIn(page)).not.toMatch(TOKEN);

    await page.getByRole('link', { name: 'Demos' }).click();
    await page.getByRole('dialog', { name: 'Leave without the token?' }).waitFor();
    await page.getByRole('button', { name: 'Stay' }).press('Enter');
    expect(await snippetOf(page, 'the token')).toBe(token);
    await page.getByRole('button', { name: 'I have stored it' }).click();

    await page.getByRole('button', { name: 'Revoke token' }).click();
    expect(await page.content()).not.toContain(token);
    await page.getByLabel('Type ci to confirm').fill('ci');
    await page.keyboard.press('Enter');
    await page.getByText('revoked', { exact: true }).waitFor();
  });

  it('says whose a token is that somebody found, keeps it nowhere, and keeps the session for an unknown one', async () => {
    const page = await running().open('/teams/acme/dns/tokens');
    const field = page.getByRole('textbox', { name: 'Token to examine' });
    await field.fill('x'.repeat(64));
    await page.keyboard.press('Enter');
    await page.getByText('The token could not be examined.').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    const { dnsToken = '', slug } = running().dev.teams[1] ?? {};
    await field.fill(dnsToken);
    await page.keyboard.press('Enter');

    await page.getByText(`team ${slug}`, { exact: true }).waitFor();
    await page.getByLabel('Name to try').fill('www.acme');
    await page.getByText(`The name does not belong to you. You can write ${slug}`).waitFor();
    expect([await field.inputValue(), await storedIn(page)]).toEqual(['', expect.not.stringMatching(TOKEN)]);
    expect(await page.content()).not.toContain(dnsToken);
    await expectAccessible(page);
  });

  it('keeps the form of a token over a reload', async () => {
    const page = await running().open('/teams/acme/dns/tokens/+');
    await page.getByLabel('Name', { exact: true }).fill('kept');
    await page.getByRole('button', { name: 'Dynamic address' }).click();
    await page.reload();

    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('kept');
    expect(await page.getByLabel('The name').inputValue()).toBe('home.acme');
  });

  it('replaces no token by one that the provider rejects, and keeps that nowhere', async () => {
    const sessionid = running().dev.teams[1]?.admin.sessionid ?? null;
    const page = await running().open('/teams/globex/connections/main', { sessionid });
    await page.getByRole('button', { name: 'Verify now' }).click();
    await page.getByText('succeeded', { exact: true }).waitFor();
    await page.keyboard.press('e');
    await page.getByLabel(/^New API token/).fill('a-token-of-no-project');
    await page.getByRole('button', { name: 'Save connection' }).click();
    await page.getByText('The provider rejects the token.').waitFor();
    await page.getByText('Ready', { exact: true }).waitFor();

    expect(await storedIn(page)).not.toContain('a-token-of-no-project');
    await expectAccessible(page);
  });

  it('shows what another person changed before a connection is changed again', async () => {
    const put = (fields: object) =>
      running().api('PUT', '/api/v1/teams/acme/connections/shared/', { spec: { provider: 'hcloud', ...fields } });
    expect((await put({ name: 'Ours', token: 'a-token-of-no-project' })).status).toBe(201);
    const page = await running().open('/teams/acme/connections/shared');
    await page.getByRole('button', { name: 'Replace token or name' }).press('Enter');
    await page.getByRole('textbox', { name: 'Name' }).fill('Mine');
    expect((await put({ name: 'Theirs', providerConfig: {} })).status).toBe(200);
    await page.getByRole('heading', { level: 1, name: 'Theirs' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('is now Theirs. Yours is Mine.').waitFor();
    await page.getByRole('button', { name: 'Continue from there' }).press('Enter');
    await page.getByRole('button', { name: 'Save connection' }).press('Enter');

    await page.getByRole('heading', { level: 1, name: 'Mine' }).waitFor();
    await waitForFocus(page.getByRole('button', { name: 'Replace token or name' }));
  });

  it('shows members who can change connections', async () => {
    const sessionid = running().dev.teams[0]?.member.sessionid ?? null;
    for (const path of ['/connections/+', '/connections/main/servers/+']) {
      const page = await running().open(`/teams/acme${path}`, { sessionid });
      await page.getByText(/^Only administrators .* Ask .+\.$/).waitFor();
    }
  });
});
