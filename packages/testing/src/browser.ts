import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';

const { resolve } = createRequire(import.meta.url);

/** Arguments in place of those of the package, which switch off the security that the tests are about. */
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

/** Unpacks the browser once per version. Several processes may do it at the same time: the first one wins. */
async function unpackedBrowser(): Promise<string> {
  const manifest = new URL('../package.json', pathToFileURL(resolve('@sparticuz/chromium')));
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  const moreFonts = join(dirname(resolve('dejavu-fonts-ttf/package.json')), 'ttf');
  const cache = fileURLToPath(new URL('../../../node_modules/.cache', import.meta.url));
  const folder = join(cache, `chromium-${version}-dejavu`);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const staging = await mkdtemp(join(cache, 'chromium-'));
  const script = `import(${JSON.stringify(resolve('@sparticuz/chromium'))}).then((m) => m.default.executablePath())`;
  // The package unpacks its libraries too where it believes that it runs on AWS Lambda.
  const env = { ...process.env, TMPDIR: staging, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs20.x' };
  await promisify(execFile)(process.execPath, ['-e', script], { env });
  await writeFile(join(staging, 'fonts.conf'), fontsConf(folder, moreFonts));
  await rename(staging, folder).catch(() => rm(staging, { recursive: true, force: true }));
  return folder;
}

/**
 * Only fonts of packages, so that pages look the same on each machine. The browser's own have neither arrows nor a monospaced
 * font.
 */
const fontsConf = (folder: string, moreFonts: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${folder}/fonts/fonts</dir>
  <dir>${moreFonts}</dir>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
  <alias><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
  <cachedir>${folder}/fonts-cache</cachedir>
</fontconfig>
`;
