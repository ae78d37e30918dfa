import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { KubeObject, OwnerReference } from '../kube/object.js';
import { SYSTEM } from './config-secrets.js';
import type { ClusterContents, HeldPod, JoinedNode } from './contents.js';

/** A pod that is put on a node by hand; what is left out has a default. */
export interface PodOptions {
  readonly node: string;
  /** Default `default`. */
  readonly namespace?: string;
  /** Default: a new one. */
  readonly name?: string;
  /** Default `ReplicaSet`. */
  readonly owner?: HeldPod['owner'];
  /** Default `Running`. */
  readonly phase?: HeldPod['phase'];
  /** Default: not protected. */
  readonly isProtected?: boolean;
}

const suffix = (): string => randomBytes(3).toString('hex').slice(0, 5);

/** @param at RFC 3339 */
export function newPod(options: PodOptions, at: string, revision: number): HeldPod {
  return {
    node: options.node,
    namespace: options.namespace ?? 'default',
    name: options.name ?? `web-5d4f8c7b9-${suffix()}`,
    uid: randomUUID(),
    owner: options.owner === undefined ? 'ReplicaSet' : options.owner,
    phase: options.phase ?? 'Running',
    isProtected: options.isProtected ?? false,
    createdAt: at,
    revision,
  };
}

/** What runs on a node that has just joined: what every node runs, a static pod's mirror, and something of the team's. */
export const firstPodsOf = ({ name: node }: Pick<JoinedNode, 'name'>, at: string, revision: number): HeldPod[] =>
  [
    { node, namespace: SYSTEM, name: `calico-node-${suffix()}`, owner: 'DaemonSet' as const },
    { node, namespace: SYSTEM, name: `kube-proxy-${node}`, owner: 'Node' as const },
    { node },
  ].map((options) => newPod(options, at, revision));

/** An eviction of what its maker makes again at once changes its uid, and its name where that is not its own. */
export function evicted(contents: ClusterContents, pod: HeldPod, at: string): ClusterContents {
  const revision = contents.revision + 1;
  const others = contents.pods.filter((each) => each.uid !== pod.uid);
  const { node, namespace, name, owner } = pod;
  if (owner !== 'DaemonSet' && owner !== 'Node') return { ...contents, revision, pods: others };
  const again = owner === 'Node' ? name : `${name.replace(/-[^-]*$/, '')}-${suffix()}`;
  return { ...contents, revision, pods: [...others, newPod({ node, namespace, name: again, owner }, at, revision)] };
}

function ownersOf({ owner, node, name }: HeldPod, nodeUid: string): OwnerReference[] {
  if (owner === null) return [];
  if (owner === 'Node') return [{ apiVersion: 'v1', kind: owner, name: node, uid: nodeUid }];
  const ownerName = name.replace(/-[^-]*$/, '');
  const digest = createHash('sha256').update(`${owner}/${ownerName}`).digest('hex');
  const uid = `${digest.slice(0, 8)}-0000-4000-8000-${digest.slice(8, 20)}`;
  return [{ apiVersion: 'apps/v1', kind: owner, name: ownerName, uid }];
}

/** @param nodeUid of the Node that it runs on */
export function podObject(pod: HeldPod, nodeUid: string): KubeObject {
  const { namespace, name, uid, node, phase, createdAt, revision, owner } = pod;
  const isRunning = phase === 'Running';
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...{ name, namespace, uid, resourceVersion: String(revision), creationTimestamp: createdAt },
      ...(owner === 'Node' ? { annotations: { 'kubernetes.io/config.mirror': uid.replaceAll('-', '') } } : {}),
      ownerReferences: ownersOf(pod, nodeUid).map((reference) => ({ ...reference, controller: true })),
    },
    spec: {
      nodeName: node,
      containers: [{ name: 'main', image: 'registry.k8s.io/pause:3.10' }],
      terminationGracePeriodSeconds: 30,
    },
    status: {
      phase,
      conditions: [{ type: 'Ready', status: isRunning ? 'True' : 'False', lastTransitionTime: createdAt }],
      startTime: createdAt,
    },
  };
}
