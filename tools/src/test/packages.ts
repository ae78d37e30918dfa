import { existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { JestReport, PackageResult } from './add-up.js';

/** A package with tests. `folder` is relative to the root of the repository: `apps/admin`. */
export type TestedPackage = { name: string; folder: string };

/** Whole-system tests run alone, after all others: they start real processes and watch the clock. */
export const SYSTEM_TESTS = '@corral/tests';

export async function listTestedPackages(root: string): Promise<TestedPackage[]> {
  const folders = ['tools', 'tests'];
  for (const parent of ['apps', 'packages']) {
    for (const name of await readdir(join(root, parent))) folders.push(`${parent}/${name}`);
  }
  const tested: TestedPackage[] = [];
  for (const folder of folders.sort()) {
    const file = join(root, folder, 'package.json');
    if (!existsSync(file)) continue;
    const { name, scripts } = JSON.parse(await readFile(file, 'utf8')) as { name: string; scripts?: { test?: string } };
    if (scripts?.test !== undefined) tested.push({ name, folder });
  }
  return tested;
}

/** `auth`, `@corral/auth` and `packages/auth` name a package; whatever names none is a pattern for Jest. */
export function chooseTests(all: TestedPackage[], words: string[]): { chosen: TestedPackage[]; patterns: string[] } {
  const isNamedBy = ({ name, folder }: TestedPackage, word: string): boolean =>
    [name, name.replace('@corral/', ''), folder].includes(word.replace(/\/$/, ''));
  const chosen = all.filter((each) => words.some((word) => isNamedBy(each, word)));
  const patterns = words.filter((word) => !all.some((each) => isNamedBy(each, word)));
  return { chosen: chosen.length > 0 ? chosen : all, patterns };
}

const resultsIn = (root: string, { folder }: TestedPackage): string => join(root, folder, 'test-results');

/** A package that cannot be built must not show the numbers of an earlier run. turbo brings back what it has cached. */
export async function forgetResults(root: string, packages: TestedPackage[]): Promise<void> {
  for (const each of packages) await rm(resultsIn(root, each), { recursive: true, force: true });
}

export async function readResults(root: string, packages: TestedPackage[]): Promise<PackageResult[]> {
  return Promise.all(
    packages.map(async (each) => {
      const text = await readFile(join(resultsIn(root, each), 'jest.json'), 'utf8').catch(() => null);
      return { name: each.name, report: text === null ? null : (JSON.parse(text) as JestReport) };
    }),
  );
}
