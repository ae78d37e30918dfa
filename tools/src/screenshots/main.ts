import { mkdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startOrExit } from '@corral/service';
import type { Page } from 'playwright-core';
import { type RunningConsole, startConsole } from '../console/running-console.js';
import { takeAlbum } from './album.js';
import { createExampleTeam } from './example-team.js';

const SIZE = { width: 1280, height: 800 } as const;
const FILE_BYTES_MAX = 120 * 1024;
const folder = fileURLToPath(new URL('../../../docs/images', import.meta.url));

/** Adds a set, changes one, and wants a name of another team. */
const ZONE_FILE = `$ORIGIN acme.example.test.
$TTL 300
mail      A      192.0.2.25
mail      AAAA   2001:db8:10::25
web       A      192.0.2.13
www       CNAME  web
ns.globex.example.test. A 192.0.2.53
`;

interface Picture {
  readonly name: string;
  readonly path: string;
  /** Brings the page into the state that is shown. */
  readonly prepare: (page: Page) => Promise<void>;
}

const pictures: readonly Picture[] = [
  {
    name: 'home',
    path: '',
    prepare: (page) => page.getByRole('link', { name: /^Replace token/ }).waitFor(),
  },
  {
    name: 'record-sets',
    path: '/dns/records',
    prepare: (page) => page.getByText('2001:db8:10::53').first().waitFor(),
  },
  {
    name: 'zone-file',
    path: '/dns/zone-file',
    async prepare(page) {
      await page.getByRole('textbox', { name: 'Zone file' }).fill(ZONE_FILE);
      await page.getByRole('heading', { name: 'Plan', exact: true }).waitFor();
      await page.getByText('2001:db8:10::25').last().waitFor();
    },
  },
  {
    name: 'create-token',
    path: '/dns/tokens/+',
    async prepare(page) {
      await page.getByRole('button', { name: 'Certificates' }).click();
      await page.getByLabel('Name', { exact: true }).fill('lego');
      await page.getByLabel('Name to try').fill('www.acme');
      await page.getByText('This token can write only').waitFor();
    },
  },
  {
    name: 'clusters',
    path: '/clusters',
    prepare: (page) => page.getByRole('row', { name: /web/ }).waitFor(),
  },
  {
    name: 'cluster-plan',
    path: '/clusters/web/change',
    async prepare(page) {
      await page
        .getByLabel(/^Maximum/)
        .first()
        .fill('6');
      await page
        .getByText(/\+[\d.]+ EUR$/)
        .first()
        .waitFor();
      await page.getByText(/^Checked/).waitFor();
    },
  },
];

await startOrExit('npm run screenshots', async () => {
  const { values } = parseArgs({ options: { album: { type: 'string' } } });
  const running = await startConsole();
  try {
    await createExampleTeam(running);
    if (values.album === undefined) await takePictures(running);
    else await takeAlbum(running, resolve(values.album));
  } finally {
    await running.stop();
  }
  process.exit();
});

async function takePictures(running: RunningConsole): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const theme of ['light', 'dark'] as const) await takeAll(running, theme);
}

async function takeAll(running: RunningConsole, theme: 'light' | 'dark'): Promise<void> {
  const context = await running.signedIn({ ...SIZE, theme });
  for (const { name, path, prepare } of pictures) {
    const page = await context.newPage();
    await page.goto(running.pageUrl(path));
    await prepare(page);
    await page.getByText('Live', { exact: true }).waitFor();
    const file = join(folder, `${name}-${theme}.png`);
    await page.mouse.move(0, 0);
    await page.screenshot({ path: file, animations: 'disabled', caret: 'hide' });
    const { size } = await stat(file);
    if (size > FILE_BYTES_MAX) throw new Error(`${file} has ${size} bytes, of ${FILE_BYTES_MAX} allowed.`);
    console.log(`${file}: ${Math.ceil(size / 1024)} KiB`);
    await page.close();
  }
  await context.close();
}
