/**
 * Writes each asset of the built console compressed beside itself, so that the server never compresses while it answers, and
 * checks what pages load: its size, and that each component has its style. `npm start` does without: it takes longer than the
 * build, for a network that a browser on the same machine does not have.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** What the first page loads, compressed. */
const INITIAL_KIB_MAX = { js: 165, css: 14 };
const MANTINE_CLASS = /\bm_[\da-f]{6,8}\b/g;
const COMPRESSIBLE = /\.(?:js|css|svg|json)$/;
const FORMATS = {
  gz: (content) => promisify(gzip)(content, { level: 9 }),
  br: (content) =>
    promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }),
};

const dist = fileURLToPath(new URL('dist/', import.meta.url));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await compress(join(dist, 'assets'));
  await checkPages();
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

async function checkPages() {
  const manifest = JSON.parse(await readFile(join(dist, '.vite', 'manifest.json'), 'utf8'));
  const initial = filesOf(manifest, 'index.html');
  for (const [kind, max] of Object.entries(INITIAL_KIB_MAX)) {
    const sizes = await Promise.all(initial[kind].map(async (file) => (await stat(join(dist, `${file}.gz`))).size));
    const kib = Math.ceil(sizes.reduce((sum, size) => sum + size, 0) / 1024);
    if (kib > max) throw new Error(`The first page loads ${kib} KiB of ${kind} (gzip), of ${max} KiB allowed.`);
    if (process.argv.includes('--sizes')) console.log(`Initial ${kind}: ${kib} KiB (gzip).`);
  }
  const styled = await classesIn(['node_modules/@mantine/core/styles.css'], import.meta.dirname);
  for (const [key, { isEntry, isDynamicEntry }] of Object.entries(manifest)) {
    if (isEntry || isDynamicEntry) await checkStyles(key, filesOf(manifest, key), initial, styled);
  }
}

/** A component of Mantine without its style would only be seen by people. */
async function checkStyles(page, { js, css }, initial, styled) {
  const loaded = await classesIn([...css, ...initial.css], dist);
  const missing = [...(await classesIn(js, dist))].filter((name) => styled.has(name) && !loaded.has(name));
  if (missing.length === 0) return;
  throw new Error(
    `${page} loads no style for ${missing.join(', ')}: find them in @mantine/core/styles, see src/ui/mantine.css.`,
  );
}

async function classesIn(files, folder) {
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  return new Set(texts.flatMap((text) => text.match(MANTINE_CLASS) ?? []));
}

/** What the browser loads for a chunk: its own files, and those of its static imports. */
function filesOf(manifest, key) {
  const chunks = [...closure(manifest, key)].map((each) => manifest[each]);
  return { js: chunks.map(({ file }) => file), css: [...new Set(chunks.flatMap(({ css = [] }) => css))] };
}

/** The static imports of a chunk, itself included. */
function closure(manifest, key, found = new Set()) {
  if (found.has(key)) return found;
  found.add(key);
  for (const next of manifest[key].imports ?? []) closure(manifest, next, found);
  return found;
}
