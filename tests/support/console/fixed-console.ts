import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitFor } from '@corral/testing';
import type { Browser, Page } from 'playwright-core';
import { exampleAnswers } from './example-answers.js';

/** A page may use locks only where it is secure, as `localhost` is. */
export const ORIGIN = 'http://pictures.localhost';
const dist = fileURLToPath(new URL('../../../apps/console/dist', import.meta.url));
const settings = { openIdConnect: false, devSignIn: true, version: '0.1.0' };
/** A day on which the examples are valid. */
const DAY_OF_EXAMPLES = new Date('2026-11-21T12:30:00Z');

export interface FixedOptions {
  readonly colorScheme?: 'light' | 'dark';
  readonly width?: number;
}

/** A window with a fixed clock, language and time zone. */
export async function openFixed(
  browser: Browser,
  now: Date,
  { colorScheme = 'light', width = 1280 }: FixedOptions = {},
): Promise<Page> {
  const page = await browser.newPage({
    viewport: { width, height: 800 },
    colorScheme,
    reducedMotion: 'reduce',
    timezoneId: 'UTC',
    locale: 'en-GB',
  });
  await page.clock.setFixedTime(now);
  return page;
}

/** Name, type, values, TTL and labels of a record set. */
export type FixedSet = readonly [string, string, readonly string[], number | null, Record<string, string>];

/**
 * Opens a page of the built console. Both APIs answer with the examples of their documents, and the zone has the given record sets.
 *
 * @param path below that of the team `acme`
 */
export async function openFixedConsole(
  browser: Browser,
  path: string,
  sets: readonly FixedSet[],
  options?: FixedOptions,
): Promise<Page> {
  const page = await openFixed(browser, DAY_OF_EXAMPLES, options);
  // The page believes that another tab is connected.
  await page.addInitScript(() => {
    navigator.locks.request = () => new Promise(() => undefined);
    const channel = new BroadcastChannel('corral.live.acme');
    channel.onmessage = ({ data }) => {
      if (data.type !== 'hello') return;
      channel.postMessage({ type: 'reload', id: '1' });
      channel.postMessage({ type: 'live' });
    };
  });
  const html = (await readFile(join(dist, 'index.html'), 'utf8')).replace(
    '{{settings}}',
    JSON.stringify(settings).replaceAll('"', '&quot;'),
  );
  const rrsets = sets.map(([name, type, values, ttl, labels]) => ({
    ...{ id: `${name}/${type}`, name, type, ttl, labels, protection: { change: false }, zone: 7001 },
    records: values.map((value) => ({ value, comment: null })),
  }));
  const exampleOf = exampleAnswers('/dns/v1');
  await page.route(`${ORIGIN}/**`, (route) => {
    const { pathname } = new URL(route.request().url());
    const [, file] = /^\/console\/(assets\/.*|[^/]*\.\w+)$/.exec(pathname) ?? [];
    if (file !== undefined) return route.fulfill({ path: join(dist, file) });
    if (pathname.startsWith('/console/')) return route.fulfill({ body: html, contentType: 'text/html' });
    const example = exampleOf(route.request().method(), pathname);
    if (example === null) return route.fulfill({ status: 404 });
    const body = JSON.stringify(pathname.endsWith('/rrsets') ? { ...(example as object), rrsets } : example);
    return route.fulfill({
      contentType: 'application/json',
      body: body.replaceAll('https://dns.example.org/v1', `${ORIGIN}/dns/v1`),
    });
  });
  await page.goto(`${ORIGIN}/console/teams/acme${path}`);
  await untilLoaded(page);
  return page;
}

export async function untilLoaded(page: Page): Promise<void> {
  await page.getByText('Live', { exact: true }).waitFor();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle');
  await waitFor('all to be loaded', async () => (await page.getByText(/^Loading/).count()) === 0);
}
