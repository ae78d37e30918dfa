import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';

const GLOBALS = new URL('./globals.mjs', import.meta.url).href;

let mapsDir;

/** @param data `mapsDir`: where source maps are put, in files named after a hash of their modules' paths */
export function initialize(data) {
  mapsDir = data.mapsDir;
}

/** `./x.js` in TypeScript means `./x.ts` where that is what there is. */
export async function resolve(specifier, context, nextResolve) {
  if (specifier === '@jest/globals') return { url: GLOBALS, shortCircuit: true };
  if (/^\.\.?\/.*\.js$/.test(specifier) && context.parentURL && /\.ts(\?|$)/.test(context.parentURL)) {
    const url = new URL(`${specifier.slice(0, -3)}.ts`, context.parentURL);
    if (existsSync(url)) return { url: url.href, format: 'module', shortCircuit: true };
  }
  return nextResolve(specifier, context);
}

export async function load(url, context, nextLoad) {
  if (!/\.ts(\?|$)/.test(url) || !url.startsWith('file:')) return nextLoad(url, context);
  const filename = fileURLToPath(url);
  const { code, map } = await transform(await readFile(filename, 'utf8'), {
    filename,
    swcrc: false,
    sourceMaps: true,
    jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    module: { type: 'es6' },
  });
  await writeFile(join(mapsDir, createHash('sha256').update(filename).digest('hex')), map);
  return { format: 'module', source: code, shortCircuit: true };
}
