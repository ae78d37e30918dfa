import { readFile } from 'node:fs/promises';
import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { missingBrowser } from '../../support/console/browser.js';
import { closePage, expectAccessible, type RunningConsole, startConsole } from '../../support/console/start-console.js';

const missing = await missingBrowser();

describeNeeding(describe, missing, 'the zone file page', () => {
  let running: RunningConsole;
  beforeAll(async () => {
    running = await startConsole();
  });
  afterAll(() => running?.stop());

  const paste = (page: Page, text: string) => page.getByLabel('Zone file', { exact: true }).fill(text);
  const records = Array.from({ length: 40 }, (_, n) => `n${n}.acme 300 IN A 192.0.2.${n} ; number ${n}`);
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
    const page = await running.open('/teams/acme/dns/zone-file', { theme: 'dark' });
    await paste(page, [...records, 'ns.globex A 192.0.2.9', 'b.acme TXT "open'].join('\n'));
    await page.getByText('+40 ~0 −0, 1 refused, 0 the same; then 40 of 200 records').waitFor();
    await page.getByText('line 42 A quote is not closed.').waitFor();
    await page
      .getByRole('listitem')
      .filter({ hasText: 'ns.globex A line 41' })
      .getByText('does not belong to you')
      .waitFor();
    await expectAccessible(page);

    await page.getByRole('button', { name: 'Apply 40 changes' }).press('Enter');
    const progress = page.getByRole('region', { name: 'Progress' });
    await progress.getByText(/^([1-9]|[12]\d) of 40 written/).waitFor();
    await running.restartGateway();
    await page.reload();
    await page.getByRole('button', { name: /^Resume \d+ sets$/ }).press('Enter');
    await progress.getByRole('heading', { name: '40 of 40 written' }).waitFor();
    await expectAccessible(page);

    await page.getByRole('button', { name: 'Close' }).press('Enter');
    await page.getByText('+0 ~0 −0, 1 refused, 40 the same').waitFor();
    expect(await exported(page)).toEqual(['$ORIGIN example.test.', '$TTL 3600', ...records.toSorted()]);
    await closePage(page);
  });

  it('replaces sets by a CNAME, removes what the file lacks, and plans the way back', async () => {
    const page = await running.open('/teams/globex/dns/zone-file', {
      sessionid: running.dev.teams[1]?.admin.sessionid ?? null,
    });
    await paste(page, 'api.globex A 192.0.2.1\napi.globex TXT "x"\nold.globex A 192.0.2.2');
    await page.getByRole('button', { name: 'Apply 3 changes' }).press('Enter');
    await page.getByRole('heading', { name: '3 of 3 written' }).waitFor();
    await page.getByRole('button', { name: 'Close' }).press('Enter');

    await paste(page, 'api.globex CNAME example.org.');
    await page.getByText('A CNAME stands alone, but api.globex would have A and TXT records too.').waitFor();
    await page.getByLabel('Also remove 3 sets that the file lacks').press('Space');
    await page.getByText('+1 ~0 −3, 0 refused, 0 the same; then 1 of 200 records').waitFor();
    await page.getByRole('button', { name: 'Apply 4 changes' }).press('Enter');
    await page.getByRole('heading', { name: '4 of 4 written' }).waitFor();

    await page.getByRole('button', { name: 'Plan the way back' }).press('Enter');
    await page.getByRole('heading', { name: 'The way back' }).waitFor();
    await page.getByText('+3 ~0 −1, 0 refused, 0 the same; then 3 of 200 records').waitFor();
    await page.getByRole('button', { name: 'Apply 4 changes' }).press('Enter');
    await page.getByRole('heading', { name: '4 of 4 written' }).waitFor();
    await closePage(page);
  });

  it('complains about nothing on the console of the browser', () => {
    expect(running.complaints()).toEqual([]);
  });
});
