/**
 * Makes the program of an app: `src/main.ts` with all that it imports in few files, so that a process starts in a third of the
 * time that many hundred small modules take. Run in the folder of the app, by its `bundle`. Types are checked apart. Packages of
 * this repository are bundled from their sources, so that they need not be built first. What is bundled is a development
 * dependency of the app, so that its image has no copy.
 *
 * `--single`: everything in one file, in `single/`, for an executable that needs no Node.js.
 *
 * `--local main …`: programs that are never shipped, by their paths in `src`. They are written to `programs/`, because `dist/`
 * is what `tsc` makes of their package.
 */
import { readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { writeSbom } from './sbom.mjs';

/** They look for files of their own beside them. */
const UNBUNDLED = ['swagger-ui-dist', '@prisma/schema-engine-wasm'];

const ALIASES = {
  // Its main form finds its parts in a way that only Node.js can follow.
  'jsonc-parser': 'jsonc-parser/lib/esm/main.js',
  // Node.js 24 warns of its own wherever it is not asked for in `node_modules`.
  punycode: 'punycode/punycode.js',
};

/** Libraries in CommonJS ask for Node's own modules by `require`, which a module has not. */
const REQUIRE = "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";

/** An older one would fail somewhere in the middle. 78: a service is not started again and again. Parts may declare a `process` of their own. */
const ASK_FOR_NODE_24 = `if (parseInt(globalThis.process.versions.node) < 24) {
  console.error('Corral needs Node.js 24 or newer; this is ' + globalThis.process.versions.node + '.');
  globalThis.process.exit(78);
}`;

const { values, positionals: programs } = parseArgs({
  allowPositionals: true,
  options: { local: { type: 'boolean', default: false }, single: { type: 'boolean', default: false } },
});
const isShipped = !values.local;
const isSingle = values.single;
const outdir = isSingle ? 'single' : isShipped ? 'dist' : 'programs';
const app = JSON.parse(await readFile('package.json', 'utf8'));
const { dependencies = {} } = app;
const external = UNBUNDLED.filter((name) => name in dependencies && !isSingle);

await rm(join(outdir, 'chunks'), { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: (isShipped ? ['main'] : programs).map((program) => `src/${program}.ts`),
  outbase: 'src',
  outdir,
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  conditions: ['@corral/source', 'module'],
  platform: 'node',
  target: 'node24',
  format: 'esm',
  alias: ALIASES,
  // What is imported when it is needed stays apart until then.
  splitting: !isSingle,
  sourcemap: isSingle ? false : 'linked',
  minifyWhitespace: true,
  lineLimit: 200,
  define: { 'process.env.CORRAL_VERSION': JSON.stringify(app.version) },
  metafile: true,
  external: external.flatMap((name) => [name, `${name}/*`]),
  banner: { js: `${ASK_FOR_NODE_24}\n${REQUIRE}` },
  logLevel: 'warning',
});
if (isShipped) {
  await writeSbom({
    app,
    modules: Object.keys(metafile.inputs).map((path) => resolve(path)),
    // The build of the console lists its own.
    installed: Object.keys(dependencies).filter((name) => !name.startsWith('@corral/')),
    folder: outdir,
  });
}
