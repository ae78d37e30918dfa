import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Missing } from '@corral/testing';
import { type Browser, chromium } from 'playwright-core';
import { runCommand } from '../clients/run-command.js';
import { builtFile } from '../system/program.js';

const { resolve } = createRequire(import.meta.url);

/** Not those of the package, which switch off the security that the tests are about. */
const args = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--no-first-run',
  '--font-render-hinting=none',
  '--hide-scrollbars',
  '--disable-gpu',
];

/** Starts the Chromium that an npm package carries, with the libraries and fonts of that package. */
export async function launchBrowser(): Promise<Browser> {
  const folder = await unpackedBrowser();
  return chromium.launch({
    executablePath: join(folder, 'chromium'),
    args,
    env: {
      ...process.env,
      LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'),
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
    },
  });
}

/** Why no browser can be started here; null if one can. */
export async function missingBrowser(): Promise<Missing | null> {
  try {
    const browser = await launchBrowser();
    await browser.close();
    return null;
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    return { what: 'a browser', how: 'run them on Linux with glibc, on x64', why };
  }
}

/** Unpacks the browser once per version. Several processes may do it at the same time: the first one wins. */
async function unpackedBrowser(): Promise<string> {
  const manifest = new URL('../package.json', pathToFileURL(resolve('@sparticuz/chromium')));
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  const cache = builtFile('node_modules/.cache');
  const folder = join(cache, `chromium-${version}`);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const staging = await mkdtemp(join(cache, 'chromium-'));
  const script = `import(${JSON.stringify(resolve('@sparticuz/chromium'))}).then((m) => m.default.executablePath())`;
  // Where it was made for, the package unpacks its libraries as well.
  const env = { TMPDIR: staging, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs20.x' };
  const { code, stderr } = await runCommand([process.execPath, '-e', script], { env });
  if (code !== 0) throw new Error(`The browser could not be unpacked: ${stderr}`);
  await writeFile(join(staging, 'fonts.conf'), fontsConf(folder));
  await rename(staging, folder).catch(() => rm(staging, { recursive: true, force: true }));
  return folder;
}

/** Only the fonts of the package, so that pages look the same on each machine. */
const fontsConf = (folder: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${folder}/fonts/fonts</dir>
  <cachedir>${folder}/fonts-cache</cachedir>
</fontconfig>
`;
