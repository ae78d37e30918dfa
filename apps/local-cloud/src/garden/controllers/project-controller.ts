import { createHash } from 'node:crypto';
import type { Clock } from '../../clock.js';
import { DueQueue } from '../gardenlet/due-queue.js';
import { allKinds } from '../kinds/all-kinds.js';
import { namespaces } from '../kinds/core-kinds.js';
import { type Project, projects } from '../kinds/project.js';
import { copyOf, equalJson } from '../kube/object.js';
import type { Objects } from '../rest/objects.js';
import { objectOf } from '../store/held.js';
import type { ObjectStore } from '../store/object-store.js';

const write = {
  user: 'system:serviceaccount:garden:gardener-controller-manager',
  fieldManager: 'gardener-controller-manager',
  subresource: '',
  dryRun: false,
} as const;

/** Gives every Project its namespace and says when it is Ready; takes both away when it is deleted. */
export function createProjectController(
  store: ObjectStore,
  objects: Objects,
  clock: Clock,
  afterMs: () => number,
): { close(): void } {
  const queue = new DueQueue(clock, reconcile);
  for (const { name } of store.list('projects')) queue.add(name, afterMs());
  const unsubscribe = [
    store.subscribe('projects', ({ type, held: { name } }) => {
      if (type !== 'DELETED' && !queue.has(name)) queue.add(name, afterMs());
    }),
    store.subscribe('namespaces', ({ type, held: { name } }) => {
      if (type === 'DELETED') clear(name);
    }),
  ];
  return {
    close() {
      for (const end of unsubscribe) end();
      queue.close();
    },
  };

  /** What was in a namespace goes with it. */
  function clear(namespace: string): void {
    for (const { plural } of allKinds.filter(({ namespaced }) => namespaced)) {
      for (const held of store.list(plural)) {
        if (held.namespace === namespace) store.remove(plural, namespace, held.name);
      }
    }
  }

  function reconcile(name: string): void {
    const held = store.get('projects', '', name);
    if (held === null) return;
    const project = objectOf<Project>(held);
    if (project.metadata.deletionTimestamp === undefined) settle(project);
    else release(project);
  }

  function settle(project: Project): void {
    const { name = '', uid = '' } = project.metadata;
    const namespace = project.spec.namespace ?? `garden-${name}-${shortHash(uid)}`;
    const labels = { 'gardener.cloud/role': 'project', 'project.gardener.cloud/name': name };
    const known = store.get('namespaces', '', namespace);
    const next = copyOf(project);
    next.metadata.finalizers = [...new Set([...(next.metadata.finalizers ?? []), 'gardener'])];
    next.spec.namespace = namespace;
    const { generation } = project.metadata;
    const observed = generation === undefined ? {} : { observedGeneration: generation };
    if (known !== null && known.labels['project.gardener.cloud/name'] !== name) {
      next.status = { ...next.status, phase: 'Failed', ...observed };
    } else {
      if (known === null) {
        const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } };
        objects.create(namespaces, '', object, write);
      }
      next.status = { ...next.status, phase: 'Ready', ...observed };
    }
    if (equalJson(next, project)) return;
    store.put('projects', next);
  }

  function release(project: Project): void {
    const { namespace } = project.spec;
    if (namespace !== undefined && store.get('namespaces', '', namespace) !== null) {
      objects.remove(namespaces, '', namespace, write);
    }
    store.remove(projects.plural, '', project.metadata.name ?? '');
  }
}

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 5);
