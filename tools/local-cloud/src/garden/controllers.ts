import { createHash } from 'node:crypto';
import { type Clock, DueQueue } from '../clock.js';
import type { GardenSettings } from './garden-settings.js';
import { configMaps, namespaces } from './kinds/core-kinds.js';
import { apiVersionOf } from './kinds/kind.js';
import type { CredentialsBinding, Project } from './kinds/projects.js';
import { equalJson, type KubeObject } from './kube/object.js';
import { type Held, keyOf, objectOf } from './objects/held.js';
import type { ObjectStore } from './objects/object-store.js';
import type { Objects } from './objects/objects.js';
import type { ShootAuthorities } from './shoot-api/shoot-authorities.js';

export interface ControllerDeps {
  readonly store: ObjectStore;
  readonly objects: Objects;
  readonly authorities: ShootAuthorities;
  readonly clock: Clock;
  readonly settings: () => GardenSettings;
}

interface Controller {
  close(): void;
}

/** Starts the controllers other than the gardenlet: for Projects, credentials and certificate authorities. */
export function startControllers(deps: ControllerDeps): Controller {
  const running = [projectController(deps), credentialsController(deps), authorityController(deps)];
  return {
    close() {
      for (const controller of running) controller.close();
    },
  };
}

type Place = Pick<Held, 'namespace' | 'name'>;

/**
 * Calls back for each object of a resource that exists or changes, shortly afterwards.
 *
 * @returns also a function that schedules the call for one object
 */
function forEachOf(
  { store, clock, settings }: ControllerDeps,
  resource: string,
  reconcile: (place: Place) => void,
  onDeleted: (held: Held) => void = () => undefined,
): Controller & { consider(place: Place): void } {
  const queue = new DueQueue(clock, (key) => {
    const [namespace = '', name = ''] = key.split('/');
    reconcile({ namespace, name });
  });
  const consider = ({ namespace, name }: Place): void => {
    const key = keyOf(namespace, name);
    if (!queue.has(key)) queue.add(key, settings().reconcileMs / 20);
  };
  for (const held of store.list(resource)) consider(held);
  const unsubscribe = store.subscribe(resource, ({ type, held }) => {
    if (type === 'DELETED') onDeleted(held);
    else consider(held);
  });
  return {
    consider,
    close() {
      unsubscribe();
      queue.close();
    },
  };
}

const asManager = {
  user: 'system:serviceaccount:garden:gardener-controller-manager',
  fieldManager: 'gardener-controller-manager',
  subresource: '',
} as const;

/** Creates each Project's namespace and marks the Project as Ready. Does not delete Projects. */
function projectController(deps: ControllerDeps): Controller {
  const { store, objects } = deps;
  return forEachOf(deps, 'projects', (place) => {
    const held = store.get('projects', '', place.name);
    if (held === null) return;
    const project = objectOf<Project>(held);
    const { name = '', uid = '' } = project.metadata;
    const namespace = project.spec.namespace ?? `garden-${name}-${shortHash(uid)}`;
    const labels = { 'gardener.cloud/role': 'project', 'project.gardener.cloud/name': name };
    const known = store.get('namespaces', '', namespace);
    const next = structuredClone(project);
    next.metadata.finalizers = [...new Set([...(next.metadata.finalizers ?? []), 'gardener'])];
    next.spec.namespace = namespace;
    const isForeign = known !== null && known.labels['project.gardener.cloud/name'] !== name;
    if (known === null) {
      const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } };
      objects.create(namespaces, '', object, asManager);
    }
    next.status = { phase: isForeign ? 'Failed' : 'Ready' };
    if (!equalJson(next, project)) store.put('projects', next);
  });
}

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 5);

const BINDING_FINALIZER = 'gardener';
const SECRET_FINALIZER = 'gardener.cloud/gardener';
const PROVIDER_LABEL = 'provider.shoot.gardener.cloud/';

/** Keeps finalizers on bindings and their Secrets while a Shoot uses them. A Secret belongs to one binding. */
function credentialsController(deps: ControllerDeps): Controller {
  const { store } = deps;
  const isUsed = ({ namespace, name }: Place): boolean =>
    store.list('shoots').some((held) => held.namespace === namespace && bindingOf(held) === name);
  const bindings = forEachOf(deps, 'credentialsbindings', (place) => {
    const held = store.get('credentialsbindings', place.namespace, place.name);
    if (held === null) return;
    const binding = objectOf<CredentialsBinding>(held);
    const { namespace = '', name = '' } = binding.credentialsRef;
    const heldSecret = store.get('secrets', namespace, name);
    const secret = heldSecret && objectOf(heldSecret);
    if (binding.metadata.deletionTimestamp === undefined) {
      setFinalizer('credentialsbindings', binding, BINDING_FINALIZER);
      if (secret === null) return;
      secret.metadata.labels = { ...secret.metadata.labels, [PROVIDER_LABEL + binding.provider.type]: 'true' };
      setFinalizer('secrets', secret, SECRET_FINALIZER);
    } else if (!isUsed(place)) {
      if (secret !== null) dropFinalizer('secrets', secret, SECRET_FINALIZER);
      dropFinalizer('credentialsbindings', binding, BINDING_FINALIZER);
    }
  });
  // A deleted binding may be waiting for this Shoot.
  const unsubscribe = store.subscribe('shoots', ({ held, type }) => {
    const name = type === 'DELETED' ? bindingOf(held) : null;
    if (name !== null) bindings.consider({ namespace: held.namespace, name });
  });
  return {
    close() {
      unsubscribe();
      bindings.close();
    },
  };

  function setFinalizer(resource: string, object: KubeObject, finalizer: string): void {
    const { finalizers = [] } = object.metadata;
    if (finalizers.includes(finalizer)) return;
    object.metadata.finalizers = [...finalizers, finalizer];
    store.put(resource, object);
  }

  function dropFinalizer(resource: string, object: KubeObject, finalizer: string): void {
    const { namespace = '', name = '', deletionTimestamp } = object.metadata;
    const left = (object.metadata.finalizers ?? []).filter((known) => known !== finalizer);
    object.metadata.finalizers = left;
    store.put(resource, object);
    if (left.length === 0 && deletionTimestamp !== undefined) store.remove(resource, namespace, name);
  }
}

/** Read from the text: parsing every Shoot would be slow, and most do not match. */
const bindingOf = ({ text }: Held): string | null => /"credentialsBindingName":"([^"]*)"/.exec(text)?.[1] ?? null;

/**
 * Publishes the certificate authority of each Shoot in the Shoot's Project while the Shoot is created, as the real gardenlet does
 * before the API server runs. Manual changes stay: the real gardenlet would correct them only in its next flow.
 */
function authorityController(deps: ControllerDeps): Controller {
  const { store, objects, authorities, settings } = deps;
  const nameOf = (shoot: string): string => `${shoot}.ca-cluster`;
  const isMissing = ({ namespace, name }: Held): boolean =>
    settings().authorityIn === 'configmap' && store.get(configMaps.plural, namespace, nameOf(name)) === null;
  const publish = async ({ namespace, name }: Place): Promise<void> => {
    const held = store.get('shoots', namespace, name);
    if (held === null || !isMissing(held)) return;
    const { certificate } = await authorities.get(held);
    const current = store.get('shoots', namespace, name);
    if (current?.uid !== held.uid || !isMissing(current)) return;
    const object = {
      apiVersion: apiVersionOf(configMaps),
      kind: configMaps.kind,
      metadata: { name: nameOf(name), namespace, labels: { 'gardener.cloud/role': 'ca-cluster' } },
      data: { 'ca.crt': certificate },
    };
    objects.create(configMaps, namespace, object, { ...asManager, fieldManager: 'gardenlet' });
  };
  return forEachOf(
    deps,
    'shoots',
    (place) => void publish(place),
    ({ namespace, name }) => void store.remove(configMaps.plural, namespace, nameOf(name)),
  );
}
