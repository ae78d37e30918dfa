import { randomBytes, randomUUID } from 'node:crypto';
import type { KubeObject } from '../kube/object.js';
import type { ClusterContents, HeldPod, JoinedNode } from './contents.js';
import { SYSTEM } from './secrets.js';

const suffix = (): string => randomBytes(3).toString('hex').slice(0, 5);

type PodFacts = Pick<HeldPod, 'node' | 'namespace' | 'name' | 'owner'>;

/** @param at RFC 3339 */
const newPod = (facts: PodFacts, at: string, revision: number): HeldPod => ({
  ...facts,
  uid: randomUUID(),
  createdAt: at,
  revision,
});

/** Pods on a node that has just joined: one of a DaemonSet, the mirror of a static pod, and an ordinary one. */
export const firstPodsOf = ({ name: node }: Pick<JoinedNode, 'name'>, at: string, revision: number): HeldPod[] =>
  [
    { node, namespace: SYSTEM, name: `calico-node-${suffix()}`, owner: 'DaemonSet' as const },
    { node, namespace: SYSTEM, name: `kube-proxy-${node}`, owner: 'Node' as const },
    { node, namespace: 'default', name: `web-5d4f8c7b9-${suffix()}`, owner: 'ReplicaSet' as const },
  ].map((facts) => newPod(facts, at, revision));

/** Evicts a pod. A DaemonSet or a Node recreates it immediately with a new uid; a DaemonSet also gives it a new name. */
export function evicted(contents: ClusterContents, pod: HeldPod, at: string): ClusterContents {
  const revision = contents.revision + 1;
  const others = contents.pods.filter((each) => each.uid !== pod.uid);
  const { node, namespace, name, owner } = pod;
  if (owner !== 'DaemonSet' && owner !== 'Node') return { ...contents, revision, pods: others };
  const again = owner === 'Node' ? name : `${name.replace(/-[^-]*$/, '')}-${suffix()}`;
  return { ...contents, revision, pods: [...others, newPod({ node, namespace, name: again, owner }, at, revision)] };
}

/** @param nodeUid uid of the pod's Node. Other owners are shown with its name and uid: only their kind is of use here. */
export function podObject(pod: HeldPod, nodeUid: string): KubeObject {
  const { namespace, name, uid, node, createdAt, revision, owner } = pod;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion: String(revision),
      creationTimestamp: createdAt,
      ...(owner === 'Node' ? { annotations: { 'kubernetes.io/config.mirror': uid.replaceAll('-', '') } } : {}),
      ownerReferences: [{ apiVersion: 'v1', kind: owner, name: node, uid: nodeUid, controller: true }],
    },
    spec: { nodeName: node },
    status: { phase: 'Running' },
  };
}
