import { beforeEach, expect, it } from '@jest/globals';
import { recordSetsBeside, rowOf } from '../../../support/console/record-sets-beside.js';
import { describeConsole, expectAccessible } from '../../../support/console/start-console.js';

describeConsole('in its list of record sets', (running) => {
  const sets = recordSetsBeside(running);

  beforeEach(() => sets.removeAll());

  it('keeps an editor open that was opened before the answer of the last save', async () => {
    const page = await running().open('/teams/acme/dns/records');
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/rrsets', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      const response = await route.fetch();
      await answered;
      await route.fulfill({ response });
    });
    await page.getByRole('button', { name: 'Add record set' }).click();
    await page.getByLabel('Name', { exact: true }).fill('www.acme');
    await page.getByLabel('Value 1').fill('192.0.2.7');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Edit www.acme A' }).click();
    await page.getByLabel('Value 1').fill('192.0.2.8');
    const readAgain = page.waitForResponse((response) => response.request().method() === 'GET');
    answer();
    await readAgain;
    await page.getByLabel('Value 1').press('Enter');
    await rowOf(page, 'www.acme').getByText('192.0.2.8').waitFor();
    expect(await sets.setAt('/www.acme/A')).toMatchObject({ rrset: { records: [{ value: '192.0.2.8' }] } });
  });

  it('keeps what was typed when a save is refused, and the row under the pointer when it succeeds', async () => {
    for (let at = 1; at <= 20; at += 1) {
      await sets.dns('POST', '', { name: `n${at}.acme`, type: 'A', records: [{ value: `192.0.2.${at}` }] });
    }
    const page = await running().open('/teams/acme/dns/records', { width: 390 });
    const edit = page.getByRole('button', { name: 'Edit n17.acme A' });
    await edit.scrollIntoViewIfNeeded();
    await edit.click();
    await page.getByLabel('Value 1').fill('192.0.2.99');
    await page.getByLabel('Labels').fill('-env=prod');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('Not saved.').waitFor();
    expect(await page.getByLabel('Value 1').inputValue()).toBe('192.0.2.99');
    await expectAccessible(page);

    await page.getByLabel('Labels').fill('env=prod');
    const scrolled = await page.evaluate(() => window.scrollY);
    expect(scrolled).toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Save' }).click();
    await rowOf(page, 'n17.acme').getByText('192.0.2.99').waitFor();
    await page.locator('tr:focus', { hasText: 'n17.acme' }).waitFor();
    expect(await page.evaluate(() => window.scrollY)).toBeGreaterThan(0);
  });

  it('keeps what was typed in a set that a filter hides or somebody else removes, and the keys of the list', async () => {
    for (const name of ['api.acme', 'www.acme']) {
      await sets.dns('POST', '', { name, type: 'A', records: [{ value: '192.0.2.1' }] });
    }
    const page = await running().open('/teams/acme/dns/records');
    await page.getByRole('button', { name: 'Edit www.acme A' }).click();
    await page.getByLabel('Value 1').fill('192.0.2.99');
    await page.getByLabel('Filter by name').fill('api');
    await rowOf(page, 'api.acme').waitFor();
    expect(await page.getByLabel('Value 1').inputValue()).toBe('192.0.2.99');

    await sets.dns('DELETE', '/www.acme/A');
    await page.getByText('www.acme A was changed after you began, and this replaces that change.').waitFor();
    expect(await page.getByLabel('Value 1').inputValue()).toBe('192.0.2.99');
    await rowOf(page, 'api.acme').focus();
    await page.keyboard.press('Enter');
    const question = page.getByRole('dialog', { name: 'Discard your changes to www.acme A?' });
    await expectAccessible(page);
    await question.getByRole('button', { name: 'Keep editing' }).press('Enter');
    await question.waitFor({ state: 'detached' });
    expect(await page.getByLabel('Value 1').inputValue()).toBe('192.0.2.99');
    await page.getByRole('button', { name: 'Add record set' }).press('Enter');
    await question.getByRole('button', { name: 'Discard' }).press('Enter');
    await page.getByLabel('Name', { exact: true }).and(page.locator(':focus')).waitFor();

    await page.getByRole('button', { name: 'Clone api.acme A' }).press('Enter');
    await page.getByLabel('Name', { exact: true }).fill('copy');
    await page.getByRole('button', { name: 'Edit api.acme A' }).press('Enter');
    await page.getByRole('dialog', { name: 'Discard the new record set?' }).press('Escape');
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('copy');
  });

  it('asks before lines that are pasted replace a zone file that was typed', async () => {
    const page = await running().open('/teams/acme/dns/zone-file');
    await page.getByLabel('Zone file').fill('www A 192.0.2.1');
    await page.getByRole('link', { name: 'Record sets' }).press('Enter');
    await page.getByText('No record sets yet.').waitFor();
    await page.evaluate(() => navigator.clipboard.writeText('www.acme A 192.0.2.3\nmail.acme A 192.0.2.4'));
    await page.keyboard.press('Control+v');
    const question = page.getByRole('dialog', { name: 'Discard the zone file that you typed?' });
    await question.getByRole('button', { name: 'Keep editing' }).press('Enter');
    await question.waitFor({ state: 'detached' });
    await page.keyboard.press('Control+v');
    await question.getByRole('button', { name: 'Discard' }).press('Enter');
    await page.getByText('Adds 2 record sets.').waitFor();
  });

  it('selects ranges and all of a long list, and moves nothing under the pointer', async () => {
    for (let at = 1; at <= 40; at += 1) {
      await sets.dns('POST', '', { name: `n${at}.acme`, type: 'A', records: [{ value: `192.0.2.${at}` }] });
    }
    const page = await running().open('/teams/acme/dns/records');
    await rowOf(page, 'n1.acme').waitFor();
    const grid = page.getByRole('grid');
    expect(await grid.getAttribute('aria-rowcount')).toBe('41');
    const [body, bar] = await Promise.all([
      grid.locator('tbody').boundingBox(),
      page.getByRole('region', { name: 'Changes' }).boundingBox(),
    ]);
    expect(Math.floor(((bar?.y ?? 0) - (body?.y ?? 0)) / 32)).toBeGreaterThanOrEqual(20);

    const tick = (name: string) => page.getByRole('checkbox', { name: `Select ${name}.acme A` });
    const before = await tick('n3').boundingBox();
    await tick('n3').click();
    await tick('n9').click({ modifiers: ['Shift'] });
    await page.getByText('7 selected').waitFor();
    expect(await tick('n3').boundingBox()).toEqual(before);
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Shift+ArrowDown');
    await page.getByText('8 selected').waitFor();
    await page.keyboard.press('End');
    await rowOf(page, 'n40.acme').and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Home');
    await page.getByRole('checkbox', { name: 'Select all' }).click();
    await page.getByText('40 selected').waitFor();
    await page.getByRole('button', { name: 'Clear selection' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('40 record sets. 40 of 200 records are used.').waitFor();
    expect(await page.evaluate(() => window.scrollY)).toBe(0);
    await page.getByRole('button', { name: 'Name' }).click();
    await page.getByRole('row').nth(1).getByText('n40.acme').waitFor();
    await expectAccessible(page);
  });

  it('has only the rows near the window in the page, of any number', async () => {
    await sets.addApi();
    const page = await running().open('/teams/acme', { width: 390 });
    await page.route(/\/rrsets(\?|$)/, async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      const rrsets = Array.from({ length: 2_000 }, (_, at) => {
        const name = `n${at}.acme`;
        return { ...json.rrsets[0], id: `${name}/A`, name };
      });
      await route.fulfill({ response, json: { ...json, rrsets } });
    });
    await page.goto(`${page.url()}/dns/records`);
    await rowOf(page, 'n0.acme').focus();
    await page.keyboard.press('End');
    await rowOf(page, 'n1999.acme').and(page.locator(':focus')).waitFor();
    expect(await page.getByRole('row').count()).toBeLessThan(60);
    expect(await page.evaluate(() => document.documentElement.scrollHeight / 2_000)).toBeLessThan(10_000 / 148);
    await expectAccessible(page);
  });
});
