import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { archive } from './archive.js';
import type { Checkout } from './checkout.js';
import { run } from './run.js';
import type { Platform } from './single-files.js';

const NAME = 'terraform-provider-corral';
/** Terraform looks here below `~/.terraform.d/plugins`. */
const PLUGINS = 'registry.terraform.io';

export const hasGo = (): boolean => spawnSync('go', ['version']).status === 0;

/** The provider of Terraform, an archive for each platform, which is unpacked where Terraform looks for providers. It needs Go. */
export function packTerraformProvider(checkout: Checkout, out: string, wanted: readonly Platform[]): void {
  const { folder, version, epoch } = checkout;
  const sources = join(folder, 'clients', NAME);
  const licenses = licensesOf(sources);
  mkdirSync(join(out, 'terraform'));
  for (const platform of wanted) {
    const parent = join(folder, 'release-terraform', platform);
    const place = join(parent, PLUGINS, 'corral/corral', version, platform.replace('-', '_'));
    mkdirSync(place, { recursive: true });
    const [GOOS, GOARCH] = platform.split('-');
    const flags = ['-trimpath', '-buildvcs=false', '-ldflags', `-s -w -X main.version=${version}`];
    run('go', ['build', ...flags, '-o', join(place, `${NAME}_v${version}`), '.'], {
      cwd: sources,
      env: { GOOS, GOARCH, CGO_ENABLED: '0', GOFLAGS: '' },
    });
    cpSync(join(folder, 'LICENSE'), join(place, 'LICENSE'));
    writeFileSync(join(place, 'third-party-licenses.txt'), licenses);
    const file = join(out, 'terraform', `${NAME}-${version}-${platform}.tar.gz`);
    archive({ parent, root: PLUGINS, file, epoch });
  }
}

/** The texts of the licences of all modules that are built in. */
function licensesOf(sources: string): string {
  const format = '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}';
  const lines = run('go', ['list', '-deps', '-f', format, '.'], { cwd: sources }).split('\n');
  const modules = [...new Set(lines.filter((line) => line !== ''))].sort();
  return modules
    .map((line) => {
      const [module = '', folder = ''] = line.split('\t');
      const file = readdirSync(folder).find((name) => /^(licen[cs]e|copying)/i.test(name));
      if (file === undefined) throw new Error(`${module} has no text of its licence.`);
      return `${module}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
