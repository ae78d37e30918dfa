import { createHash } from 'node:crypto';
import type { Machine, Simulation } from '../gardenlet/simulation.js';
import { type Column, nameColumn, textColumn } from '../kinds/kind.js';
import { workersOf } from '../kinds/shoot/shoot.js';
import type { KubeObject } from '../kube/object.js';

/** Four bytes that follow from a text: they make addresses and numbers that stay. */
const numbersOf = (text: string): Buffer => createHash('sha256').update(text).digest();

interface Node extends KubeObject {
  spec: { providerID: string; [field: string]: unknown };
  status: {
    nodeInfo: { kubeletVersion: string; osImage: string; kernelVersion: string; containerRuntimeVersion: string };
  };
}

/** The nodes of a Shoot: one, Ready, for each of its machines. */
export function nodesOf({ reconciled }: Simulation, resourceVersion: string): KubeObject[] {
  if (reconciled === undefined) return [];
  return reconciled.machines.map((machine) => nodeOf(machine, reconciled.spec, resourceVersion));
}

function nodeOf(machine: Machine, spec: NonNullable<Simulation['reconciled']>['spec'], resourceVersion: string): Node {
  const worker = workersOf(spec).find(({ name }) => name === machine.pool);
  const { kubernetes, region } = spec;
  const version = worker?.kubernetes?.version ?? kubernetes.version;
  const { name: image = 'ubuntu', version: imageVersion = '' } = worker?.machine.image ?? {};
  const digest = numbersOf(machine.name);
  const [a = 0, b = 0, c = 0] = digest;
  const zone = worker?.zones?.[0] ?? region;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: machine.name,
      uid: `${digest.toString('hex', 0, 4)}-0000-4000-8000-${digest.toString('hex', 4, 10)}`,
      resourceVersion,
      creationTimestamp: machine.createdAt,
      labels: {
        ...worker?.labels,
        'kubernetes.io/arch': worker?.machine.architecture ?? 'amd64',
        'kubernetes.io/hostname': machine.name,
        'kubernetes.io/os': 'linux',
        'node.kubernetes.io/instance-type': worker?.machine.type ?? '',
        'topology.kubernetes.io/region': region,
        'topology.kubernetes.io/zone': zone,
        'worker.garden.sapcloud.io/group': machine.pool,
        'worker.gardener.cloud/kubernetes-version': version,
        'worker.gardener.cloud/pool': machine.pool,
        'worker.gardener.cloud/system-components': String(worker?.systemComponents?.allow ?? true),
      },
      ...(worker?.annotations === undefined ? {} : { annotations: worker.annotations }),
    },
    spec: {
      providerID: `hcloud://${digest.readUInt32BE(0)}`,
      ...(worker?.taints === undefined ? {} : { taints: worker.taints }),
    },
    status: {
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'KubeletReady',
          message: 'kubelet is posting ready status',
          lastHeartbeatTime: machine.createdAt,
          lastTransitionTime: machine.createdAt,
        },
      ],
      addresses: [
        { type: 'Hostname', address: machine.name },
        { type: 'InternalIP', address: `10.250.${a}.${(b % 250) + 2}` },
        { type: 'ExternalIP', address: `203.0.113.${(c % 250) + 2}` },
      ],
      nodeInfo: {
        kubeletVersion: `v${version}`,
        osImage: `${image} ${imageVersion}`,
        kernelVersion: '6.12.0',
        containerRuntimeVersion: 'containerd://2.1.0',
        operatingSystem: 'linux',
        architecture: worker?.machine.architecture ?? 'amd64',
      },
    },
  } as Node;
}

const infoOf = (object: KubeObject) => (object as Node).status.nodeInfo;

/** As `kubectl get nodes` prints them; the age comes after these. */
export const nodeColumns: readonly Column[] = [
  nameColumn,
  textColumn('Status', () => 'Ready'),
  textColumn('Roles', () => '<none>'),
  textColumn('Version', (node) => infoOf(node).kubeletVersion),
  textColumn('OS-Image', (node) => infoOf(node).osImage, 1),
  textColumn('Kernel-Version', (node) => infoOf(node).kernelVersion, 1),
  textColumn('Container-Runtime', (node) => infoOf(node).containerRuntimeVersion, 1),
];
