import { personOf } from '@corral/auth';
import type { HostedNameBody } from '@corral/contracts';
import { fullName, type HostedName, objectsOfName, shownObject } from '@corral/domain';
import type { HostedNameRecord } from './store.js';

/** The parts of the installation that objects of names contain. */
export interface NamePlace {
  readonly zone: string;
  readonly endpoint: string;
}

/** A name on a cluster as clients see it: with the objects, and nothing of its token. */
export function hostedNameBody(of: HostedNameRecord, { zone, endpoint }: NamePlace): HostedNameBody {
  const { name, cluster, state, message, creator } = of;
  const { records, certificates } = objectsOfName({ name, zone, endpoint, acmeServer: '' } satisfies HostedName, null);
  return {
    name,
    host: fullName({ name, zone }),
    cluster,
    state,
    message,
    issuer: name,
    objects: [...records, ...certificates].map(shownObject),
    createdAt: of.createdAt.toISOString(),
    createdBy: creator && personOf(creator),
    checkedAt: of.checkedAt?.toISOString() ?? null,
  };
}
