import { createHash } from 'node:crypto';
import { type CredentialsBinding, configMaps, namespaces, type Project } from './kinds.js';
import { equalJson, type KubeObject } from './object.js';
import type { GardenParts } from './parts.js';
import type { Shoot } from './shoots/shoot.js';
import { type Held, type ObjectStore, objectOf } from './store.js';

type Place = Pick<Held, 'namespace' | 'name'>;

const MANAGER = 'gardener-controller-manager';

/** Does what Gardener does around Shoots: for Projects, credentials and certificate authorities. */
export function startControllers(parts: GardenParts): { close(): void } {
  const { store } = parts;
  const ends = [
    forEachOf(store, 'projects', (place) => lookAtProject(parts, place)),
    forEachOf(store, 'credentialsbindings', (place) => lookAtBinding(store, place)),
    forEachOf(store, 'shoots', (place) => publishAuthority(parts, place)),
    store.subscribe('shoots', ({ type, held }) => {
      if (type !== 'DELETED') return;
      store.remove(configMaps.plural, held.namespace, authorityNameOf(held));
      // A deleted binding may be waiting for this Shoot.
      lookAtBinding(store, { namespace: held.namespace, name: bindingOf(held) });
    }),
  ];
  return {
    close() {
      for (const end of ends) end();
    },
  };
}

/** Calls back for each object of a resource that is there or changes, after the write is answered. @returns a function that ends it */
function forEachOf(store: ObjectStore, resource: string, look: (place: Place) => void): () => void {
  let isClosed = false;
  const consider = (held: Held): void => {
    setImmediate(() => {
      if (!isClosed) look(held);
    });
  };
  for (const held of store.list(resource)) consider(held);
  const unsubscribe = store.subscribe(resource, ({ type, held }) => {
    if (type !== 'DELETED') consider(held);
  });
  return () => {
    isClosed = true;
    unsubscribe();
  };
}

/** Makes the namespace of a Project, and the Project Ready. */
function lookAtProject({ store, writes }: GardenParts, { name }: Place): void {
  const held = store.get('projects', '', name);
  if (held === null) return;
  const project = objectOf<Project>(held);
  const shortHash = createHash('sha256').update(held.uid).digest('hex').slice(0, 5);
  const namespace = project.spec?.namespace ?? `garden-${name}-${shortHash}`;
  if (store.get('namespaces', '', namespace) === null) {
    const labels = { 'gardener.cloud/role': 'project', 'project.gardener.cloud/name': name };
    writes.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } }, MANAGER);
  }
  const next = { ...project, spec: { ...project.spec, namespace }, status: { phase: 'Ready' } };
  if (!equalJson(next, project)) store.put('projects', next);
}

const FINALIZER = 'gardener.cloud/gardener';

/** Keeps a binding and its Secret while a Shoot uses them. A Secret belongs to one binding. */
function lookAtBinding(store: ObjectStore, place: Place): void {
  const held = store.get('credentialsbindings', place.namespace, place.name);
  if (held === null) return;
  const { metadata, credentialsRef } = objectOf<CredentialsBinding>(held);
  const secret = store.get('secrets', credentialsRef.namespace ?? '', credentialsRef.name ?? '');
  const isLeaving = metadata.deletionTimestamp !== undefined;
  const uses = (shoot: Held): boolean => shoot.namespace === place.namespace && bindingOf(shoot) === place.name;
  if (isLeaving && store.list('shoots').some(uses)) return;
  if (secret !== null) setFinalizer(store, 'secrets', secret.object, !isLeaving);
  setFinalizer(store, 'credentialsbindings', held.object, !isLeaving);
}

const bindingOf = (held: Held): string => objectOf<Shoot>(held).spec.credentialsBindingName ?? '';

function setFinalizer(store: ObjectStore, resource: string, object: KubeObject, isWanted: boolean): void {
  const { finalizers = [], namespace = '', name = '', deletionTimestamp } = object.metadata;
  if (finalizers.includes(FINALIZER) === isWanted) return;
  const next = isWanted ? [...finalizers, FINALIZER] : finalizers.filter((each) => each !== FINALIZER);
  store.put(resource, { ...object, metadata: { ...object.metadata, finalizers: next } });
  if (next.length === 0 && deletionTimestamp !== undefined) store.remove(resource, namespace, name);
}

const authorityNameOf = ({ name }: Place): string => `${name}.ca-cluster`;

/** Shows the certificate authority of a Shoot in its Project, once. Manual changes stay. */
function publishAuthority({ store, writes, authorities, settings }: GardenParts, { namespace, name }: Place): void {
  const held = store.get('shoots', namespace, name);
  if (held === null || settings().authorityIn === 'nowhere') return;
  if (store.get(configMaps.plural, namespace, authorityNameOf(held)) !== null) return;
  const { certificate } = authorities.get(held);
  const object = {
    apiVersion: 'v1',
    kind: configMaps.kind,
    metadata: {
      namespace,
      name: authorityNameOf(held),
      labels: { 'gardener.cloud/role': 'ca-cluster' },
    },
    data: { 'ca.crt': certificate },
  };
  writes.create(configMaps, object, MANAGER);
}
