import { createHash } from 'node:crypto';
import type { Machine, Simulation } from '../gardenlet/simulation.js';
import { findWorker, type ShootSpec } from '../kinds/shoot/shoot.js';
import type { KubeObject } from '../kube/object.js';
import { emptyContents, type JoinedNode, type NodeMarks } from './contents.js';
import { configChecksumOf } from './secrets.js';

interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect?: string;
}

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
  spec: { providerID?: string; unschedulable?: true; taints?: readonly Taint[] };
  status: {
    conditions: readonly NodeCondition[];
    nodeInfo: { kubeletVersion: string; osImage: string; kernelVersion: string; containerRuntimeVersion: string };
    [field: string]: unknown;
  };
}

/** Properties of a node that do not depend on its worker pool. */
interface NodeFacts {
  readonly name: string;
  readonly uid: string;
  readonly pool: string;
  readonly createdAt: string;
  readonly revision: number;
  /** Set by the provider's controller; undefined for a machine outside the provider. */
  readonly providerID: string | undefined;
  readonly instanceType: string;
  readonly region: string;
  readonly zone: string;
  readonly architecture: string;
  readonly isReady: boolean;
  readonly since: string;
}

const UNSCHEDULABLE: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
const UNREACHABLE: readonly Taint[] = ['NoSchedule', 'NoExecute'].map((effect) => ({
  key: 'node.kubernetes.io/unreachable',
  effect,
}));

/** Bytes derived from a text, for stable addresses and numbers. */
const numbersOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The nodes of a Shoot, by name: one per machine, Ready unless silenced, and the nodes that joined by themselves. */
export function nodesOf({ reconciled, inside = emptyContents }: Simulation): Node[] {
  if (reconciled === undefined) return [];
  const { spec, machines } = reconciled;
  const facts = [
    ...machines.map((machine) => factsOfMachine(machine, spec)),
    ...inside.joined.map((node) => ({ ...factsOfJoined(node) })),
  ];
  return facts
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

function factsOfMachine(machine: Machine, spec: ShootSpec): NodeFacts {
  const worker = findWorker(spec, machine.pool);
  const { createdAt } = machine;
  const digest = numbersOf(machine.name);
  return {
    name: machine.name,
    uid: `${digest.toString('hex', 0, 4)}-0000-4000-8000-${digest.toString('hex', 4, 10)}`,
    pool: machine.pool,
    createdAt,
    revision: 1,
    providerID: `hcloud://${digest.readUInt32BE(0)}`,
    instanceType: worker?.machine.type ?? '',
    region: spec.region,
    zone: worker?.zones?.[0] ?? spec.region,
    architecture: worker?.machine.architecture ?? 'amd64',
    isReady: true,
    since: createdAt,
  };
}

/** @param serverId null for a machine outside the provider */
export const providerIdOf = (serverId: number | null): string | undefined =>
  serverId === null ? undefined : `hcloud://${serverId}`;

const factsOfJoined = (node: JoinedNode): NodeFacts => ({
  ...node,
  providerID: providerIdOf(node.serverId),
  instanceType: node.serverType,
  region: node.location,
  zone: node.location,
});

/** A silent node is not Ready, whatever its own state. */
const silenced = (facts: NodeFacts, since: string | undefined): NodeFacts =>
  since === undefined ? facts : { ...facts, isReady: false, since };

function nodeOf(facts: NodeFacts, spec: ShootSpec): Node {
  const { name, pool, uid, createdAt } = facts;
  const worker = findWorker(spec, pool);
  const { version } = spec.kubernetes;
  const { name: image = 'ubuntu', version: imageVersion = '' } = worker?.machine.image ?? {};
  const [a = 0, b = 0, c = 0] = numbersOf(name);
  const publicAddress = { type: 'ExternalIP', address: `203.0.113.${(c % 250) + 2}` };
  const taints = [...(worker?.taints ?? []), ...(facts.isReady ? [] : UNREACHABLE)];
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
        'kubernetes.io/arch': facts.architecture,
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        ...(facts.providerID === undefined ? {} : providerLabels(facts)),
        'worker.garden.sapcloud.io/group': pool,
        'worker.gardener.cloud/kubernetes-version': version,
        'worker.gardener.cloud/pool': pool,
        'worker.gardener.cloud/system-components': String(worker?.systemComponents?.allow ?? true),
      },
      annotations: {
        ...worker?.annotations,
        // The node agent confirms here that it has applied its Secret.
        ...(worker === undefined ? {} : { 'checksum/cloud-config-data': configChecksumOf(spec, worker) }),
      },
    },
    spec: { ...(facts.providerID && { providerID: facts.providerID }), ...(taints.length === 0 ? {} : { taints }) },
    status: {
      conditions: [readyCondition(facts)],
      addresses: [
        { type: 'Hostname', address: name },
        { type: 'InternalIP', address: `10.250.${a}.${(b % 250) + 2}` },
        ...(worker?.providerConfig?.publicIP === false ? [] : [publicAddress]),
      ],
      nodeInfo: {
        kubeletVersion: `v${version}`,
        osImage: `${image} ${imageVersion}`,
        kernelVersion: '6.12.0',
        containerRuntimeVersion: 'containerd://2.1.0',
        operatingSystem: 'linux',
        architecture: facts.architecture,
      },
    },
  } as Node;
}

const providerLabels = ({ instanceType, region, zone }: NodeFacts) => ({
  'node.kubernetes.io/instance-type': instanceType,
  'topology.kubernetes.io/region': region,
  'topology.kubernetes.io/zone': zone,
});

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
  const cordoned = marks.unschedulable
    ? { unschedulable: true as const, taints: [...(spec.taints ?? []), UNSCHEDULABLE] }
    : {};
  return {
    ...node,
    metadata: {
      ...metadata,
      resourceVersion: String(Math.max(Number(metadata.resourceVersion), marks.revision)),
      labels: overlaid(metadata.labels, marks.labels),
      annotations: overlaid(metadata.annotations ?? {}, marks.annotations),
    },
    spec: { ...spec, ...cordoned },
  };
}

function overlaid(own: Readonly<Record<string, string>>, marks: NodeMarks['labels']): Record<string, string> {
  const all = Object.entries({ ...own, ...marks });
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== null));
}
