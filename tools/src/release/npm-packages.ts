import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Checkout } from './checkout.js';
import { run } from './run.js';

/** The packages, with their paths and their names on npm. */
const PACKAGES = [
  { path: 'apps/cli', name: 'corral' },
  { path: 'packages/client', name: '@corral/client' },
];

/** Packs what programs and people install from npm. Everything that they import is in them. */
export function packNpm({ folder, env }: Checkout, out: string): void {
  mkdirSync(join(out, 'npm'));
  // npm takes provenance only from the repository that a package names.
  const { repository } = readManifest(folder);
  for (const { path, name } of PACKAGES) {
    const from = join(folder, path);
    const staged = join(folder, 'release-npm', name);
    mkdirSync(staged, { recursive: true });
    for (const part of ['dist', 'README.md']) cpSync(join(from, part), join(staged, part), { recursive: true });
    for (const file of ['LICENSE', 'NOTICE']) cpSync(join(folder, file), join(staged, file));
    const manifest = { ...publicManifest(readManifest(from), name), repository };
    writeFileSync(join(staged, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    run('npm', ['pack', '--silent', `--pack-destination=${join(out, 'npm')}`], { cwd: staged, env });
  }
}

const readManifest = (folder: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

/** The manifest without what only a checkout can use. */
function publicManifest(manifest: Record<string, unknown>, name: string): Record<string, unknown> {
  const { private: _, scripts: _scripts, devDependencies: _tools, files: _files, exports, ...rest } = manifest;
  const entries = exports as Record<string, Record<string, string>> | undefined;
  const published = Object.entries(entries ?? {}).map(([path, { '@corral/source': _source, ...targets }]) => [
    path,
    targets,
  ]);
  return {
    ...rest,
    name,
    ...(entries === undefined ? {} : { exports: Object.fromEntries(published) }),
    publishConfig: { access: 'public', provenance: true },
  };
}
