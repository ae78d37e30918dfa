import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import type { RunningConsole } from '../console/running-console.js';

/** What a page of the album shows: whose it is, and how much there is. */
interface Scene {
  readonly name: string;
  readonly team: string;
  readonly sessionid: string;
  readonly paths: readonly string[];
  /** Prepares all pages of the scene. */
  readonly arrange?: (context: BrowserContext) => Promise<void>;
}

const WIDTHS = [390, 1280, 1920] as const;
const HEIGHT = 900;
const [LOADED_MS, CALM_MS] = [10_000, 150];
/** Longer pages are cut, so that pictures can be looked at. */
const CUT_AT = 2_400;

const pagesOfTeam = [
  '',
  '/dns/records',
  '/dns/zone-file',
  '/dns/tokens',
  '/dns/tokens/+',
  '/dns/demos',
  '/clusters',
  '/clusters/+',
  '/connections',
  '/connections/+',
  '/access',
  '/webhooks',
  '/audit',
  '/usage',
  '/settings',
  '/nowhere',
];

/**
 * Pictures of every page in its states, in three widths and two themes, to be looked at by people.
 *
 * @param folder where they are written: `<scene>-<page>-<width>-<theme>.png`
 */
export async function takeAlbum(running: RunningConsole, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const scene of await scenesOf(running)) {
    for (const theme of ['light', 'dark'] as const) {
      for (const width of WIDTHS) await takeScene(running, scene, { theme, width, folder });
    }
    console.log(`${scene.name}: ${scene.paths.length} pages`);
  }
}

async function scenesOf(running: RunningConsole): Promise<Scene[]> {
  const { dev, api } = running;
  const [full, empty] = dev.teams;
  if (full === undefined || empty === undefined) throw new Error('npm start created less than two teams');
  const { items } = (await api('GET', `/api/v1/teams/${full.slug}/clusters/`)) as {
    items: readonly { readonly metadata: { readonly name: string } }[];
  };
  const clusters = items.map(({ metadata }) => metadata.name);
  const ofThings = [
    `/dns/records/www.${full.slug}/CNAME`,
    ...clusters.map((name) => `/clusters/${name}`),
    `/clusters/${clusters[0]}/change`,
    '/connections/main',
    '/connections/main/servers/+',
  ];
  const paths = [...pagesOfTeam, ...ofThings];
  const admin = { team: full.slug, sessionid: full.admin.sessionid };
  return [
    { name: 'empty', team: empty.slug, sessionid: empty.admin.sessionid, paths: pagesOfTeam },
    { name: 'usual', ...admin, paths },
    { name: 'member', ...admin, sessionid: full.member.sessionid, paths },
    { name: 'viewer', ...admin, sessionid: await viewerOf(running, full.slug), paths },
    { name: 'stranger', ...admin, sessionid: empty.admin.sessionid, paths: [''] },
    { name: 'outage', ...admin, paths, arrange: withoutApi },
    {
      name: 'full',
      ...admin,
      paths: ['', '/dns/records', '/dns/zone-file', '/dns/tokens', '/dns/tokens/+', '/usage', '/audit', '/settings'],
      arrange: onceOnly(() => fillQuotas(running, full.slug)),
    },
  ];
}

/** The page is there, and its data are not. */
const withoutApi = async (context: BrowserContext): Promise<void> =>
  void (await context.route(/\/api\/v1\/teams\/.+|\/v1\/zones\//, (route) =>
    route.fulfill({
      status: 503,
      headers: { 'content-type': 'application/problem+json', 'retry-after': '5' },
      body: JSON.stringify({
        type: 'about:blank',
        title: 'Unavailable',
        status: 503,
        code: 'unavailable',
        detail: 'The database is not available. Try again in a moment.',
      }),
    }),
  ));

function onceOnly(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}

/** Somebody who was invited to read. @returns the cookie of their session */
async function viewerOf({ dev, api }: RunningConsole, slug: string): Promise<string> {
  const email = 'viewer@acme.test';
  const { id } = (await api('POST', `/a/${slug}/team/api/invitations/`, { email, role: 'viewer' })) as { id: string };
  const send = (path: string, headers: Record<string, string>, body: object) =>
    fetch(`${dev.baseUrl}${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const { headers } = await send('/auth/dev-login/', {}, { email });
  const cookie = /sessionid=([^;]+)/.exec(headers.get('set-cookie') ?? '')?.[1] ?? '';
  await send(`/invitations/${id}/accept/`, { cookie: `sessionid=${cookie}` }, {});
  return cookie;
}

/** Fills the quotas of a team: as many record sets and tokens as it may have, with long names and many values. */
async function fillQuotas({ dns, api }: RunningConsole, slug: string): Promise<void> {
  const create = (name: string, type: string, values: readonly string[]) =>
    dns('POST', '/rrsets', { name: `${name}.${slug}`, type, records: values.map((value) => ({ value })) });
  await create(`${'a-label-of-the-longest-allowed-length'.padEnd(63, '-x')}`, 'A', ['192.0.2.1']);
  await create('selector1._domainkey', 'TXT', [`"v=DKIM1; k=rsa; p=${'MIIBIjANBgkqh'.repeat(18)}"`]);
  await create(
    'pool',
    'A',
    Array.from({ length: 20 }, (_, at) => `198.51.100.${at + 1}`),
  );
  const tokens = `/api/v1/teams/${slug}/dns-tokens/`;
  await untilRefused((at) => create(`node-${String(at).padStart(3, '0')}`, 'A', [`203.0.113.${at}`]));
  await untilRefused((at) =>
    api('POST', tokens, { name: `${at} ${'of a pipeline with a long name '.repeat(3)}`.trim() }),
  );
}

async function untilRefused(work: (at: number) => Promise<unknown>): Promise<void> {
  for (let at = 1; at <= 200; at += 1) {
    const isRefused = await work(at).then(
      () => false,
      () => true,
    );
    if (isRefused) return;
  }
}

async function takeScene(
  running: RunningConsole,
  { name: scene, team, sessionid, paths, arrange }: Scene,
  { theme, width, folder }: { readonly theme: 'light' | 'dark'; readonly width: number; readonly folder: string },
): Promise<void> {
  const viewport = { width, height: HEIGHT };
  const context = await running.signedIn({ theme, ...viewport }, sessionid);
  await arrange?.(context);
  const page = await context.newPage();
  for (const path of paths) {
    await page.goto(`${running.dev.consoleUrl.replace(/\/$/, '')}/teams/${team}${path}`);
    await untilStill(page);
    const name =
      path === ''
        ? 'home'
        : path
            .replace(/\+/g, 'new')
            .replace(/[^a-z0-9]+/gi, '-')
            .replace(/^-/, '');
    const long = (await page.evaluate('document.documentElement.scrollHeight')) as number;
    await page.setViewportSize({ width, height: Math.max(HEIGHT, Math.min(long, CUT_AT)) });
    await page.screenshot({ path: join(folder, `${scene}-${name}-${width}-${theme}.png`), animations: 'disabled' });
    await page.setViewportSize(viewport);
  }
  await context.close();
}

/** The page has its heading, and nothing is loading for a moment. An outage is shown after some attempts. */
async function untilStill(page: Page): Promise<void> {
  await page.locator('h1, h2, [role=alert]').first().waitFor({ timeout: LOADED_MS });
  const isLoading =
    "[...document.querySelectorAll('[role=status]')].some((each) => each.textContent.startsWith('Loading'))";
  const until = Date.now() + LOADED_MS;
  for (let calm = 0; calm < 2 && Date.now() < until; ) {
    await page.waitForTimeout(CALM_MS);
    calm = (await page.evaluate(isLoading)) ? 0 : calm + 1;
  }
}
