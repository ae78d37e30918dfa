import { randomUUID, X509Certificate } from 'node:crypto';
import { timestamp } from '../../clock.js';
import type { JoinData } from '../../compute/join-data.js';
import type { JoiningMachine, JoinOutcome, ShootsOfMachines } from '../../compute/machines.js';
import type { KubeObject } from '../object.js';
import type { GardenParts } from '../parts.js';
import { isServing, type JoinedNode, type Shoot, workersOf } from '../shoots/shoot.js';
import { type Held, type ObjectStore, objectOf } from '../store.js';
import type { Clusters } from './clusters.js';
import { admits, configSecretsOf, SYSTEM } from './secrets.js';

/** Joins machines to Shoots as nodes, and keeps track of them when the machines change. */
export function joiningMachines({ store, clusters, clock }: GardenParts): ShootsOfMachines {
  return {
    join(machine, data) {
      const held = shootFor(store, data);
      const isAdmitted = (secret: KubeObject): boolean => admits(secret, data.bootstrapToken, clock.now());
      if (held === null || !Object.values(clusters.read(held).objects).some(isAdmitted)) return 'never';
      if (!isServing(objectOf(held))) return 'later';
      return joinTo(clusters, held, machine, data, timestamp(clock.now()));
    },
    heard(serverId, rebuild) {
      for (const held of store.list('shoots')) {
        const { joined } = clusters.read(held);
        const isStale = (node: JoinedNode): boolean =>
          node.serverId === serverId && node.isReady !== (node.rebuild === rebuild);
        if (!joined.some(isStale)) continue;
        clusters.change(held, {
          joined: joined.map((node) => (isStale(node) ? { ...node, isReady: !node.isReady } : node)),
        });
      }
    },
  };
}

/** Shoots share an address. The certificate authority tells them apart. */
function shootFor(store: ObjectStore, { certificateAuthority }: JoinData): Held | null {
  const trusted = fingerprintOf(certificateAuthority);
  const isMeant = ({ simulation }: Held): boolean =>
    trusted !== null && fingerprintOf(simulation.authority?.certificate ?? '') === trusted;
  return store.list('shoots').find(isMeant) ?? null;
}

function joinTo(clusters: Clusters, held: Held, machine: JoiningMachine, data: JoinData, at: string): JoinOutcome {
  const { serverId, rebuild, architecture } = machine;
  const name = data.hostname || machine.name.toLowerCase();
  const { joined, objects } = clusters.read(held);
  const secret = configSecretsOf(held)[`/secrets/${SYSTEM}/${data.secretName}`];
  const wanted = secret?.metadata.labels?.['worker.gardener.cloud/pool'];
  const pool = workersOf(objectOf<Shoot>(held).spec).find((worker) => worker.name === wanted);
  const before = joined.find((node) => node.name === name);
  // A node can join again from its own machine only.
  const isTaken = clusters.nodes(held).some(({ metadata }) => metadata.name === name) && before?.serverId !== serverId;
  if (pool === undefined || (pool.machine.architecture ?? 'amd64') !== architecture || isTaken) return 'never';
  const { uid = randomUUID(), createdAt = at } = before ?? {};
  const node: JoinedNode = { name, uid, createdAt, pool: pool.name, serverId, rebuild, isReady: true };
  clusters.change(held, {
    joined: [...joined.filter((each) => each.name !== name), node],
    objects: before === undefined ? { ...objects, ...firstPodsOn(name) } : objects,
  });
  return 'joined';
}

/** One pod of a DaemonSet, the mirror of a static pod, and an ordinary one. */
function firstPodsOn(nodeName: string): Record<string, KubeObject> {
  const pod = (namespace: string, prefix: string, kind: 'DaemonSet' | 'Node' | 'ReplicaSet'): [string, KubeObject] => {
    const [uid, name] = [randomUUID(), `${prefix}-${nodeName}`];
    const annotations: Record<string, string> = kind === 'Node' ? { 'kubernetes.io/config.mirror': uid } : {};
    const ownerReferences = [{ apiVersion: 'v1', kind, name: nodeName, uid, controller: true }];
    const metadata = { name, namespace, uid, annotations, ownerReferences };
    const object = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName }, status: { phase: 'Running' } };
    return [`/pods/${namespace}/${name}`, object];
  };
  return Object.fromEntries([
    pod(SYSTEM, 'calico-node', 'DaemonSet'),
    pod(SYSTEM, 'kube-proxy', 'Node'),
    pod('default', 'web', 'ReplicaSet'),
  ]);
}

function fingerprintOf(pem: string): string | null {
  try {
    return new X509Certificate(pem).fingerprint256;
  } catch {
    return null;
  }
}
