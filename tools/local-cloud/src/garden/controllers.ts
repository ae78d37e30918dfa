import { createHash } from 'node:crypto';
import { configMaps, credentialsBindings, namespaces, projects, secrets, shoots } from '../kube/kinds.js';
import { equalJson, type KubeObject } from '../kube/object.js';
import { clusterOf, type Held, type ObjectStore, objectOf } from '../kube/store.js';
import { inGarden } from '../kube/writes.js';
import type { CredentialsBinding, Project } from './objects.js';
import type { GardenParts } from './parts.js';
import type { Shoot } from './shoots/shoot.js';

type Place = Pick<Held, 'namespace' | 'name'>;

const MANAGER = 'gardener-controller-manager';

const looks: Readonly<Record<string, (parts: GardenParts, place: Place) => void>> = {
  [projects.plural]: lookAtProject,
  [credentialsBindings.plural]: lookAtBinding,
  [shoots.plural]: publishAuthority,
};

/** Does what Gardener does around Shoots: for Projects, credentials and certificate authorities. */
export function startControllers(parts: GardenParts): { close(): void } {
  const { store, authorities } = parts;
  let isClosed = false;
  /** Looks at an object that is there or changes, after the write is answered. */
  const consider = (collection: string, held: Held): void => {
    const look = looks[collection];
    if (look !== undefined) setImmediate(() => isClosed || look(parts, held));
  };
  for (const collection of Object.keys(looks)) {
    for (const held of store.list(collection)) consider(collection, held);
  }
  const unsubscribe = store.subscribe(({ collection, type, held }) => {
    if (type !== 'DELETED') consider(collection, held);
    else if (collection === shoots.plural) {
      store.removeCluster(clusterOf(held));
      authorities.forget(held);
      store.remove(configMaps.plural, held.namespace, authorityNameOf(held));
      // A deleted binding may be waiting for this Shoot.
      lookAtBinding(parts, { namespace: held.namespace, name: bindingOf(held) });
    }
  });
  return {
    close() {
      isClosed = true;
      unsubscribe();
    },
  };
}

/** Makes the namespace of a Project, and the Project Ready. */
function lookAtProject({ store, writes }: GardenParts, { name }: Place): void {
  const held = store.get(projects.plural, '', name);
  if (held === null) return;
  const project = objectOf<Project>(held);
  const shortHash = createHash('sha256').update(held.uid).digest('hex').slice(0, 5);
  const namespace = project.spec?.namespace ?? `garden-${name}-${shortHash}`;
  if (store.get(namespaces.plural, '', namespace) === null) {
    const labels = { 'gardener.cloud/role': 'project', 'project.gardener.cloud/name': name };
    const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { labels } };
    writes.create(inGarden(namespaces, '', namespace), object, MANAGER);
  }
  const next = { ...project, spec: { ...project.spec, namespace }, status: { phase: 'Ready' } };
  if (!equalJson(next, project)) store.put(projects.plural, next);
}

const FINALIZER = 'gardener.cloud/gardener';

/** Keeps a binding and its Secret while a Shoot uses them. A Secret belongs to one binding. */
function lookAtBinding({ store }: GardenParts, place: Place): void {
  const held = store.get(credentialsBindings.plural, place.namespace, place.name);
  if (held === null) return;
  const { metadata, credentialsRef } = objectOf<CredentialsBinding>(held);
  const secret = store.get(secrets.plural, credentialsRef.namespace ?? '', credentialsRef.name ?? '');
  const isLeaving = metadata.deletionTimestamp !== undefined;
  const uses = (shoot: Held): boolean => shoot.namespace === place.namespace && bindingOf(shoot) === place.name;
  if (isLeaving && store.list(shoots.plural).some(uses)) return;
  if (secret !== null) setFinalizer(store, secrets.plural, secret.object, !isLeaving);
  setFinalizer(store, credentialsBindings.plural, held.object, !isLeaving);
}

const bindingOf = (held: Held): string => objectOf<Shoot>(held).spec.credentialsBindingName ?? '';

function setFinalizer(store: ObjectStore, collection: string, object: KubeObject, isWanted: boolean): void {
  const { finalizers = [], namespace = '', name = '', deletionTimestamp } = object.metadata;
  if (finalizers.includes(FINALIZER) === isWanted) return;
  const next = isWanted ? [...finalizers, FINALIZER] : finalizers.filter((each) => each !== FINALIZER);
  store.put(collection, { ...object, metadata: { ...object.metadata, finalizers: next } });
  if (next.length === 0 && deletionTimestamp !== undefined) store.remove(collection, namespace, name);
}

const authorityNameOf = ({ name }: Place): string => `${name}.ca-cluster`;

/** Shows the certificate authority of a Shoot in its Project, once. Manual changes stay. */
function publishAuthority({ store, writes, authorities }: GardenParts, { namespace, name }: Place): void {
  const held = store.get(shoots.plural, namespace, name);
  if (held === null || store.get(configMaps.plural, namespace, authorityNameOf(held)) !== null) return;
  const { certificate } = authorities.get(held);
  const object = {
    apiVersion: 'v1',
    kind: configMaps.kind,
    metadata: { labels: { 'gardener.cloud/role': 'ca-cluster' } },
    data: { 'ca.crt': certificate },
  };
  writes.create(inGarden(configMaps, namespace, authorityNameOf(held)), object, MANAGER);
}
