import type { Clock } from '../../clock.js';
import { DueQueue } from '../../clock.js';
import type { CredentialsBinding } from '../kinds/projects.js';
import type { KubeObject } from '../kube/object.js';
import { keyOf, objectOf } from '../objects/held.js';
import type { ObjectStore } from '../objects/object-store.js';

const BINDING_FINALIZER = 'gardener';
const SECRET_FINALIZER = 'gardener.cloud/gardener';
const PROVIDER_LABEL = 'provider.shoot.gardener.cloud/';

/** Keeps finalizers on bindings and their Secrets while a Shoot uses them. */
export function createCredentialsController(
  store: ObjectStore,
  clock: Clock,
  afterMs: () => number,
): { close(): void } {
  const queue = new DueQueue(clock, reconcile);
  const consider = (key: string): void => {
    if (!queue.has(key)) queue.add(key, afterMs());
  };
  for (const held of store.list('credentialsbindings')) consider(keyOf(held.namespace, held.name));
  const unsubscribe = [
    store.subscribe('credentialsbindings', ({ held, type }) => {
      if (type !== 'DELETED') consider(keyOf(held.namespace, held.name));
    }),
    // A deleted binding may be waiting for this Shoot.
    store.subscribe('shoots', ({ held, type }) => {
      if (type !== 'DELETED') return;
      const name = bindingOf(held.text);
      if (name !== null) consider(keyOf(held.namespace, name));
    }),
  ];
  return {
    close() {
      for (const end of unsubscribe) end();
      queue.close();
    },
  };

  function reconcile(key: string): void {
    const [namespace = '', name = ''] = key.split('/');
    const held = store.get('credentialsbindings', namespace, name);
    if (held === null) return;
    const binding = objectOf<CredentialsBinding>(held);
    const secret = secretOf(binding);
    if (binding.metadata.deletionTimestamp === undefined) {
      setFinalizer('credentialsbindings', binding, BINDING_FINALIZER);
      if (secret !== null) {
        const label = { [PROVIDER_LABEL + binding.provider.type]: 'true' };
        setFinalizer('secrets', secret, SECRET_FINALIZER, label);
      }
    } else if (!isUsed(namespace, name)) {
      if (secret !== null && !isShared(binding, key)) dropFinalizer('secrets', secret, SECRET_FINALIZER);
      dropFinalizer('credentialsbindings', binding, BINDING_FINALIZER);
    }
  }

  function secretOf({ credentialsRef }: CredentialsBinding): KubeObject | null {
    const held = store.get('secrets', credentialsRef.namespace ?? '', credentialsRef.name ?? '');
    return held && objectOf(held);
  }

  function isUsed(namespace: string, name: string): boolean {
    return store.list('shoots').some((held) => held.namespace === namespace && bindingOf(held.text) === name);
  }

  function isShared({ credentialsRef }: CredentialsBinding, ownKey: string): boolean {
    return store.list('credentialsbindings').some((held) => {
      if (keyOf(held.namespace, held.name) === ownKey) return false;
      const other = objectOf<CredentialsBinding>(held).credentialsRef;
      return other.name === credentialsRef.name && other.namespace === credentialsRef.namespace;
    });
  }

  function setFinalizer(resource: string, object: KubeObject, finalizer: string, labels = {}): void {
    const { finalizers = [], labels: known = {} } = object.metadata;
    const isLabelled = Object.keys(labels).every((label) => known[label] !== undefined);
    if (finalizers.includes(finalizer) && isLabelled) return;
    object.metadata.finalizers = [...new Set([...finalizers, finalizer])];
    if (!isLabelled) object.metadata.labels = { ...known, ...labels };
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
function bindingOf(text: string): string | null {
  return /"credentialsBindingName":"([^"]*)"/.exec(text)?.[1] ?? null;
}
