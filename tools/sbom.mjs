/**
 * Writes what an app ships: a software bill of materials (CycloneDX 1.6) and the licences of all packages of others. The build
 * fails for a package whose licence is unknown or not allowed.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Contrib, Enums, Models, Serialize, Spec } from '@cyclonedx/cyclonedx-library';
import satisfies from 'spdx-satisfies';

/** Licences that allow redistribution with a notice. */
const ALLOWED = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Python-2.0',
  'Unlicense',
  'Zlib',
];
const OWN_SCOPE = '@corral/';
const PACKAGE_FOLDER = /^(.*[/\\]node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+)[/\\]/;
const LICENSE_FILE = /^(?:licen[cs]e|copying|notice)/i;

/**
 * @param app the app's `package.json`
 * @param modules paths of the modules in its bundle
 * @param installed names of packages that are not bundled and stand beside it, with all that they depend on
 * @param folder where the files are written
 * @throws an error that lists the packages without an allowed licence
 */
export async function writeSbom({ app, modules, installed = [], folder }) {
  const folders = new Set(modules.flatMap((path) => PACKAGE_FOLDER.exec(path)?.[1] ?? []));
  for (const name of installed) await addInstalled(name, process.cwd(), folders);
  const packages = (await Promise.all([...folders].map(readPackage)))
    .filter(({ name }) => name !== undefined && !name.startsWith(OWN_SCOPE))
    .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
    .filter((each, at, all) => at === 0 || keyOf(each) !== keyOf(all[at - 1]));
  refuseUnknownLicenses(packages);
  await writeFile(join(folder, 'sbom.cdx.json'), sbomOf(app, packages));
  await writeFile(join(folder, 'third-party-licenses.txt'), packages.map(noticeOf).join('\n\n'));
}

const keyOf = ({ name, version }) => `${name}@${version}`;

async function addInstalled(name, from, folders) {
  const folder = await findPackage(name, from);
  if (folders.has(folder)) return;
  folders.add(folder);
  const { dependencies = {} } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  for (const each of Object.keys(dependencies)) await addInstalled(each, folder, folders);
}

async function findPackage(name, from) {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name);
    if (existsSync(join(found, 'package.json'))) return realpath(found);
    if (folder === dirname(folder)) throw new Error(`${name} is not installed for ${from}.`);
  }
}

async function readPackage(folder) {
  const data = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const names = (await readdir(folder)).filter((name) => LICENSE_FILE.test(name)).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8').catch(() => '')));
  return { ...data, license: licenseOf(data), texts: texts.filter((text) => text !== '') };
}

/** Old packages state an object or a list. */
function licenseOf({ license, licenses }) {
  if (typeof license === 'string') return license;
  const stated = license ? [license] : Array.isArray(licenses) ? licenses : [];
  return stated.length === 0 ? 'UNKNOWN' : `(${stated.map(({ type }) => type).join(' OR ')})`;
}

function refuseUnknownLicenses(packages) {
  const refused = packages.filter(({ license }) => !isAllowed(license));
  if (refused.length === 0) return;
  const list = refused.map((each) => `${keyOf(each)} (${each.license})`).join(', ');
  throw new Error(`Not shipped without an allowed licence: ${list}. Allowed are ${ALLOWED.join(', ')}.`);
}

function isAllowed(license) {
  try {
    return satisfies(license, ALLOWED);
  } catch {
    return false;
  }
}

function sbomOf({ name, version, license }, packages) {
  const licenses = new Contrib.License.Factories.LicenseFactory(() => undefined);
  const references = new Contrib.FromNodePackageJson.Factories.ExternalReferenceFactory();
  const builder = new Contrib.FromNodePackageJson.Builders.ComponentBuilder(references, licenses);
  const component = new Models.Component(Enums.ComponentType.Application, name, { version, bomRef: name });
  component.licenses.add(licenses.makeFromString(license));
  const supplier = new Models.OrganizationalEntity({ name: 'The Corral authors' });
  const metadata = new Models.Metadata({ component, supplier, tools: toolsOf() });
  // The same commit makes the same file: a release states the time of its commit, and other builds none.
  const { SOURCE_DATE_EPOCH: epoch } = process.env;
  if (epoch) metadata.timestamp = new Date(Number(epoch) * 1_000);
  const bom = new Models.Bom({ metadata });
  for (const each of packages) {
    const made = builder.makeComponent(each);
    made.purl = `pkg:npm/${each.name.replace('@', '%40')}@${each.version}`;
    made.bomRef.value = keyOf(each);
    component.dependencies.add(made.bomRef);
    bom.components.add(made);
  }
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  return `${serializer.serialize(bom, { sortLists: true, space: 2 })}\n`;
}

function toolsOf() {
  const name = '@cyclonedx/cyclonedx-library';
  const { version } = createRequire(import.meta.url)(`${name}/package.json`);
  const tool = new Models.Component(Enums.ComponentType.Library, name, { version });
  return new Models.Tools({ components: new Models.ComponentRepository([tool]) });
}

const noticeOf = ({ name, version, license, texts }) =>
  [`${name} ${version}\nLicence: ${license}`, ...texts.map((text) => text.trim())].join('\n\n');
