import { startWebhookReceiver } from '@corral/testing';
import { expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { expectAccessible, type RunningConsole } from '../../support/console/start-console.js';

const TOKEN = /[A-Za-z0-9]{64}/;

const textOf = async (locator: Locator): Promise<string> => (await locator.textContent()) ?? '';

/** Text of the copyable area with that name. */
const snippetOf = (page: Page, name: string) => textOf(page.getByRole('region', { name, exact: true }));

/** Tokens, demos, connections and servers of the first team. */
export function testAccess(running: () => RunningConsole): void {
  const writeWith = async (token: string, name: string, type: string) => {
    const { dnsUrl, zoneName } = running().dev;
    const response = await fetch(`${dnsUrl}/zones/${zoneName}/rrsets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name, type, records: [{ value: type === 'TXT' ? '"x"' : '192.0.2.10' }] }),
    });
    const { error } = (await response.json()) as { error?: { message: string } | null };
    return error?.message ?? null;
  };

  it('creates a narrow token by keyboard, whose verdicts are those of the gateway', async () => {
    const page = await running().open('/teams/acme/dns/tokens');
    await page.getByRole('link', { name: 'npm start' }).waitFor();
    await page.keyboard.press('n');
    await page.getByRole('heading', { level: 1, name: 'Create DNS token' }).waitFor();
    await page.getByRole('button', { name: 'Certificates' }).press('Enter');
    await page.getByRole('button', { name: 'Create token' }).press('Enter');
    await page.getByText('Say what the token is for').waitFor();
    await page.locator(':focus[aria-invalid="true"]').waitFor();
    await page.keyboard.type('certificates');
    await page.getByLabel('Name to try').fill(`www.acme.${running().dev.zoneName}`);
    const verdict = page.getByText('This token can write only');
    const predicted = await textOf(verdict);
    await expectAccessible(page);

    await page.getByRole('button', { name: 'Create token' }).press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Token certificates created' }).waitFor();
    const token = await snippetOf(page, 'the token');

    expect(await writeWith(token, 'www.acme', 'A')).toBe(predicted.replace(/^.*no\s*/, ''));
    expect(await writeWith(token, '_acme-challenge.acme', 'TXT')).toBeNull();
    await page.getByRole('tab', { name: 'lego' }).press('Enter');
    expect(await snippetOf(page, 'the configuration of lego')).toContain(token);
    await expectAccessible(page);
  });

  it('adds a webhook, says when its receiver fails, and deletes it', async () => {
    const receiver = await startWebhookReceiver();
    receiver.answer(() => 503);
    const page = await running().open('/teams/acme/webhooks');
    await page.getByText('There is no webhook.').waitFor();
    await page.getByRole('button', { name: 'Add a webhook' }).press('Enter');
    await page.keyboard.type('chat');
    await page.getByLabel('Address').fill('https://10.0.0.1/');
    await page.getByLabel('Address').press('Enter');
    await page.getByText('It is a private address').waitFor();
    await page.getByLabel('Address').fill(receiver.url);
    await page.getByRole('checkbox', { name: 'Cluster' }).press('Space');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Add webhook' }).press('Enter');
    const secret = await snippetOf(page, 'the secret of chat');
    await page.getByRole('button', { name: 'I have stored it' }).click();

    const row = page.getByRole('row', { name: /chat/ });
    await row.getByText('failing: status 503').waitFor();
    receiver.answer(() => 200);
    await row.getByRole('button', { name: 'Test chat' }).press('Enter');
    await row.getByText('ok', { exact: true }).waitFor();
    const [{ payload, headers } = { payload: '', headers: {} }] = receiver.received.slice(-1);
    expect(new Webhook(/whsec_[\w+/]+=*/.exec(secret)?.[0] ?? '').verify(payload, headers)).toMatchObject({
      data: { team: 'acme' },
    });
    await expectAccessible(page);
    await row.getByRole('button', { name: 'Delete chat' }).press('Enter');
    await page.getByLabel('Type chat to confirm').fill('chat');
    await page.keyboard.press('Enter');
    await page.getByText('There is no webhook.').waitFor();
    await receiver.close();
  });

  it('creates, extends and ends a demo', async () => {
    const page = await running().open('/teams/acme/dns/demos');
    await page.getByText('No demos yet.').waitFor();
    await page.keyboard.press('n');
    await page.getByLabel('Name').fill('Work Shop');
    await page.keyboard.press('Enter');
    expect(await snippetOf(page, 'the token of the demo')).toMatch(TOKEN);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await expectAccessible(page);

    const row = page.getByRole('row', { name: /work-shop/ });
    await row.getByText('(in 4 h)').waitFor();
    await row.getByRole('button', { name: 'Extend work-shop' }).press('Enter');
    await page.getByRole('menuitem', { name: '1 day from now' }).waitFor();
    expect(await page.getByRole('menuitem', { name: '1 hour from now' }).count()).toBe(0);
    await page.getByRole('menuitem', { name: '3 days from now' }).press('Enter');
    await row.getByText('(in 3 days)').waitFor();
    await row.getByRole('button', { name: 'End work-shop', exact: true }).press('Enter');
    await page.getByLabel('Type work-shop to confirm').fill('work-shop');
    await page.keyboard.press('Enter');
    await page.getByText('No demos yet.').waitFor();
    await page.locator(':focus').waitFor();
  });

  it('adopts the server whose live name was typed, follows it, and deregisters it', async () => {
    const server = running().dev.teams[0]?.servers[0]?.serverID;
    const page = await running().open('/teams/acme/connections/main/servers/+?number=99');
    await page.getByText('The project of main has no such server.').waitFor();
    const offered = page.getByLabel('Server', { exact: true });
    const priced = offered.locator(`option[value="${server}"]`, { hasText: / EUR a month · running$/ });
    await priced.waitFor({ state: 'attached' });
    await offered.selectOption(String(server));
    await page.getByText('can be adopted').waitFor();
    const adopt = page.getByRole('button', { name: /^Wipe and adopt / });
    const name = (await textOf(adopt)).replace('Wipe and adopt ', '');
    await page.getByLabel(`Type ${name}`).fill(name);
    await page.getByLabel('Type WIPE').fill('wipe');
    await adopt.press('Enter');
    await page.getByText('Type WIPE in capital letters.').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Type WIPE').fill('WIPE');
    await page.keyboard.press('Enter');

    await page.getByRole('heading', { level: 1, name: 'Local project' }).waitFor();
    const row = page.getByRole('row', { name: new RegExp(name) });
    await row.getByText('Ready', { exact: true }).waitFor();
    await row.getByRole('button', { name: `Deregister ${name}` }).press('Enter');
    await page.getByLabel(`Type ${name} to confirm`).fill(name);
    await page.keyboard.press('Enter');
    await page.getByText('No server is adopted.').waitFor();
  });

  it('connects a project under a free ref, keeps what was typed under a taken one, and deletes the connection', async () => {
    const page = await running().open('/teams/acme/connections');
    await page.getByRole('link', { name: 'main' }).waitFor();
    await page.keyboard.press('n');
    await page.getByRole('textbox', { name: 'ID' }).fill('main');
    await page.getByLabel('API token of the project').fill('a-token-of-no-project');
    await page.keyboard.press('Enter');
    await page.getByText('main exists.').waitFor();
    expect(await page.getByLabel('API token of the project').inputValue()).toBe('a-token-of-no-project');
    await page.getByRole('textbox', { name: 'ID' }).fill('second');
    await page.keyboard.press('Enter');
    await page.getByText(/^The provider rejects the token/).waitFor();
    expect(await running().api('GET', '/api/v1/teams/acme/connections/second/')).toMatchObject({ status: 404 });
    await fetch(`${running().dev.upstream.adminUrl}/admin/project-tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: 'a-token-of-a-project' }),
    });
    await page.getByLabel('API token of the project').fill('a-token-of-a-project');
    await page.keyboard.press('Enter');

    await page.getByRole('heading', { level: 1, name: 'second' }).waitFor();
    await page.getByText('Ready', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Delete connection' }).press('Enter');
    await page.getByLabel('Type second to confirm').fill('second');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Connections' }).waitFor();
    await page.getByRole('link', { name: 'main' }).waitFor();
    expect(await page.getByRole('link', { name: 'second' }).count()).toBe(0);
  });
}
