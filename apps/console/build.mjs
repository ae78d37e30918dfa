/**
 * Builds the console: bundles it, checks the size of what the first page loads, and writes each asset compressed beside itself,
 * so that the server never compresses while it answers.
 *
 * `npm start` and `npm test` may build at the same time, while a server reads `dist`. So each build has its own folder, from which
 * its files are moved one by one: first assets, whose names have hashes, then the page that names them.
 */
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build } from 'vite';
import { writeSbom } from '../../tools/sbom.mjs';

const INITIAL_SCRIPT_KIB_MAX = 200;
/** Pages that are open while the console is built load assets of the former build. */
const OLD_ASSETS_KEPT_MS = 24 * 3_600_000;
const COMPRESSIBLE = /\.(?:js|css|svg|json)$/;

const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, 'dist');
const zipped = promisify(gzip);
const brotli = promisify(brotliCompress);

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
  const sizes = await compress(staging);
  await checkSize(staging, sizes);
  await publish(staging);
} finally {
  await rm(staging, { recursive: true, force: true });
}

async function filesOf(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/** @returns sizes in bytes, by path, with gzip */
async function compress(folder) {
  const sizes = new Map();
  for (const name of await filesOf(folder)) {
    if (!COMPRESSIBLE.test(name)) continue;
    const file = join(folder, name);
    const content = await readFile(file);
    const [gz, br] = await Promise.all([
      zipped(content, { level: 9 }),
      brotli(content, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }),
    ]);
    await Promise.all([writeFile(`${file}.gz`, gz), writeFile(`${file}.br`, br)]);
    sizes.set(name, gz.length);
  }
  return sizes;
}

async function checkSize(folder, sizes) {
  const manifest = JSON.parse(await readFile(join(folder, '.vite', 'manifest.json'), 'utf8'));
  const initial = [...closure(manifest, 'index.html')].reduce(
    (sum, key) => sum + (sizes.get(manifest[key].file) ?? 0),
    0,
  );
  const kib = Math.ceil(initial / 1024);
  if (kib > INITIAL_SCRIPT_KIB_MAX) {
    throw new Error(`The first page loads ${kib} KiB of JavaScript (gzip), of ${INITIAL_SCRIPT_KIB_MAX} KiB allowed.`);
  }
  if (process.argv.includes('--sizes')) console.log(`Initial JavaScript: ${kib} KiB (gzip).`);
}

/** The static imports of a chunk, itself included. */
function closure(manifest, key, found = new Set()) {
  if (found.has(key)) return found;
  found.add(key);
  for (const next of manifest[key].imports ?? []) closure(manifest, next, found);
  return found;
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
