import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';

/* What says who may use Corral, and which version it is. */

const repository = fileURLToPath(new URL('../../..', import.meta.url));
const read = (path: string): string => readFileSync(join(repository, path), 'utf8');
const filesOf = (pattern: string): string[] =>
  spawnSync('git', ['ls-files', pattern], { cwd: repository, encoding: 'utf8' }).stdout.trim().split('\n');

const {
  version,
  license,
  repository: forge,
} = JSON.parse(read('package.json')) as {
  version: string;
  license: string;
  repository: { url: string };
};
const programs = ['dns-gateway', 'cluster-api', 'reconciler', 'admin', 'cli', 'console'];

interface Bom {
  readonly components: readonly {
    readonly group?: string;
    readonly name: string;
    readonly licenses: readonly { readonly license?: { readonly id?: string }; readonly expression?: string }[];
  }[];
}

/** What is shipped, by licence. Versions are in the bills of materials only, so that an update of a package changes nothing here. */
function noticeText(): string {
  const byLicense = new Map<string, Set<string>>();
  for (const program of programs) {
    const { components } = JSON.parse(read(`apps/${program}/dist/sbom.cdx.json`)) as Bom;
    for (const { group, name, licenses } of components) {
      const of = licenses.map(({ license: one, expression }) => one?.id ?? expression).join(' AND ');
      byLicense.set(of, (byLicense.get(of) ?? new Set()).add(group === undefined ? name : `${group}/${name}`));
    }
  }
  const sorted = [...byLicense].sort(([one], [other]) => (one < other ? -1 : 1));
  return [
    'Corral\nCopyright The Corral authors',
    'The programs contain packages of others. The texts of their licences are in the third-party-licenses.txt of each program.',
    ...sorted.map(([of, names]) =>
      `${of}\n${[...names]
        .sort()
        .map((name) => `  ${name}\n`)
        .join('')}`.trimEnd(),
    ),
  ]
    .join('\n\n')
    .concat('\n');
}

describe('the project', () => {
  it('has one licence, which every package and the chart name', () => {
    expect(license).toBe('Apache-2.0');
    expect(read('LICENSE')).toContain('Apache License\n                           Version 2.0');
    for (const path of filesOf('*package.json'))
      expect([path, JSON.parse(read(path)).license]).toEqual([path, license]);
    expect(parse(read('infra/helm/corral/Chart.yaml')).annotations['artifacthub.io/license']).toBe(license);
  });

  it('has one version, which every package and the chart name', () => {
    const packages = filesOf('*package.json').filter((path) => !path.startsWith('tests/clients/'));
    for (const path of packages) expect([path, JSON.parse(read(path)).version]).toEqual([path, version]);
    const chart = parse(read('infra/helm/corral/Chart.yaml'));
    expect([chart.version, chart.appVersion]).toEqual([version, version]);
  });

  it('has one repository, which the chart, the owners of the code and the commands for its images name', () => {
    const [, address = '', owner = '', name = ''] =
      /^git\+(https:\/\/github\.com\/([^/]+)\/([^/]+))\.git$/.exec(forge.url) ?? [];

    expect(parse(read('infra/helm/corral/Chart.yaml')).sources).toEqual([address]);
    expect(read('docs/how-to/air-gapped.md')).toContain(`ghcr.io/${owner}/${name}/$image`);
    expect(new Set(read('.github/CODEOWNERS').match(/(?<=@)[^/\s]+(?=\/)/g))).toEqual(new Set([owner]));
  });

  it.each(programs.filter((name) => name !== 'console'))('tells the version by %s --version', (program) => {
    const main = join(repository, 'apps', program, 'dist/main.js');

    expect(spawnSync(process.execPath, [main, '--version'], { encoding: 'utf8', env: {} }).stdout).toBe(`${version}\n`);
  });

  it('lists in NOTICE what its programs contain; otherwise run: CORRAL_WRITE_DOCS=1 npm test -- tests project', () => {
    if (process.env.CORRAL_WRITE_DOCS) writeFileSync(join(repository, 'NOTICE'), noticeText());

    expect(read('NOTICE')).toBe(noticeText());
  });
});
