import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { archive } from './archive.js';
import type { Checkout } from './checkout.js';
import { run } from './run.js';

/** The services for machines with Node.js and systemd. The command of operators migrates the database. */
const SERVICES = ['dns-gateway', 'cluster-api', 'reconciler', 'admin'];

/** An archive per service, with what its image has, its unit and its licences. */
export function packServices(checkout: Checkout, out: string): void {
  const { folder, version, epoch, env } = checkout;
  const parent = join(folder, 'release-services');
  mkdirSync(parent);
  mkdirSync(join(out, 'services'));
  for (const service of SERVICES) {
    const root = `corral-${service}-${version}`;
    run('pnpm', [`--filter=@corral/${service}`, 'deploy', '--prod', '--legacy', join(parent, root)], {
      cwd: folder,
      env,
    });
    for (const file of ['LICENSE', 'NOTICE']) cpSync(join(folder, file), join(parent, root, file));
    if (service === 'admin')
      cpSync(join(folder, 'prisma/migrations'), join(parent, root, 'migrations'), { recursive: true });
    else cpSync(join(folder, 'infra/systemd/corral@.service'), join(parent, root, 'corral@.service'));
    archive({ parent, root, file: join(out, 'services', `${root}.tar.gz`), epoch });
  }
}
