import { createHash } from 'node:crypto';
import { publicAddresses } from '../../compute/addresses.js';
import type { KubeObject } from '../object.js';
import { mergePatch } from '../patches.js';
import { findWorker, type JoinedNode, type ShootSpec, type Simulation } from '../shoots/shoot.js';

export interface Node extends KubeObject {
  metadata: KubeObject['metadata'] & { name: string; uid: string; labels: Record<string, string> };
  spec: { providerID?: string; unschedulable?: boolean };
  status: {
    addresses: readonly { type: string; address: string }[];
    conditions: readonly { type: string; status: string }[];
    nodeInfo: { kubeletVersion: string };
  };
}

type Facts = Pick<JoinedNode, 'name' | 'uid' | 'pool' | 'createdAt' | 'isReady'> & { readonly providerID?: string };

/** The nodes of a Shoot, by name: one for each machine, and those that joined by themselves. */
export function nodesOf({ reconciled, inside }: Simulation): Node[] {
  if (reconciled === undefined) return [];
  const { joined = [], patches = {}, silent = [] } = inside ?? {};
  const machines = reconciled.machines.map(({ name, pool, createdAt }): Facts => {
    const digest = createHash('sha256').update(name).digest();
    const uid = `${digest.toString('hex', 0, 4)}-0000-4000-8000-${digest.toString('hex', 4, 10)}`;
    return { name, uid, pool, createdAt, isReady: true, providerID: `hcloud://${digest.readUInt32BE(0)}` };
  });
  const others = joined.map(({ serverId, ...node }): Facts => ({ ...node, ...providerIdOf(serverId) }));
  return [...machines, ...others]
    .map((facts) => nodeOf({ ...facts, isReady: facts.isReady && !silent.includes(facts.name) }, reconciled.spec))
    .map((node) => (patches[node.metadata.name] ?? []).reduce<unknown>(mergePatch, node) as Node)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

const providerIdOf = (serverId: number | null) => (serverId === null ? {} : { providerID: `hcloud://${serverId}` });

export const isReady = ({ status }: Node): boolean => status.conditions[0]?.status === 'True';

/** A node as the services and `kubectl get nodes` read it: no inner addresses, no taints. */
function nodeOf({ name, uid, pool, createdAt, providerID, isReady: ready }: Facts, spec: ShootSpec): Node {
  const worker = findWorker(spec, pool);
  const { version } = spec.kubernetes;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      uid,
      resourceVersion: '1',
      creationTimestamp: createdAt,
      labels: {
        ...worker?.labels,
        'kubernetes.io/hostname': name,
        'worker.gardener.cloud/kubernetes-version': version,
        'worker.gardener.cloud/pool': pool,
      },
      annotations: { ...worker?.annotations },
    },
    spec: providerID === undefined ? {} : { providerID },
    status: {
      addresses: publicAddresses(providerID ?? name).map((address) => ({ type: 'ExternalIP', address })),
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'Unknown' }],
      nodeInfo: { kubeletVersion: `v${version}` },
    },
  };
}
