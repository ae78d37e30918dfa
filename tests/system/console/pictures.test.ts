import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describeNeeding, waitFor } from '@corral/testing';
import { launchBrowser } from '@corral/testing/browser';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { missingBrowser } from '../../support/console/browser.js';
import { differenceFrom } from '../../support/console/compare-pictures.js';
import {
  type FixedSet,
  ORIGIN,
  openFixed,
  openFixedConsole,
  untilLoaded,
} from '../../support/console/fixed-console.js';
import { expectAccessible } from '../../support/console/start-console.js';

/*
 * The page of all components, see `apps/console/src/dev`, and whole pages with the examples of both APIs look as they did. The data, the
 * clock, the browser and its fonts are fixed. After a change that is meant: CORRAL_WRITE_PICTURES=1 npm test -- tests console/pictures
 */

const root = fileURLToPath(new URL('../../../apps/console/', import.meta.url));
const NOW = new Date('2026-11-29T12:00:00Z');
/** A few pixels at the edges of letters. */
const SHARE_MAX = 0.0005;

const sets: readonly FixedSet[] = [
  ['acme', 'A', ['192.0.2.10', '192.0.2.11'], 300, { env: 'prod' }],
  ['acme', 'TXT', ['"v=spf1 include:mail.example -all"'], null, {}],
  ['api.acme', 'CNAME', ['web.acme'], 300, { env: 'prod' }],
  ['a-name-of-the-longest-length-that-a-label-may-have-in-the-dns-x.acme', 'A', ['192.0.2.40'], null, {}],
  ['grafana.acme', 'A', ['192.0.2.21'], 60, { env: 'prod', team: 'platform', owner: 'ada' }],
  ['key._domainkey.acme', 'TXT', [`"v=DKIM1; p=${'MIIBIjANBgkqh'.repeat(18)}"`], null, {}],
  ['pool.acme', 'A', Array.from({ length: 20 }, (_, at) => `198.51.100.${at + 1}`), 60, {}],
  ['www.acme', 'AAAA', ['2001:db8:10::53'], 86_400, {}],
];
const manySets: readonly FixedSet[] = Array.from({ length: 150 }, (_, at) => [
  `node-${at}.acme`,
  'A',
  [`203.0.113.${at}`],
  null,
  { env: 'prod' },
]);

describeNeeding(describe, await missingBrowser(), 'without an installation', () => {
  let folder: string;
  let browser: Browser;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corral-components-'));
    const vite = join(createRequire(join(root, 'package.json')).resolve('vite/package.json'), '../bin/vite.js');
    const args = [vite, 'build', '--mode', 'components', '--outDir', folder, '--logLevel', 'error'];
    [browser] = await Promise.all([launchBrowser(), promisify(execFile)(process.execPath, args, { cwd: root })]);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  const differenceOf = async (page: Page, name: string): Promise<number> => {
    await page.evaluate(() => document.fonts.ready);
    const share = await differenceFrom(page, fileURLToPath(new URL(`pictures/${name}.png`, import.meta.url)));
    await page.close();
    return share;
  };

  it.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('all components look as they did, %s and %i pixels wide', async (colorScheme, width) => {
    const page = await openFixed(browser, NOW, { colorScheme, width });
    await page.route(`${ORIGIN}/**`, (route) =>
      route.fulfill({ path: join(folder, new URL(route.request().url()).pathname.replace('/console', '')) }),
    );
    await page.goto(`${ORIGIN}/console/components.html`);
    await page.getByRole('heading', { level: 1, name: 'Components' }).waitFor();
    expect(await differenceOf(page, `components-${colorScheme}-${width}`)).toBeLessThanOrEqual(SHARE_MAX);
  });

  it.each([
    ['home', '', 'light'],
    ['home', '', 'dark'],
    ['record-sets', '/dns/records', 'light'],
    ['record-sets', '/dns/records', 'dark'],
    ['cluster', '/clusters/web', 'light'],
    ['cluster', '/clusters/web', 'dark'],
  ] as const)('the page %s at "%s" looks as it did, %s', async (name, path, colorScheme) => {
    const page = await openFixedConsole(browser, path, sets, { colorScheme });
    await expectAccessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBe(0);
    expect(await differenceOf(page, `${name}-${colorScheme}`)).toBeLessThanOrEqual(SHARE_MAX);
  });

  it('the list shows at least 20 of 150 record sets at once, and needs no more than 10,000 pixels for them on a phone', async () => {
    const page = await openFixedConsole(browser, '/dns/records', manySets);
    const whole = await page.evaluate(
      () =>
        [...document.querySelectorAll('tbody tr')].filter((row) => {
          const { top, bottom } = row.getBoundingClientRect();
          return top >= 0 && bottom <= window.innerHeight;
        }).length,
    );
    expect(whole).toBeGreaterThanOrEqual(20);
    await page.setViewportSize({ width: 390, height: 800 });
    await waitFor('a list of two lines each', async () => {
      const height = await page.evaluate(() => document.documentElement.scrollHeight);
      return height > 6_000 && height <= 10_000;
    });
    await page.close();
  });

  /* The time of the processor counts, which does not depend on what else runs. */
  it.each([
    ['home', '', 1_000],
    ['150 record sets', '/dns/records', 1_500],
  ] as const)('a processor that is four times slower shows %s in time', async (_, path, msMax) => {
    const page = await openFixedConsole(browser, path, manySets);
    const protocol = await page.context().newCDPSession(page);
    await protocol.send('Performance.enable', { timeDomain: 'threadTicks' });
    const usedMs = async (): Promise<number> => {
      const { metrics } = await protocol.send('Performance.getMetrics');
      return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1_000;
    };
    // The first loads fill caches, and compile.
    await waitFor(`a load of at most ${msMax} ms`, async () => {
      const before = await usedMs();
      await page.reload();
      await untilLoaded(page);
      return 4 * ((await usedMs()) - before) <= msMax;
    });
    await page.close();
  });
});
