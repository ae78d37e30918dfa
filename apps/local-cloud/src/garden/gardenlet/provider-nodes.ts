import { createHash } from 'node:crypto';
import type { Shoot } from '../kinds/shoot/shoot.js';
import { sharedObjectOf } from '../store/held.js';
import type { ObjectStore } from '../store/object-store.js';
import { tokenOf } from './provider-token.js';
import { simulationOf } from './simulation.js';

/** A node of a Shoot as the provider sees it: a server that the garden has made with the token of the Shoot. */
export interface ProviderNode {
  readonly id: number;
  readonly name: string;
  readonly createdAt: string;
  readonly serverType: string;
  readonly location: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The nodes of all Shoots whose token is of that project. */
export function providerNodesOf(
  store: ObjectStore,
  project: string,
  projectOf: (token: string) => string,
): ProviderNode[] {
  return store.list('shoots').flatMap((held) => {
    const shoot = sharedObjectOf<Shoot>(held);
    const token = tokenOf(store, shoot);
    if (token === null || projectOf(token) !== project) return [];
    const { spec, machines } = simulationOf(held).reconciled ?? { spec: shoot.spec, machines: [] };
    return machines.map(({ name, pool, createdAt }) => ({
      ...{ id: numberOf(name), name, createdAt },
      serverType: spec.provider?.workers?.find((worker) => worker.name === pool)?.machine.type ?? 'cx22',
      location: shoot.spec.region ?? 'hel1',
      labels: { 'mcm.gardener.cloud/cluster': shoot.status.technicalID, 'mcm.gardener.cloud/role': 'node' },
    }));
  });
}

/** The same for a name at any time, and no number of a server that was made by hand. */
const numberOf = (name: string): number =>
  2 ** 40 + Number.parseInt(createHash('sha256').update(name).digest('hex').slice(0, 9), 16);
