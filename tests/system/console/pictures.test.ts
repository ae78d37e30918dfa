import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describeNeeding } from '@corral/testing';
import { launchBrowser } from '@corral/testing/browser';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { missingBrowser } from '../../support/console/browser.js';
import { differenceFrom } from '../../support/console/compare-pictures.js';

/*
 * The page of all components, see `apps/console/src/dev`, looks as it did. The data, the clock, the browser and its fonts are fixed.
 * After a change that is meant: CORRAL_WRITE_PICTURES=1 npm test -- tests console/pictures
 */

const root = fileURLToPath(new URL('../../../apps/console/', import.meta.url));
const ORIGIN = 'http://pictures.test';
const NOW = new Date('2026-11-29T12:00:00Z');
/** A few pixels at the edges of letters. */
const SHARE_MAX = 0.0005;

describeNeeding(describe, await missingBrowser(), 'all components', () => {
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

  it.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('look as they did, %s and %i pixels wide', async (colorScheme, width) => {
    const page = await browser.newPage({
      viewport: { width, height: 800 },
      colorScheme,
      reducedMotion: 'reduce',
      timezoneId: 'UTC',
      locale: 'en-GB',
    });
    await page.clock.setFixedTime(NOW);
    await page.route(`${ORIGIN}/**`, (route) =>
      route.fulfill({ path: join(folder, new URL(route.request().url()).pathname.replace('/console', '')) }),
    );
    await page.goto(`${ORIGIN}/console/components.html`);
    await page.getByRole('heading', { level: 1, name: 'Components' }).waitFor();
    await page.evaluate(() => document.fonts.ready);

    const file = fileURLToPath(new URL(`pictures/components-${colorScheme}-${width}.png`, import.meta.url));
    expect(await differenceFrom(page, file)).toBeLessThanOrEqual(SHARE_MAX);
    await page.close();
  });
});
