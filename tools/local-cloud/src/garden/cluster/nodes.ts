import { createHash } from 'node:crypto';
import type { Machine, Simulation } from '../gardenlet/simulation.js';
import { findWorker, type ShootSpec } from '../kinds/shoot/shoot.js';
import type { KubeObject } from '../kube/object.js';
import { emptyContents, type JoinedNode, type NodeMarks } from './contents.js';
import { configChecksumOf } from './secrets.js';

interface NodeCondition {
  readonly type: string;
  readonly status: 'True' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastHeartbeatTime: string;
  readonly lastTransitionTime: string;
}

export interface Node extends KubeObject {
  metadata: KubeObject['metadata'] & { name: string; uid: string; labels: Record<string, string> };
  spec: { providerID?: string; unschedulable?: true };
  status: { conditions: readonly NodeCondition[]; nodeInfo: { kubeletVersion: string } };
}

/** Properties of a node that do not depend on its worker pool. */
interface NodeFacts extends Pick<JoinedNode, 'name' | 'uid' | 'pool' | 'createdAt' | 'revision' | 'isReady' | 'since'> {
  /** Set by the provider's controller; undefined for a machine outside the provider. */
  readonly providerID: string | undefined;
}

/** The nodes of a Shoot, by name: one per machine, Ready unless silenced, and the nodes that joined by themselves. */
export function nodesOf({ reconciled, inside = emptyContents }: Simulation): Node[] {
  if (reconciled === undefined) return [];
  const { spec, machines } = reconciled;
  const joined = inside.joined.map((node) => ({ ...node, providerID: providerIdOf(node.serverId) }));
  return [...machines.map(factsOfMachine), ...joined]
    .map((each) => silenced(each, inside.silent[each.name]))
    .map((each) => marked(nodeOf(each, spec), inside.marks[each.name]))
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** The nodes without changes by clients. */
export const unmarkedNodesOf = ({ inside = emptyContents, ...simulation }: Simulation): Node[] =>
  nodesOf({ ...simulation, inside: { ...inside, marks: {} } });

export const readyConditionOf = ({ status }: Node): NodeCondition | undefined =>
  status.conditions.find(({ type }) => type === 'Ready');

export const isReady = (node: Node): boolean => readyConditionOf(node)?.status === 'True';

function factsOfMachine({ name, pool, createdAt }: Machine): NodeFacts {
  const digest = createHash('sha256').update(name).digest();
  return {
    name,
    uid: `${digest.toString('hex', 0, 4)}-0000-4000-8000-${digest.toString('hex', 4, 10)}`,
    pool,
    createdAt,
    revision: 1,
    providerID: `hcloud://${digest.readUInt32BE(0)}`,
    isReady: true,
    since: createdAt,
  };
}

/** @param serverId null for a machine outside the provider */
export const providerIdOf = (serverId: number | null): string | undefined =>
  serverId === null ? undefined : `hcloud://${serverId}`;

/** A silent node is not Ready, whatever its own state. */
const silenced = (facts: NodeFacts, since: string | undefined): NodeFacts =>
  since === undefined ? facts : { ...facts, isReady: false, since };

/** Only what the services and `kubectl get nodes` read: no addresses, no taints. */
function nodeOf(facts: NodeFacts, spec: ShootSpec): Node {
  const { name, pool, uid, createdAt, providerID } = facts;
  const worker = findWorker(spec, pool);
  const { version } = spec.kubernetes;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      uid,
      resourceVersion: String(facts.revision),
      creationTimestamp: createdAt,
      labels: {
        ...worker?.labels,
        'kubernetes.io/hostname': name,
        'worker.gardener.cloud/kubernetes-version': version,
        'worker.gardener.cloud/pool': pool,
      },
      annotations: {
        ...worker?.annotations,
        // The node agent confirms here that it has applied its Secret.
        ...(worker === undefined ? {} : { 'checksum/cloud-config-data': configChecksumOf(spec, worker) }),
      },
    },
    spec: providerID === undefined ? {} : { providerID },
    status: { conditions: [readyCondition(facts)], nodeInfo: { kubeletVersion: `v${version}` } },
  };
}

const readyCondition = ({ isReady: ready, since }: NodeFacts): NodeCondition => ({
  type: 'Ready',
  status: ready ? 'True' : 'Unknown',
  reason: ready ? 'KubeletReady' : 'NodeStatusUnknown',
  message: ready ? 'kubelet is posting ready status' : 'Kubelet stopped posting node status.',
  lastHeartbeatTime: since,
  lastTransitionTime: since,
});

function marked(node: Node, marks: NodeMarks | undefined): Node {
  if (marks === undefined) return node;
  const { metadata, spec } = node;
  return {
    ...node,
    metadata: {
      ...metadata,
      resourceVersion: String(Math.max(Number(metadata.resourceVersion), marks.revision)),
      labels: overlaid(metadata.labels, marks.labels),
      annotations: overlaid(metadata.annotations ?? {}, marks.annotations),
    },
    spec: marks.unschedulable ? { ...spec, unschedulable: true } : spec,
  };
}

function overlaid(own: Readonly<Record<string, string>>, marks: NodeMarks['labels']): Record<string, string> {
  const all = Object.entries({ ...own, ...marks });
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== null));
}
