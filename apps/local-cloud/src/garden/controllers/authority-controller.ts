import type { Clock } from '../../clock.js';
import type { GardenSettings } from '../garden-settings.js';
import { DueQueue } from '../gardenlet/due-queue.js';
import { configMaps, secrets } from '../kinds/core-kinds.js';
import { apiVersionOf } from '../kinds/kind.js';
import type { Shoot } from '../kinds/shoot/shoot.js';
import type { KubeObject } from '../kube/object.js';
import type { Objects } from '../rest/objects.js';
import type { ShootAuthorities } from '../shoot-api/shoot-authorities.js';
import { type Held, keyOf, objectOf } from '../store/held.js';
import type { ObjectStore } from '../store/object-store.js';

const ENTRY = 'ca.crt';
const write = { user: 'system:gardenlet', fieldManager: 'gardenlet', subresource: '', dryRun: false } as const;

export interface AuthorityDeps {
  readonly store: ObjectStore;
  readonly objects: Objects;
  readonly authorities: ShootAuthorities;
  readonly clock: Clock;
  readonly settings: () => Pick<GardenSettings, 'authorityIn'>;
  readonly afterMs: () => number;
}

/**
 * Keeps the certificate authority of each Shoot that has an address beside it in its Project, a moment after the
 * address is told. What somebody has changed of it stays: the gardenlet would put it right with its next flow only.
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
    for (const { plural } of [configMaps, secrets]) store.remove(plural, held.namespace, nameOf(held));
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
    const { plural } = authorityIn === 'configmap' ? configMaps : secrets;
    return store.get(plural, held.namespace, nameOf(held)) === null;
  }

  async function reconcile(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/');
    const held = store.get('shoots', namespace, name);
    if (held === null || !isMissing(held)) return;
    const { certificate } = await authorities.get(held);
    const current = store.get('shoots', namespace, name);
    if (isClosed || current?.uid !== held.uid || !isMissing(current)) return;
    const inMap = settings().authorityIn === 'configmap';
    const kind = inMap ? configMaps : secrets;
    const object: KubeObject & { data: Record<string, string> } = {
      ...{ apiVersion: apiVersionOf(kind), kind: kind.kind },
      metadata: {
        name: nameOf(held),
        namespace,
        labels: { 'gardener.cloud/role': 'ca-cluster', 'shoot.gardener.cloud/name': name },
        ownerReferences: [ownerOf(objectOf<Shoot>(current))],
      },
      data: { [ENTRY]: inMap ? certificate : Buffer.from(certificate).toString('base64') },
    };
    objects.create(kind, namespace, object, write);
  }
}

const nameOf = ({ name }: Pick<Held, 'name'>): string => `${name}.ca-cluster`;

const ownerOf = ({ apiVersion, kind, metadata: { name = '', uid = '' } }: Shoot) => ({ apiVersion, kind, name, uid });
