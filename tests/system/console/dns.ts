import { beforeEach, expect, it } from '@jest/globals';
import { recordSetsBeside, rowOf } from '../../support/console/record-sets-beside.js';
import { expectAccessible, type RunningConsole } from '../../support/console/start-console.js';

/** Record sets and a zone file of the first team, by keyboard alone. Each test begins without record sets. */
export function testDns(running: () => RunningConsole): void {
  const sets = recordSetsBeside(running);

  beforeEach(() => sets.removeAll());

  it('adds, changes in place, clones and removes a set, with its problems while typing', async () => {
    const page = await running().open('/teams/acme/dns/records');
    await page.getByText('No record sets yet. Names end in acme.').waitFor();
    await page.keyboard.press('n');
    const name = page.getByLabel('Name', { exact: true });
    await name.fill(`www.globex.${running().dev.zoneName}`);
    await page.getByLabel('Value 1').fill('192.0.2');
    await page.getByText('The name does not belong to you.').waitFor();
    await page.getByText('"192.0.2" is not an IPv4 address.').waitFor();
    await page.keyboard.press('Enter');
    await page.locator('[aria-invalid="true"]:focus').waitFor();
    expect(await page.locator('[aria-invalid="true"]').count()).toBe(2);
    await name.fill('www');
    await page.getByText(`.acme.${running().dev.zoneName}`, { exact: true }).waitFor();
    await page.getByLabel('Value 1').fill('192.0.2.7');
    await page.getByLabel('Labels').fill('env=prod');
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await rowOf(page, 'www.acme').getByText('env=prod').waitFor();
    expect(await sets.setAt('/www.acme/A')).toMatchObject({
      rrset: { ttl: null, labels: { env: 'prod' }, records: [{ value: '192.0.2.7' }] },
    });

    await rowOf(page, 'www.acme').focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Value 1').fill('192.0.2.8');
    await page.getByLabel('Comment 1').fill('web');
    await page.getByLabel('TTL (seconds)').fill('300');
    await page.getByRole('group', { name: 'Change www.acme A' }).getByText('192.0.2.8 ; web').waitFor();
    await page.keyboard.press('Enter');
    await rowOf(page, 'www.acme').getByText('5 min').waitFor();
    await page.locator(':focus').waitFor();
    expect(await sets.setAt('/www.acme/A')).toMatchObject({
      rrset: { ttl: 300, records: [{ value: '192.0.2.8', comment: 'web' }] },
    });

    await rowOf(page, 'www.acme').focus();
    await page.keyboard.press('F2');
    await page.keyboard.press('Escape');
    await page.locator('tr:focus').waitFor();
    await page.getByRole('button', { name: 'Clone www.acme A' }).press('Enter');
    await page.getByLabel('Name', { exact: true }).fill('api');
    await page.keyboard.press('Enter');
    await rowOf(page, 'api.acme').waitFor();

    await rowOf(page, 'www.acme').focus();
    await page.keyboard.press('Delete');
    await rowOf(page, 'www.acme').getByText('to be removed').waitFor();
    await page.getByRole('button', { name: 'Review', exact: true }).press('Enter');
    const review = page.getByRole('dialog', { name: 'Review' });
    await review.getByText('Removes 1 record set. Then 1 of 200 records are used.').waitFor();
    await expectAccessible(page);
    await review.getByRole('button', { name: 'Apply 1 change' }).press('Enter');
    await rowOf(page, 'www.acme').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo these changes' }).press('Enter');
    await page.getByText('Adds 1 record set. Then 2 of 200 records are used.').waitFor();
    await page.getByRole('button', { name: 'Discard' }).press('Enter');
    await page.getByText('1 record set. 1 of 200 records are used.').waitFor();
    expect((await sets.dns('GET', '/www.acme/A')).status).toBe(404);
  });

  it('opens a set at an address of its own, and plans what it was before', async () => {
    await sets.addApi();
    await sets.dns('POST', '/api.acme/A/actions/set_records', { records: [{ value: '192.0.2.2' }] });
    const page = await running().open('/teams/acme/dns/records?type=A', { width: 390 });
    await page.getByRole('link', { name: 'api.acme' }).press('Enter');
    await page.waitForURL(/\/dns\/records\/api\.acme\/A\?type=A$/);
    const drawer = page.getByRole('dialog', { name: `api.acme.${running().dev.zoneName} A` });
    await drawer.getByText(`dig +short api.acme.${running().dev.zoneName} A`).waitFor();
    await drawer.getByText('created record set api.acme').first().waitFor();
    await expectAccessible(page);
    await drawer.getByRole('button', { name: 'Restore what was before' }).first().press('Enter');
    await drawer.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Review', exact: true }).press('Enter');
    await page.getByRole('dialog', { name: 'Review' }).getByText('192.0.2.1', { exact: true }).waitFor();
  });

  it('shows what a colleague changes, and plans several lines that are pasted', async () => {
    await sets.addApi();
    const page = await running().open('/teams/acme/dns/records');
    await rowOf(page, 'api.acme').getByText('192.0.2.1').waitFor();
    await sets.dns('POST', '/api.acme/A/actions/set_records', { records: [{ value: '192.0.2.2' }] });
    await rowOf(page, 'api.acme')
      .getByText(/^token .+, just now$/)
      .waitFor();
    await rowOf(page, 'api.acme').getByText('192.0.2.2').waitFor();

    await page.evaluate(() => navigator.clipboard.writeText('www.acme A 192.0.2.3\nmail.acme A 192.0.2.4'));
    await rowOf(page, 'api.acme').focus();
    await page.keyboard.press('Control+v');
    await page.getByText('Adds 2 record sets. Then 3 of 200 records are used.').waitFor();
  });

  it('says which ACME challenges nobody took away, and plans their removal', async () => {
    const add = (name: string) => sets.dns('POST', '', { name, type: 'TXT', records: [{ value: '"a-challenge"' }] });
    for (const name of ['_acme-challenge.old.acme', '_acme-challenge.new.acme']) await add(name);
    const page = await running().open('/teams/acme/dns/tokens');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.context().route('**/record-set-changes/', async (route) => {
      const answer = await route.fetch();
      const { items } = (await answer.json()) as { items: { name: string; changedAt: string }[] };
      for (const item of items) if (item.name.includes('.old.')) item.changedAt = '2026-01-01T00:00:00.000Z';
      await route.fulfill({ response: answer, json: { items } });
    });
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.getByText('1 ACME challenge older than a day.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Remove it' }).press('Enter');
    await rowOf(page, '_acme-challenge.old.acme').getByText('to be removed').waitFor();
    await page.getByRole('button', { name: 'Apply 1 change' }).press('Enter');
    await rowOf(page, '_acme-challenge.old.acme').waitFor({ state: 'detached' });
    await rowOf(page, '_acme-challenge.new.acme').waitFor();
  });
}
