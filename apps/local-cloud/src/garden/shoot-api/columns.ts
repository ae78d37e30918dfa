import { isReady, type Node } from '../cluster/nodes.js';
import { type Column, nameColumn, textColumn } from '../kinds/kind.js';
import type { KubeObject } from '../kube/object.js';

const infoOf = (object: KubeObject) => (object as Node).status.nodeInfo;

function statusOf(object: KubeObject): string {
  const node = object as Node;
  const ready = isReady(node) ? 'Ready' : 'NotReady';
  return node.spec.unschedulable === true ? `${ready},SchedulingDisabled` : ready;
}

/** As `kubectl get nodes` prints them; the age comes after these. */
export const nodeColumns: readonly Column[] = [
  nameColumn,
  textColumn('Status', statusOf),
  textColumn('Roles', () => '<none>'),
  textColumn('Version', (node) => infoOf(node).kubeletVersion),
  textColumn('OS-Image', (node) => infoOf(node).osImage, 1),
  textColumn('Kernel-Version', (node) => infoOf(node).kernelVersion, 1),
  textColumn('Container-Runtime', (node) => infoOf(node).containerRuntimeVersion, 1),
];

interface PodLike {
  readonly spec: { readonly nodeName: string };
  readonly status: { readonly phase: string };
}

const podOf = (object: KubeObject) => object as unknown as PodLike;

/** As `kubectl get pods` prints them. */
export const podColumns: readonly Column[] = [
  nameColumn,
  textColumn('Ready', (pod) => (podOf(pod).status.phase === 'Running' ? '1/1' : '0/1')),
  textColumn('Status', (pod) => podOf(pod).status.phase),
  textColumn('Node', (pod) => podOf(pod).spec.nodeName, 1),
];
