/**
 * Bundles the console. `compress.mjs` compresses its assets; files without a hash in their name are compressed here, so that
 * both are always of the same build.
 *
 * `npm start` and `npm test` may build at the same time, while a server reads `dist`. So each build has its own folder, from which
 * its files are moved one by one: first assets, whose names have hashes, then the page that names them.
 */
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { writeSbom } from '../../tools/sbom.mjs';
import { compress } from './compress.mjs';

/** Pages that are open while the console is built load assets of the former build. */
const OLD_ASSETS_KEPT_MS = 24 * 3_600_000;

const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, 'dist');

const cache = join(root, 'node_modules', '.cache');
await mkdir(cache, { recursive: true });
const staging = await mkdtemp(join(cache, 'build-'));
try {
  const { output } = await build({ root, logLevel: 'warn', build: { outDir: staging, emptyOutDir: true } });
  await writeSbom({
    app: JSON.parse(await readFile(join(root, 'package.json'), 'utf8')),
    modules: output.flatMap(({ moduleIds = [] }) => moduleIds),
    folder: staging,
  });
  await compress(staging);
  await publish(staging);
} finally {
  await rm(staging, { recursive: true, force: true });
}

async function filesOf(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

async function publish(folder) {
  const isAsset = (name) => name.startsWith('assets');
  const names = (await filesOf(folder)).sort((a, b) => Number(isAsset(b)) - Number(isAsset(a)));
  for (const name of names) {
    const target = join(dist, name);
    await mkdir(dirname(target), { recursive: true });
    await rename(join(folder, name), target);
  }
  const current = new Set(names);
  for (const name of await filesOf(dist)) {
    if (current.has(name)) continue;
    const file = join(dist, name);
    const found = await stat(file).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > OLD_ASSETS_KEPT_MS) await rm(file, { force: true });
  }
}
