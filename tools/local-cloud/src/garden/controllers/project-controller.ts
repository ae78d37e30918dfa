import { createHash } from 'node:crypto';
import type { Clock } from '../../clock.js';
import { DueQueue } from '../../clock.js';
import { namespaces } from '../kinds/core-kinds.js';
import type { Project } from '../kinds/projects.js';
import { copyOf, equalJson } from '../kube/object.js';
import { objectOf } from '../objects/held.js';
import type { ObjectStore } from '../objects/object-store.js';
import type { Objects } from '../objects/objects.js';

const write = {
  user: 'system:serviceaccount:garden:gardener-controller-manager',
  fieldManager: 'gardener-controller-manager',
  subresource: '',
} as const;

/** Creates each Project's namespace and marks the Project as Ready. Does not delete Projects. */
export function createProjectController(
  store: ObjectStore,
  objects: Objects,
  clock: Clock,
  afterMs: () => number,
): { close(): void } {
  const queue = new DueQueue(clock, reconcile);
  for (const { name } of store.list('projects')) queue.add(name, afterMs());
  const unsubscribe = store.subscribe('projects', ({ type, held: { name } }) => {
    if (type !== 'DELETED' && !queue.has(name)) queue.add(name, afterMs());
  });
  return {
    close() {
      unsubscribe();
      queue.close();
    },
  };

  function reconcile(key: string): void {
    const held = store.get('projects', '', key);
    if (held === null) return;
    const project = objectOf<Project>(held);
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
}

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 5);
