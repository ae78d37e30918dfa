import { createHash } from 'node:crypto';
import { configMaps, credentialsBindings, namespaces, projects, secrets, shoots } from '../kube/kinds.js';
import { equalJson, type KubeObject } from '../kube/object.js';
import { clusterOf, GARDEN, type Held, inGarden, type ObjectStore, type Ref } from '../kube/store.js';
import type { CredentialsBinding, Project } from './objects.js';
import type { GardenParts } from './parts.js';
import type { Shoot } from './shoots/shoot.js';

const MANAGER = 'gardener-controller-manager';

/** Looks at an object of the garden as it is now. Other kinds are left alone. */
function look(parts: GardenParts, ref: Ref): void {
  const { store } = parts;
  if (ref.cluster !== GARDEN) return;
  const held = store.find(ref);
  if (held?.kind === projects) lookAtProject(parts, held as Held<Project>);
  if (held?.kind === credentialsBindings) lookAtBinding(store, held as Held<CredentialsBinding>);
  if (held?.kind === shoots) publishAuthority(parts, held);
}

/** Does what Gardener does around Shoots: for Projects, credentials and certificate authorities. */
export function startControllers(parts: GardenParts): { close(): void } {
  const { store, authorities } = parts;
  let isClosed = false;
  /** Looks at an object that is there or changes, after the write is answered. */
  const consider = (ref: Ref): void => void setImmediate(() => isClosed || look(parts, ref));
  for (const kind of [projects, credentialsBindings, shoots])
    for (const held of store.list<KubeObject>(kind)) consider(held);
  const unsubscribe = store.subscribe(({ type, held }) => {
    if (type !== 'DELETED') consider(held);
    else if (held.kind === shoots) {
      store.removeCluster(clusterOf(held));
      authorities.forget(held);
      store.remove(authorityRefOf(held));
      // A deleted binding may be waiting for this Shoot.
      consider(inGarden(credentialsBindings, held.namespace, bindingOf(held as Held<Shoot>)));
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
function lookAtProject({ store, writes }: GardenParts, held: Held<Project>): void {
  const { name, uid, object: project } = held;
  const shortHash = createHash('sha256').update(uid).digest('hex').slice(0, 5);
  const namespace = project.spec?.namespace ?? `garden-${name}-${shortHash}`;
  const ref = inGarden(namespaces, '', namespace);
  if (store.find(ref) === null) {
    const labels = { 'gardener.cloud/role': 'project', 'project.gardener.cloud/name': name };
    writes.create(ref, { apiVersion: 'v1', kind: 'Namespace', metadata: { labels } }, MANAGER);
  }
  const next = { ...project, spec: { ...project.spec, namespace }, status: { phase: 'Ready' } };
  if (!equalJson(next, project)) store.put(held, next);
}

const FINALIZER = 'gardener.cloud/gardener';

/** Keeps a binding and its Secret while a Shoot uses them. A Secret belongs to one binding. */
function lookAtBinding(store: ObjectStore, held: Held<CredentialsBinding>): void {
  const { metadata, credentialsRef } = held.object;
  const secret = store.find(inGarden(secrets, credentialsRef.namespace ?? '', credentialsRef.name ?? ''));
  const isLeaving = metadata.deletionTimestamp !== undefined;
  const uses = (shoot: Held<Shoot>): boolean => shoot.namespace === held.namespace && bindingOf(shoot) === held.name;
  if (isLeaving && store.list(shoots).some(uses)) return;
  if (secret !== null) setFinalizer(store, secret, !isLeaving);
  setFinalizer(store, held, !isLeaving);
}

const bindingOf = ({ object }: Held<Shoot>): string => object.spec.credentialsBindingName ?? '';

function setFinalizer(store: ObjectStore, held: Held, isWanted: boolean): void {
  const { metadata } = held.object;
  const { finalizers = [], deletionTimestamp } = metadata;
  if (finalizers.includes(FINALIZER) === isWanted) return;
  const next = isWanted ? [...finalizers, FINALIZER] : finalizers.filter((each) => each !== FINALIZER);
  store.put(held, { ...held.object, metadata: { ...metadata, finalizers: next } });
  if (next.length === 0 && deletionTimestamp !== undefined) store.remove(held);
}

const authorityRefOf = ({ namespace, name }: Held) => inGarden(configMaps, namespace, `${name}.ca-cluster`);

/** Shows the certificate authority of a Shoot in its Project, once. Manual changes stay. */
function publishAuthority({ store, writes, authorities }: GardenParts, held: Held): void {
  if (store.find(authorityRefOf(held)) !== null) return;
  const metadata = { labels: { 'gardener.cloud/role': 'ca-cluster' } };
  const data = { 'ca.crt': authorities.get(held).certificate };
  writes.create(authorityRefOf(held), { apiVersion: 'v1', kind: configMaps.kind, metadata, data }, MANAGER);
}
