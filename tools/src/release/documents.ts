import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterOpenApi, dnsOpenApi, dnsRoutes } from '@corral/contracts';
import { archive } from './archive.js';
import { type Checkout, PROGRAMS } from './checkout.js';

/** The chart, as `helm package` names it. */
export function packChart({ folder, version, epoch }: Checkout, out: string): void {
  mkdirSync(join(out, 'chart'));
  archive({
    parent: join(folder, 'infra/helm'),
    root: 'corral',
    file: join(out, 'chart', `corral-${version}.tgz`),
    epoch,
  });
}

/** The OpenAPI documents, for an installation at an example address. */
export function writeOpenApi(out: string): void {
  const documents = {
    'dns-api.json': dnsOpenApi('https://dns.example.org/v1', dnsRoutes),
    'cluster-api.json': clusterOpenApi('https://clusters.example.org'),
  };
  mkdirSync(join(out, 'openapi'));
  for (const [name, document] of Object.entries(documents)) {
    writeFileSync(join(out, 'openapi', name), `${JSON.stringify(document, null, 2)}\n`);
  }
}

export function copySboms({ folder }: Checkout, out: string): void {
  mkdirSync(join(out, 'sbom'));
  for (const program of PROGRAMS) {
    cpSync(join(folder, 'apps', program, 'dist/sbom.cdx.json'), join(out, 'sbom', `${program}.cdx.json`));
  }
}
