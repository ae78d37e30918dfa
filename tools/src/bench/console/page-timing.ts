/// <reference lib="dom" />

import type { BrowserContext, Page } from 'playwright-core';

/** As slow as a cheap laptop or phone. */
const CPU_SLOWDOWN = 4;
const SETTLED_MS = 600;
/** Slow is a result; only a page that never shows its data is a failure. */
const LOAD_MS_MAX = 180_000;

export interface PageLoad {
  /** From the navigation to the first paint of any content, in ms. */
  readonly firstContentMs: number;
  /** From the navigation to the first frame that has the data, in ms. */
  readonly dataMs: number;
}

/** @param dataSelector matches once the data is shown */
export async function timeLoad(context: BrowserContext, url: string, dataSelector: string): Promise<PageLoad> {
  const page = await context.newPage();
  await slowDown(page);
  await page.addInitScript((selector) => {
    const watcher = new MutationObserver(() => {
      if (document.querySelector(selector) === null) return;
      watcher.disconnect();
      requestAnimationFrame(() => performance.mark('data'));
    });
    watcher.observe(document, { childList: true, subtree: true });
  }, dataSelector);
  await page.goto(url);
  await page.waitForFunction(
    () =>
      performance.getEntriesByName('data').length > 0 &&
      performance.getEntriesByName('first-contentful-paint').length > 0,
    undefined,
    { timeout: LOAD_MS_MAX },
  );
  const load = await page.evaluate(() => {
    const at = (name: string) => performance.getEntriesByName(name)[0]?.startTime ?? Number.NaN;
    return { firstContentMs: at('first-contentful-paint'), dataMs: at('data') };
  });
  await page.close();
  return load;
}

/**
 * Types a text key by key into the filter of a list.
 *
 * @returns for each key the time from its input to the frame that shows the last change of the list, in ms
 */
export async function timeFilter(context: BrowserContext, url: string, text: string): Promise<number[]> {
  const page = await context.newPage();
  await page.goto(url);
  await page.locator('tbody tr').nth(100).waitFor();
  await slowDown(page);
  await page.evaluate(() => {
    const state = window as unknown as { began: number; ended: number };
    document.addEventListener('input', () => (state.began = performance.now()), true);
    const watcher = new MutationObserver(() => requestAnimationFrame(() => (state.ended = performance.now())));
    const rows = document.querySelector('main') ?? document.body;
    watcher.observe(rows, { childList: true, subtree: true, attributes: true, attributeFilter: ['hidden'] });
  });
  const filter = page.locator('[data-shortcut="/"]');
  await filter.focus();
  const times: number[] = [];
  for (const key of text) {
    await page.keyboard.press(key);
    await page.waitForTimeout(SETTLED_MS);
    times.push(
      await page.evaluate(() => {
        const { began, ended } = window as unknown as { began: number; ended: number };
        return ended - began;
      }),
    );
  }
  await page.close();
  return times.filter((time) => time > 0);
}

async function slowDown(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN });
}
