import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDatabase, describeNeeding, explainFailures } from '@corral/testing';
import { launchBrowser } from '@corral/testing/browser';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import axe from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { type DevFile, type DevTeam, npmStart } from '../system/npm-start.js';
import { descendantsOf } from '../system/process-tree.js';
import { missingBrowser } from './browser.js';

export type { DevTeam };

interface OpenOptions {
  /** The session of the person who is signed in; null: nobody. The default is the administrator of the first team. */
  readonly sessionid?: string | null;
  readonly theme?: 'light' | 'dark';
  /** Pixels. The default is 1280. */
  readonly width?: number;
}

export interface RunningConsole {
  readonly dev: DevFile;
  readonly browser: Browser;
  /** Opens an address below `/console`, in a window and session of its own. */
  open(path: string, options?: OpenOptions): Promise<Page>;
  /** Requests of a client beside the browser, as the administrator of the first team. */
  api(method: string, path: string, body?: unknown): Promise<{ status: number; json: never }>;
  /** What pages said on the browser's console since the start: errors, and reports of the Content-Security-Policy. */
  complaints(): readonly string[];
  /** Cuts all connections of the cluster API. It starts again by itself. */
  restartApi(): Promise<void>;
  /** Stops the cluster API from answering while its connections stay open. @returns a function that lets it go on */
  freezeApi(): Promise<() => void>;
  /** Cuts all connections of the DNS API. It starts again by itself. */
  restartGateway(): Promise<void>;
  /** Closes all windows with their sessions. */
  closePages(): Promise<void>;
  stop(): Promise<void>;
}

const missing = await missingBrowser();

/**
 * Describes the console of an installation of its own, where there is a browser. Windows close after each test, and no page may break a
 * policy or throw.
 *
 * @param what completes the sentence "the console …"
 * @param tests gets what runs once the tests begin
 * @param settings of the services, beyond those of `npm start`
 */
export function describeConsole(
  what: string,
  tests: (running: () => RunningConsole) => void,
  settings: (running: () => RunningConsole) => Promise<Readonly<Record<string, string>>> = async () => ({}),
): void {
  describeNeeding(describe, missing, `the console ${what}`, () => {
    let running: RunningConsole | undefined;
    const started = () => running as RunningConsole;
    beforeAll(async () => {
      running = await startConsole(await settings(started));
    });
    afterEach(() => running?.closePages());
    afterAll(() => running?.stop());
    tests(started);
    it('breaks no policy and throws nothing', () => {
      expect(running?.complaints()).toEqual([]);
    });
  });
}

/** What `npm start` runs, with a database of its own and a browser. */
async function startConsole(env: Readonly<Record<string, string>>): Promise<RunningConsole> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-console-'));
  await chmod(folder, 0o755);
  const database = await createTestDatabase();
  const [{ running, dev }, browser] = await Promise.all([
    npmStart(join(folder, 'state'), { ...env, DATABASE_URL: database.url }),
    launchBrowser(),
  ]);
  const callOff = explainFailures('npm start', () => running.output());
  const heard: string[] = [];
  return {
    dev,
    browser,
    open: (path, options) => openPage({ browser, dev, heard }, path, options),
    api: (method, path, body) => callApi(dev, method, path, body),
    complaints: () => heard,
    restartApi: () => killService(running.pid, 'cluster-api'),
    async freezeApi() {
      const pid = await pidOf(running.pid, 'cluster-api');
      process.kill(pid, 'SIGSTOP');
      return () => process.kill(pid, 'SIGCONT');
    },
    restartGateway: () => killService(running.pid, 'dns-gateway'),
    async closePages() {
      for (const context of browser.contexts()) {
        // A route that still waits for its answer would fail some later test.
        await context.unrouteAll({ behavior: 'ignoreErrors' });
        await context.close();
      }
    },
    async stop() {
      callOff();
      await browser.close();
      await running.stop({ timeoutMs: 30_000 });
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Kills a service. What `npm start` runs starts it again after a second, at the same address. */
async function killService(pid: number, app: 'cluster-api' | 'dns-gateway'): Promise<void> {
  process.kill(await pidOf(pid, app), 'SIGKILL');
}

async function pidOf(pid: number, app: 'cluster-api' | 'dns-gateway'): Promise<number> {
  const service = (await descendantsOf(pid)).find(({ command }) => command.endsWith(`apps/${app}/dist/main.js`));
  if (service === undefined) throw new Error(`No process of ${app} was found`);
  return service.pid;
}

const WAIT_MS_MAX = 120_000;

async function openPage(
  { browser, dev, heard }: { browser: Browser; dev: DevFile; heard: string[] },
  path: string,
  { sessionid = dev.teams[0]?.admin.sessionid ?? null, theme = 'light', width = 1280 }: OpenOptions = {},
): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: theme,
    reducedMotion: 'reduce',
  });
  // A write whose gateway was killed is settled after its lease, and a machine may be slow.
  context.setDefaultTimeout(WAIT_MS_MAX);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  if (sessionid !== null) {
    await context.addCookies([{ name: 'sessionid', value: sessionid, url: dev.baseUrl }]);
  }
  const page = await context.newPage();
  page.on('pageerror', (error) => heard.push(error.message));
  page.on('console', (message) => {
    // A refused request is reported as an error as well; pages show those themselves.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) heard.push(message.text());
  });
  await page.goto(`${dev.consoleUrl.replace(/\/$/, '')}${path}`);
  return page;
}

async function callApi(dev: DevFile, method: string, path: string, body: unknown) {
  const response = await fetch(`${dev.baseUrl}${path}`, {
    method,
    headers: { cookie: `sessionid=${dev.teams[0]?.admin.sessionid}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, json: (text === '' ? null : JSON.parse(text)) as never };
}

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Fails with each violation of WCAG 2.2 AA and of axe's best practices on the page, as far as axe can tell. */
export async function expectAccessible(page: Page): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  const violations = await page.evaluate(async (tags) => {
    const { axe: runner } = window as unknown as { axe: typeof axe };
    const { violations: found } = await runner.run(document, {
      runOnly: { type: 'tag', values: tags },
      resultTypes: ['violations'],
    });
    return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`);
  }, RULES);
  expect(violations).toEqual([]);
}

/** Starts a session of anybody. @returns its cookie's value */
export async function signIn({ dev }: Pick<RunningConsole, 'dev'>, email: string, userAgent = 'test'): Promise<string> {
  const response = await fetch(`${dev.baseUrl}/auth/dev-login/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': userAgent },
    body: JSON.stringify({ email }),
  });
  return /sessionid=([^;]+)/.exec(response.headers.get('set-cookie') ?? '')?.[1] ?? '';
}

/** Revokes a token of the first team, which may have five. */
export async function revokeDnsToken({ api }: Pick<RunningConsole, 'api'>, name: string): Promise<void> {
  const tokens = '/api/v1/teams/acme/dns-tokens/';
  const { json } = await api('GET', tokens);
  const { items } = json as { items: { id: string; name: string }[] };
  for (const token of items) if (token.name === name) await api('DELETE', `${tokens}${token.id}/`);
}

/** Waits until a control has the focus, which may come a moment after the control itself. */
export const waitForFocus = (control: Locator): Promise<void> =>
  control.and(control.page().locator(':focus')).waitFor();
