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
    await page.getByLabel('Name', { exact: true }).fill('www.globex');
    await page.getByLabel('Value 1').fill('192.0.2');
    await page.getByText('The name does not belong to you.').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('www.acme');
    await page.getByText('"192.0.2" is not an IPv4 address.').waitFor();
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
    await rowOf(page, 'www.acme').getByText('300 s').waitFor();
    await page.locator(':focus').waitFor();
    expect(await sets.setAt('/www.acme/A')).toMatchObject({
      rrset: { ttl: 300, records: [{ value: '192.0.2.8', comment: 'web' }] },
    });

    await rowOf(page, 'www.acme').focus();
    await page.keyboard.press('F2');
    await page.keyboard.press('Escape');
    await page.locator('tr:focus').waitFor();
    await page.getByRole('button', { name: 'Clone www.acme A' }).press('Enter');
    await page.getByLabel('Name', { exact: true }).fill('api.acme');
    await page.keyboard.press('Enter');
    await rowOf(page, 'api.acme').waitFor();

    await rowOf(page, 'www.acme').focus();
    await page.keyboard.press('Delete');
    await rowOf(page, 'www.acme').getByText('to be removed').waitFor();
    await page.getByRole('button', { name: 'Review', exact: true }).press('Enter');
    await page.getByText('+0 ~0 −1, 0 refused, 0 the same; then 1 of 200 records').waitFor();
    await page.getByRole('button', { name: 'Apply 1 change' }).press('Enter');
    await rowOf(page, 'www.acme').waitFor({ state: 'detached' });
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
    for (let at = 1; at <= 8; at += 1) {
      await sets.dns('POST', '', { name: `n${at}.acme`, type: 'A', records: [{ value: `192.0.2.${at}` }] });
    }
    const page = await running.open('/teams/acme/dns/records', { width: 390 });
    const edit = page.getByRole('button', { name: 'Edit n7.acme A' });
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
    await rowOf(page, 'n7.acme').getByText('192.0.2.99').waitFor();
    await page.locator('tr:focus', { hasText: 'n7.acme' }).waitFor();
    expect(await page.evaluate(() => window.scrollY)).toBeGreaterThan(0);
    await closePage(page);
  });

  it('splits a long text into quoted strings', async () => {
    const page = await running.open('/teams/acme/dns/records');
    await page.getByRole('button', { name: 'Add record set' }).click();
    await page.getByLabel('Name', { exact: true }).fill('key.acme');
    await page.getByLabel('Type').first().selectOption('TXT');
    await page.getByLabel('Value 1').fill('x'.repeat(300));
    await page.getByRole('button', { name: 'Save' }).click();
    await rowOf(page, 'key.acme').waitFor();
    expect(await sets.setAt('/key.acme/TXT')).toMatchObject({
      rrset: { records: [{ value: `"${'x'.repeat(255)}" "${'x'.repeat(45)}"` }] },
    });
    await closePage(page);
  });

  it('shows a set with its history, and works at 390 pixels', async () => {
    await sets.addApi();
    const page = await running.open('/teams/acme/dns/records', { width: 390 });
    await page.getByRole('link', { name: 'api.acme' }).press('Enter');
    await page.getByRole('heading', { level: 1, name: 'api.acme A' }).waitFor();
    await page.getByText('create_rrset').or(page.getByText('create')).first().waitFor();
    await expectAccessible(page);
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
    await page.getByText('+2 ~0 −0, 0 refused, 0 the same; then 2 of 200 records').waitFor();
    await page.getByText('Names without a final dot are read as names below acme.example.test.').waitFor();
    await page.getByText('SOA and NS of acme.example.test are left out: the zone has its own.').waitFor();
    await page.getByText('Left out, because the API does not write these types: 1 MX.').waitFor();
    await page.getByText('TTL 1 means automatic: 2 records get the default of the zone.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Apply 2 changes' }).press('Enter');
    await page.getByRole('heading', { name: '2 of 2 written' }).waitFor();
    expect(await sets.setAt('/www.acme/A')).toMatchObject({
      rrset: { ttl: null, records: [{ value: '192.0.2.58', comment: '' }] },
    });
    await closePage(page);
  });
}
