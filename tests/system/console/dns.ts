import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import { recordSetsBeside, rowOf } from '../../support/console/record-sets-beside.js';
import { closePage, expectAccessible, type RunningConsole } from '../../support/console/start-console.js';

/** Record sets and a zone file of the first team, by keyboard alone. Each test begins without record sets. */
export function testDns(started: () => RunningConsole): void {
  let running: RunningConsole;
  let sets: ReturnType<typeof recordSetsBeside>;
  beforeAll(() => {
    running = started();
    sets = recordSetsBeside(running);
  });

  beforeEach(() => sets.removeAll());

  it('adds, changes in place, clones and removes a set, with its problems while typing', async () => {
    const page = await running.open('/teams/acme/dns/records');
    await page.getByText('No record sets yet. Names end in acme.').waitFor();
    await page.keyboard.press('n');
    const name = page.getByLabel('Name', { exact: true });
    await name.fill(`www.globex.${running.dev.zoneName}`);
    await page.getByLabel('Value 1').fill('192.0.2');
    await page.getByText('The name does not belong to you.').waitFor();
    await page.getByText('"192.0.2" is not an IPv4 address.').waitFor();
    await page.keyboard.press('Enter');
    await page.locator('[aria-invalid="true"]:focus').waitFor();
    expect(await page.locator('[aria-invalid="true"]').count()).toBe(2);
    await name.fill('www');
    await page.getByText(`.acme.${running.dev.zoneName}`, { exact: true }).waitFor();
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
    await closePage(page);
  });

  it('keeps an editor open that was opened before the answer of the last save', async () => {
    const page = await running.open('/teams/acme/dns/records');
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
    await closePage(page);
  });

  it('keeps what was typed when a save is refused, and the row under the pointer when it succeeds', async () => {
    for (let at = 1; at <= 20; at += 1) {
      await sets.dns('POST', '', { name: `n${at}.acme`, type: 'A', records: [{ value: `192.0.2.${at}` }] });
    }
    const page = await running.open('/teams/acme/dns/records', { width: 390 });
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
    await closePage(page);
  });

  it('keeps what was typed in a set that a filter hides or somebody else removes, and the keys of the list', async () => {
    for (const name of ['api.acme', 'www.acme']) {
      await sets.dns('POST', '', { name, type: 'A', records: [{ value: '192.0.2.1' }] });
    }
    const page = await running.open('/teams/acme/dns/records');
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
    await closePage(page);
  });

  it('asks before lines that are pasted replace a zone file that was typed', async () => {
    const page = await running.open('/teams/acme/dns/zone-file');
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
    await closePage(page);
  });

  it('selects ranges and all of a long list, and moves nothing under the pointer', async () => {
    for (let at = 1; at <= 40; at += 1) {
      await sets.dns('POST', '', { name: `n${at}.acme`, type: 'A', records: [{ value: `192.0.2.${at}` }] });
    }
    const page = await running.open('/teams/acme/dns/records');
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
    await closePage(page);
  });

  it('has only the rows near the window in the page, of any number', async () => {
    await sets.addApi();
    const page = await running.open('/teams/acme', { width: 390 });
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
    await closePage(page);
  });

  it('splits a long text into quoted strings', async () => {
    const page = await running.open('/teams/acme/dns/records');
    await page.getByRole('button', { name: 'Add record set' }).click();
    await page.getByLabel('Name', { exact: true }).fill('key');
    await page.getByRole('group', { name: 'New record set' }).getByLabel('Type').selectOption('TXT');
    await page.getByLabel('Value 1').fill('x'.repeat(300));
    await page.getByRole('button', { name: 'Save' }).click();
    await rowOf(page, 'key.acme').waitFor();
    expect(await sets.setAt('/key.acme/TXT')).toMatchObject({
      rrset: { records: [{ value: `"${'x'.repeat(255)}" "${'x'.repeat(45)}"` }] },
    });
    await closePage(page);
  });

  it('opens a set at an address of its own, and plans what it was before', async () => {
    await sets.addApi();
    await sets.dns('POST', '/api.acme/A/actions/set_records', { records: [{ value: '192.0.2.2' }] });
    const page = await running.open('/teams/acme/dns/records?type=A', { width: 390 });
    await page.getByRole('link', { name: 'api.acme' }).press('Enter');
    await page.waitForURL(/\/dns\/records\/api\.acme\/A\?type=A$/);
    const drawer = page.getByRole('dialog', { name: `api.acme.${running.dev.zoneName} A` });
    await drawer.getByText(`dig +short api.acme.${running.dev.zoneName} A`).waitFor();
    await drawer.getByText('create_rrset').or(page.getByText('create')).first().waitFor();
    await expectAccessible(page);
    await drawer.getByRole('button', { name: 'Restore what was before' }).first().press('Enter');
    await drawer.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Review', exact: true }).press('Enter');
    await page.getByRole('dialog', { name: 'Review' }).getByText('192.0.2.1', { exact: true }).waitFor();
    await closePage(page);
  });

  it('shows what a colleague changes, and plans several lines that are pasted', async () => {
    await sets.addApi();
    const page = await running.open('/teams/acme/dns/records');
    await rowOf(page, 'api.acme').getByText('192.0.2.1').waitFor();
    await sets.dns('POST', '/api.acme/A/actions/set_records', { records: [{ value: '192.0.2.2' }] });
    await rowOf(page, 'api.acme').getByText('changed just now').waitFor();
    await rowOf(page, 'api.acme').getByText('192.0.2.2').waitFor();

    await page.evaluate(() => navigator.clipboard.writeText('www.acme A 192.0.2.3\nmail.acme A 192.0.2.4'));
    await rowOf(page, 'api.acme').focus();
    await page.keyboard.press('Control+v');
    await page.getByText('Adds 2 record sets. Then 3 of 200 records are used.').waitFor();
    await closePage(page);
  });

  it('plans the export of another provider, and says what it leaves out', async () => {
    const page = await running.open('/teams/acme/dns/zone-file');
    const lines = [
      '@ 3600 IN SOA ns1 hostmaster ( 1 2 3 4 5 )',
      '@ 3600 IN NS ns1',
      '@ 1 IN MX 10 mx',
      'www 1 IN A 192.0.2.58 ; cf_tags=cf-proxied:true',
      'mail._domainkey IN TXT ( "v=DKIM1; k=rsa; " "p=AAAA" )',
    ];
    const upload = (text: string, encoding: BufferEncoding) =>
      page.locator('input[type=file]').setInputFiles({
        name: 'export.txt',
        mimeType: 'text/plain',
        buffer: Buffer.from(text, encoding),
      });
    await upload(`${lines.join('\r\n')}\r\nx TXT "caf\u00e9"`, 'latin1');
    await page.getByText('Line 6 of export.txt is not UTF-8. Save the file as UTF-8, or paste its text.').waitFor();

    await upload(lines.join('\r\n'), 'utf8');
    await page.getByText('Adds 2 record sets. Then 2 of 200 records are used.').waitFor();
    await page.getByText('Names without a final dot are read as names below acme.example.test.').waitFor();
    await page.getByText('SOA and NS of acme.example.test are left out: the zone has its own.').waitFor();
    await page.getByText('Left out, because the API does not write these types: 1 MX.').waitFor();
    await page.getByText('TTL 1 means automatic: 2 records get the default of the zone.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Apply 2 changes' }).press('Enter');
    await page.getByRole('region', { name: 'Progress' }).getByText('2 record sets added').waitFor();
    await page.getByText('Nothing changes. 2 are as wanted already.').waitFor();
    await page.getByRole('heading', { name: 'Export' }).waitFor();
    expect(await sets.setAt('/www.acme/A')).toMatchObject({
      rrset: { ttl: null, records: [{ value: '192.0.2.58', comment: '' }] },
    });
    await closePage(page);
  });
}
