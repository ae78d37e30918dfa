/**
 * Ends the build: checks the size of what the first page loads, and writes each asset compressed beside itself, so that
 * the server never compresses while it answers.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const INITIAL_SCRIPT_KIB_MAX = 200;
const COMPRESSIBLE = /\.(?:js|css|svg|json)$/;
const dist = new URL('dist/', import.meta.url).pathname;

const zipped = promisify(gzip);
const brotli = promisify(brotliCompress);
const sizes = new Map();

for (const entry of await readdir(dist, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !COMPRESSIBLE.test(entry.name)) continue;
  const file = join(entry.parentPath, entry.name);
  const content = await readFile(file);
  const [gz, br] = await Promise.all([
    zipped(content, { level: 9 }),
    brotli(content, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }),
  ]);
  await Promise.all([writeFile(`${file}.gz`, gz), writeFile(`${file}.br`, br)]);
  sizes.set(file.slice(dist.length), gz.length);
}

const manifest = JSON.parse(await readFile(join(dist, '.vite', 'manifest.json'), 'utf8'));

/** The static imports of a chunk, itself included. */
function closure(key, found = new Set()) {
  if (found.has(key)) return found;
  found.add(key);
  for (const next of manifest[key].imports ?? []) closure(next, found);
  return found;
}

const initial = [...closure('index.html')].reduce((sum, key) => sum + (sizes.get(manifest[key].file) ?? 0), 0);
const kib = Math.ceil(initial / 1024);
if (kib > INITIAL_SCRIPT_KIB_MAX) {
  console.error(`The first page loads ${kib} KiB of JavaScript (gzip), of ${INITIAL_SCRIPT_KIB_MAX} KiB allowed.`);
  process.exit(1);
}
if (process.argv.includes('--sizes')) console.log(`Initial JavaScript: ${kib} KiB (gzip).`);
