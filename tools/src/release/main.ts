/** `npm run release`: everything that a release consists of but images, as files. Equal commits make equal files. */
import { mkdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { writeChecksums } from './archive.js';
import { buildCheckout } from './checkout.js';
import { copySboms, packChart, writeOpenApi } from './documents.js';
import { packNpm } from './npm-packages.js';
import { parseReleaseArguments } from './release-arguments.js';
import { packServices } from './services.js';
import { packSingleFiles } from './single-files.js';
import { hasGo, packTerraformProvider } from './terraform-provider.js';

const repository = fileURLToPath(new URL('../../..', import.meta.url));
const say = (line: string): void => console.error(line);

async function makeRelease(args: readonly string[]): Promise<void> {
  const { version, out, platforms } = parseReleaseArguments(args, repository);
  say('Building the current commit …');
  const checkout = buildCheckout(repository, version);
  try {
    rmSync(out, { recursive: true, force: true });
    mkdirSync(out, { recursive: true });
    say('Packing services, packages, chart and documents …');
    packServices(checkout, out);
    packNpm(checkout, out);
    packChart(checkout, out);
    writeOpenApi(out);
    copySboms(checkout, out);
    say(`Making single files for ${platforms.join(', ')} …`);
    await packSingleFiles(checkout, out, platforms);
    if (hasGo()) packTerraformProvider(checkout, out, platforms);
    else say('Go is missing, so there is no provider of Terraform.');
    await writeChecksums(out);
    say(`Corral ${version} of ${checkout.commit} is in ${out}.`);
  } finally {
    checkout.remove();
  }
}

try {
  await makeRelease(process.argv.slice(2));
} catch (error) {
  say((error as Error).message);
  process.exitCode = 1;
}
