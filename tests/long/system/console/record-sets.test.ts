import { readFile } from 'node:fs/promises';
import { beforeEach, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { recordSetsBeside, rowOf } from '../../../support/console/record-sets-beside.js';
import { describeConsole, expectAccessible } from '../../../support/console/start-console.js';

describeConsole('for record sets and zone files, by keyboard alone,', (running) => {
  const sets = recordSetsBeside(running);

  beforeEach(() => sets.removeAll());

  it('plans several changes together, and keeps the plan over a reload and a change of another person', async () => {
    for (const name of ['a.acme', 'b.acme', 'c.acme']) {
      await sets.dns('POST', '', { name, type: 'TXT', records: [{ value: '"x"' }] });
    }
    await sets.addApi();
    const page = await running().open('/teams/acme/dns/records?filter=.acme&type=TXT', { theme: 'dark' });
    await rowOf(page, 'c.acme').waitFor();
    await page.getByText('3 of 4', { exact: true }).waitFor();
    await rowOf(page, 'a.acme').focus();
    await page.keyboard.press('Space');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Space');
    await page.keyboard.press('End');
    await page.keyboard.press('Space');
    await page.getByLabel('TTL in seconds for the selected sets').fill('600');
    await page.getByRole('button', { name: 'Change TTL' }).press('Enter');
    await page.reload();
    await sets.dns('POST', '/b.acme/TXT/actions/set_records', { records: [{ value: '"y"' }] });
    await rowOf(page, 'b.acme').getByText('"y"').waitFor();
    await page.getByRole('button', { name: 'Review', exact: true }).press('Enter');
    const review = page.getByRole('dialog', { name: 'Review' });
    await review.getByText('Changes 3 record sets.').waitFor();
    await expectAccessible(page);
    await review.getByRole('button', { name: 'Apply 3 changes' }).press('Enter');
    await page.getByRole('region', { name: 'Changes' }).getByText('3 record sets changed').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Close' }).press('Enter');
    await rowOf(page, 'b.acme').getByText('10 min').waitFor();
    expect(await sets.setAt('/b.acme/TXT')).toMatchObject({ rrset: { ttl: 600, records: [{ value: '"y"' }] } });
    await page.locator(':focus').waitFor();
    await page.getByRole('button', { name: 'Clear filter' }).press('Enter');
    await rowOf(page, 'api.acme').waitFor();
  });

  const cloud = async (method: string, path: string, body?: unknown) => {
    const { adminUrl } = running().dev.upstream;
    const json = { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
    const response = await fetch(`${adminUrl}/admin${path}`, { method, ...(body === undefined ? {} : json) });
    expect(response.ok).toBe(true);
  };
  const paste = (page: Page, text: string) => page.getByLabel('Zone file', { exact: true }).fill(text);
  const records = Array.from({ length: 20 }, (_, n) => `n${n}.acme 300 IN A 192.0.2.${n} ; number ${n}`);
  /** The export of the page, without its columns. */
  async function exported(page: Page): Promise<string[]> {
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Zone file', exact: true }).press('Enter'),
    ]);
    const lines = (await readFile(await file.path(), 'utf8')).trimEnd().split('\n');
    return lines.map((line) => line.replace(/ +/g, ' '));
  }

  it('plans a pasted file, applies it through a restart of the API and a reload, and exports the same', async () => {
    const page = await running().open('/teams/acme/dns/zone-file', { theme: 'dark' });
    await paste(page, [...records, 'ns.globex A 192.0.2.9', 'b.acme TXT "open'].join('\n'));
    await page.getByText('Adds 20 record sets. 1 cannot be written. Then 20 of 200 records are used.').waitFor();
    await page.getByText('Line 22: A quote is not closed.').waitFor();
    await page
      .getByRole('listitem')
      .filter({ hasText: 'ns.globex A line 21' })
      .getByText('does not belong to you')
      .waitFor();
    await expectAccessible(page);

    // Slow enough for the restart to come in the middle, however fast the machine is.
    await cloud('POST', '/faults', {
      match: { api: 'hcloud', method: 'POST' },
      effect: { delayMs: 1_000 },
      times: null,
    });
    await page.getByRole('button', { name: 'Apply 20 changes' }).press('Enter');
    const progress = page.getByRole('region', { name: 'Progress' });
    await progress.getByText(/^[1-9]\d? of 20 changes applied/).waitFor();
    await running().restartGateway();
    await cloud('DELETE', '/faults');
    await page.reload();
    await page.getByRole('button', { name: /^Resume \d+ sets$/ }).press('Enter');
    await progress.getByText('20 record sets added').waitFor();
    await expectAccessible(page);

    await page.getByRole('button', { name: 'Close' }).press('Enter');
    await page.getByText('Nothing changes. 1 cannot be written. 20 are as wanted already.').waitFor();
    const lines = await exported(page);
    expect(lines.slice(0, 2)).toEqual(['$ORIGIN example.test.', '$TTL 3600']);
    expect(lines.filter((line) => /^n\d/.test(line))).toEqual(records.toSorted());
    expect(lines).toHaveLength(2 + 20);
  });

  it('saves a set beside a plan that is paused, and leaves the rest of the plan', async () => {
    const names = Array.from('abcdefgh', (letter) => `${letter}.acme`);
    for (const name of names) await sets.dns('POST', '', { name, type: 'TXT', records: [{ value: '"x"' }] });
    await sets.addApi();
    const page = await running().open('/teams/acme/dns/records?filter=.acme');
    for (const name of names) {
      await rowOf(page, name).focus();
      await page.keyboard.press('Space');
    }
    await page.getByLabel('TTL in seconds for the selected sets').fill('600');
    await page.getByRole('button', { name: 'Change TTL' }).press('Enter');
    await cloud('POST', '/faults', {
      match: { api: 'hcloud', method: 'POST' },
      effect: { delayMs: 1_000 },
      times: null,
    });
    await page.getByRole('button', { name: 'Apply 8 changes' }).press('Enter');
    await page.getByRole('button', { name: 'Pause' }).press('Enter');
    const resume = page.getByRole('button', { name: /^Resume \d sets?$/ });
    await resume.waitFor();
    await cloud('DELETE', '/faults');

    await rowOf(page, 'api.acme').focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Value 1').fill('192.0.2.77');
    await page.getByLabel('Value 1').press('Enter');
    await rowOf(page, 'api.acme').getByText('192.0.2.77').waitFor();
    await resume.press('Enter');
    await page.getByRole('region', { name: 'Changes' }).getByText('8 record sets changed').waitFor();
    for (const name of names) expect(await sets.setAt(`/${name}/TXT`)).toMatchObject({ rrset: { ttl: 600 } });
  });

  it('replaces sets by a CNAME, removes what the file lacks, and undoes it by a plan', async () => {
    const page = await running().open('/teams/globex/dns/zone-file', {
      sessionid: running().dev.teams[1]?.admin.sessionid ?? null,
    });
    await paste(page, 'api.globex A 192.0.2.1\napi.globex TXT "x"\nold.globex A 192.0.2.2');
    await page.getByRole('button', { name: 'Apply 3 changes' }).press('Enter');
    await page.getByRole('region', { name: 'Progress' }).getByText('3 record sets added').waitFor();
    await page.getByRole('button', { name: 'Close' }).press('Enter');

    await paste(page, 'api.globex CNAME example.org.');
    await page.getByText('A CNAME stands alone, but api.globex would have A and TXT records too.').waitFor();
    await page.getByLabel('Also remove 3 sets that the file lacks').press('Space');
    await page.getByText('Adds 1 record set and removes 3. Then 1 of 200 records are used.').waitFor();
    await page.getByRole('button', { name: 'Apply 4 changes' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Remove most of the record sets' });
    await dialog.getByText('This removes 3 of 3 record sets.').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Apply' }).press('Enter');
    await dialog.getByText('This is not 3.').waitFor();
    await dialog.getByLabel('Type 3 to confirm').fill('3');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Progress' }).getByText('4 changes applied').waitFor();

    await page.getByRole('button', { name: 'Undo these changes' }).press('Enter');
    await page.getByRole('heading', { name: 'Undo these changes' }).waitFor();
    await page.getByText('Adds 3 record sets and removes 1. Then 3 of 200 records are used.').waitFor();
    await page.getByRole('button', { name: 'Apply 4 changes' }).press('Enter');
    await page.getByRole('region', { name: 'Progress' }).getByText('4 changes applied').waitFor();
  });

  it('plans the export of another provider, and says what it leaves out', async () => {
    const page = await running().open('/teams/acme/dns/zone-file');
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
  });
});
