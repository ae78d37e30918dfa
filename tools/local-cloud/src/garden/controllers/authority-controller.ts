import type { Clock } from '../../clock.js';
import { DueQueue } from '../../clock.js';
import type { GardenSettings } from '../garden-settings.js';
import { configMaps } from '../kinds/core-kinds.js';
import { apiVersionOf } from '../kinds/kind.js';
import type { Shoot } from '../kinds/shoot/shoot.js';
import type { KubeObject } from '../kube/object.js';
import { type Held, keyOf, objectOf } from '../objects/held.js';
import type { ObjectStore } from '../objects/object-store.js';
import type { Objects } from '../objects/objects.js';
import type { ShootAuthorities } from '../shoot-api/shoot-authorities.js';

const ENTRY = 'ca.crt';
const write = { user: 'system:gardenlet', fieldManager: 'gardenlet', subresource: '' } as const;

export interface AuthorityDeps {
  readonly store: ObjectStore;
  readonly objects: Objects;
  readonly authorities: ShootAuthorities;
  readonly clock: Clock;
  readonly settings: () => Pick<GardenSettings, 'authorityIn'>;
  readonly afterMs: () => number;
}

/**
 * Publishes the certificate authority of each Shoot that has an address in the Shoot's Project, shortly after the
 * address is known. Manual changes stay: the real gardenlet would correct them only in its next flow.
 */
export function createAuthorityController(deps: AuthorityDeps): { close(): void } {
  const { store, objects, authorities, clock, settings, afterMs } = deps;
  const queue = new DueQueue(clock, (key) => void reconcile(key));
  let isClosed = false;
  const consider = (held: Held): void => {
    const key = keyOf(held.namespace, held.name);
    if (!queue.has(key) && isMissing(held)) queue.add(key, afterMs());
  };
  for (const held of store.list('shoots')) consider(held);
  const unsubscribe = store.subscribe('shoots', ({ held, type }) => {
    if (type !== 'DELETED') return consider(held);
    store.remove(configMaps.plural, held.namespace, nameOf(held));
  });
  return {
    close() {
      isClosed = true;
      unsubscribe();
      queue.close();
    },
  };

  function isMissing(held: Held): boolean {
    const { authorityIn } = settings();
    if (authorityIn === 'nowhere' || !held.text.includes('"advertisedAddresses":[{')) return false;
    return store.get(configMaps.plural, held.namespace, nameOf(held)) === null;
  }

  async function reconcile(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/');
    const held = store.get('shoots', namespace, name);
    if (held === null || !isMissing(held)) return;
    const { certificate } = await authorities.get(held);
    const current = store.get('shoots', namespace, name);
    if (isClosed || current?.uid !== held.uid || !isMissing(current)) return;
    const object: KubeObject & { data: Record<string, string> } = {
      apiVersion: apiVersionOf(configMaps),
      kind: configMaps.kind,
      metadata: {
        name: nameOf(held),
        namespace,
        labels: { 'gardener.cloud/role': 'ca-cluster', 'shoot.gardener.cloud/name': name },
        ownerReferences: [ownerOf(objectOf<Shoot>(current))],
      },
      data: { [ENTRY]: certificate },
    };
    objects.create(configMaps, namespace, object, write);
  }
}

const nameOf = ({ name }: Pick<Held, 'name'>): string => `${name}.ca-cluster`;

const ownerOf = ({ apiVersion, kind, metadata: { name = '', uid = '' } }: Shoot) => ({ apiVersion, kind, name, uid });
