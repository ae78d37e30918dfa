/**
 * Writes each asset of the built console compressed beside itself, so that the server never compresses while it answers, and
 * checks the size of what the first page loads. `npm start` does without: it takes longer than the build, for a network that a
 * browser on the same machine does not have.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const INITIAL_SCRIPT_KIB_MAX = 200;
const COMPRESSIBLE = /\.(?:js|css|svg|json)$/;
const FORMATS = {
  gz: (content) => promisify(gzip)(content, { level: 9 }),
  br: (content) =>
    promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }),
};

const dist = fileURLToPath(new URL('dist/', import.meta.url));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await compress(join(dist, 'assets'));
  await checkSize();
}

/** Compresses the files of a folder, without those below it. Files that are compressed already keep their names' content. */
export async function compress(folder) {
  const names = (await readdir(folder)).filter((name) => COMPRESSIBLE.test(name));
  await Promise.all(names.map((name) => compressFile(join(folder, name))));
}

async function compressFile(file) {
  const content = await readFile(file);
  for (const [extension, compressed] of Object.entries(FORMATS)) {
    const target = `${file}.${extension}`;
    if (existsSync(target)) continue;
    // Others may read the folder, or compress the same file.
    const unfinished = `${target}.${process.pid}`;
    await writeFile(unfinished, await compressed(content));
    await rename(unfinished, target);
  }
}

async function checkSize() {
  const manifest = JSON.parse(await readFile(join(dist, '.vite', 'manifest.json'), 'utf8'));
  const scripts = [...closure(manifest, 'index.html')].map((key) => join(dist, `${manifest[key].file}.gz`));
  const sizes = await Promise.all(scripts.map(async (script) => (await stat(script)).size));
  const kib = Math.ceil(sizes.reduce((sum, size) => sum + size, 0) / 1024);
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
