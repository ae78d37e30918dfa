import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** `folder` is relative to the root of the repository, such as `apps/admin`. */
export type Package = { name: string; folder: string };

export async function listPackages(root: string): Promise<Package[]> {
  const folders = ['tools', 'tests'];
  for (const parent of ['apps', 'packages', 'tools']) {
    for (const name of await readdir(join(root, parent))) folders.push(`${parent}/${name}`);
  }
  const packages: Package[] = [];
  for (const folder of folders.sort()) {
    const file = join(root, folder, 'package.json');
    if (!existsSync(file)) continue;
    const { name } = JSON.parse(await readFile(file, 'utf8')) as { name: string };
    packages.push({ name, folder });
  }
  return packages;
}

/** `auth`, `@corral/auth` and `packages/auth` name a package. Any other word is a pattern for paths of test files. */
export function chooseTests(all: Package[], words: string[]): { chosen: Package[]; patterns: string[] } {
  const isNamedBy = ({ name, folder }: Package, word: string): boolean =>
    [name, name.replace('@corral/', ''), folder].includes(word.replace(/\/$/, ''));
  const chosen = all.filter((each) => words.some((word) => isNamedBy(each, word)));
  const patterns = words.filter((word) => !all.some((each) => isNamedBy(each, word)));
  return { chosen: chosen.length > 0 ? chosen : all, patterns };
}
