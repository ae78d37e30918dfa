/** `node tools/set-version.mjs 1.0.0`: gives every package of the checkout, and the chart, one version. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const [version] = process.argv.slice(2);
const root = dirname(import.meta.dirname);
if (!/^\d+\.\d+\.\d+(-[\w.-]+)?$/.test(version ?? '')) {
  console.error('Usage: node tools/set-version.mjs <version such as 1.0.0 or 1.0.0-rc.1>');
  process.exit(1);
}

const manifests = ['package.json', '{apps,packages,tools}/*/package.json', '{tests,tools}/package.json'];
for (const path of manifests.flatMap((pattern) => globSync(pattern, { cwd: root }))) {
  replaceIn(path, /^( {2}"version": )"[^"]*"/m, `$1"${version}"`);
}
replaceIn('infra/helm/corral/Chart.yaml', /^(version|appVersion): .*$/gm, `$1: ${version}`);

function replaceIn(path, pattern, text) {
  const file = join(root, path);
  writeFileSync(file, readFileSync(file, 'utf8').replace(pattern, text));
}
