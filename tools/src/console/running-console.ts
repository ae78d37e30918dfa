import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProcess } from '@corral/testing';
import { launchBrowser } from '@corral/testing/browser';
import type { Browser, BrowserContext } from 'playwright-core';
import type { DevFile } from '../start/dev-file.js';

const START = fileURLToPath(new URL('../../programs/start/main.js', import.meta.url));
const READY_MS = 300_000;

/** Settings of `npm start` that would lead to another installation. */
const withoutSettings = Object.fromEntries(
  ['DATABASE_URL', 'REDIS_URL', 'HCLOUD_API_URL', 'HCLOUD_TOKEN', 'GARDEN_KUBECONFIG', 'SMTP_URL'].map((name) => [
    name,
    undefined,
  ]),
);

interface ContextOptions {
  readonly theme: 'light' | 'dark';
  readonly width: number;
  readonly height: number;
}

/** A new installation as of `npm start`, with a browser, for the administrator of its first team. */
export interface RunningConsole {
  readonly dev: DevFile;
  readonly browser: Browser;
  /** Windows in which somebody is signed in. @param sessionid of the administrator if not of another person */
  signedIn(options: ContextOptions, sessionid?: string): Promise<BrowserContext>;
  /** Address of a page of the team. @param path such as `/clusters` */
  pageUrl(path: string): string;
  /** A request to the cluster API. @param path below `PUBLIC_URL` @throws Error unless it is accepted */
  api(method: string, path: string, body?: unknown): Promise<unknown>;
  /** A request to the DNS API, with the token of the team. @param path below the zone @throws Error unless it is accepted */
  dns(method: string, path: string, body?: unknown): Promise<unknown>;
  stop(): Promise<void>;
}

export async function startConsole(env: Readonly<Record<string, string>> = {}): Promise<RunningConsole> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-console-'));
  await chmod(folder, 0o755);
  const state = join(folder, 'state');
  const [running, browser] = await Promise.all([
    startProcess({
      command: process.execPath,
      args: [START],
      env: { ...withoutSettings, ...env, CORRAL_STATE_DIR: state },
      readyLine: 'Ctrl-C stops everything',
      readyTimeoutMs: READY_MS,
    }),
    launchBrowser(),
  ]);
  const dev: DevFile = JSON.parse(await readFile(join(state, 'dev.json'), 'utf8'));
  const [team] = dev.teams;
  if (team === undefined) throw new Error('npm start created no team');
  return {
    dev,
    browser,
    async signedIn({ theme, width, height }, sessionid = team.admin.sessionid) {
      const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, locale: 'en-GB' });
      await context.addCookies([{ name: 'sessionid', value: sessionid, url: dev.baseUrl }]);
      return context;
    },
    pageUrl: (path) => `${dev.consoleUrl.replace(/\/$/, '')}/teams/${team.slug}${path}`,
    api: (method, path, body) =>
      send(method, `${dev.baseUrl}${path}`, { cookie: `sessionid=${team.admin.sessionid}` }, body),
    dns: (method, path, body) =>
      send(method, `${dev.dnsUrl}/zones/${dev.zoneName}${path}`, { authorization: `Bearer ${team.dnsToken}` }, body),
    async stop() {
      await browser.close();
      await running.stop({ timeoutMs: 30_000 });
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function send(method: string, url: string, headers: Record<string, string>, body: unknown): Promise<unknown> {
  const response = await fetch(url, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url} was answered ${response.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}
