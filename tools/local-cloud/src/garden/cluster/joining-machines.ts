import { randomUUID, X509Certificate } from 'node:crypto';
import { timestamp } from '../../clock.js';
import type { JoinData } from '../../compute/join-data.js';
import type { JoiningMachine, JoinOutcome, ShootsOfMachines } from '../../compute/machines.js';
import type { GardenParts } from '../parts.js';
import { isServing, type Shoot, workersOf } from '../shoots/shoot.js';
import { type Held, type ObjectStore, objectOf } from '../store.js';
import type { Clusters } from './clusters.js';
import type { JoinedNode, Pod } from './contents.js';
import { admits, configSecretsOf, SYSTEM } from './secrets.js';

/** Joins machines to Shoots as nodes, and keeps track of them when the machines change. */
export function joiningMachines({ store, clusters, clock }: GardenParts): ShootsOfMachines {
  return {
    join(machine, data) {
      const held = shootFor(store, data);
      if (held === null || !admits(clusters.read(held).tokens, data.bootstrapToken, clock.now())) return 'never';
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
function shootFor(store: ObjectStore, { server, certificateAuthority }: JoinData): Held | null {
  const trusted = fingerprintsIn(certificateAuthority);
  const isMeant = (held: Held): boolean => {
    const own = fingerprintsIn(held.simulation.authority?.certificate ?? '');
    const { advertisedAddresses = [] } = objectOf<Shoot>(held).status;
    return (
      own.some((each) => trusted.includes(each)) &&
      advertisedAddresses.some(({ url }) => url === server.replace(/\/$/, ''))
    );
  };
  return store.list('shoots').find(isMeant) ?? null;
}

function joinTo(clusters: Clusters, held: Held, machine: JoiningMachine, data: JoinData, at: string): JoinOutcome {
  const { serverId, rebuild, architecture } = machine;
  const name = data.hostname ?? machine.name.toLowerCase();
  const { joined, pods } = clusters.read(held);
  const { reconciled } = held.simulation;
  const secret = configSecretsOf(objectOf(held), held.simulation).find(
    ({ metadata }) => metadata.name === data.secretName,
  );
  const wanted = secret?.metadata.labels?.['worker.gardener.cloud/pool'];
  const pool = (reconciled === undefined ? [] : workersOf(reconciled.spec)).find((worker) => worker.name === wanted);
  const before = joined.find((node) => node.name === name);
  // A node can join again from its own machine only.
  const isTaken = clusters.nodes(held).some(({ metadata }) => metadata.name === name) && before?.serverId !== serverId;
  if (pool === undefined || (pool.machine.architecture ?? 'amd64') !== architecture || isTaken) return 'never';
  const { uid = randomUUID(), createdAt = at } = before ?? {};
  const node: JoinedNode = { name, uid, createdAt, pool: pool.name, serverId, rebuild, isReady: true };
  clusters.change(held, {
    joined: [...joined.filter((each) => each.name !== name), node],
    pods: before === undefined ? [...pods, ...firstPodsOn(name)] : pods,
  });
  return 'joined';
}

/** One pod of a DaemonSet, the mirror of a static pod, and an ordinary one. */
const firstPodsOn = (node: string): Pod[] => [
  { node, uid: randomUUID(), namespace: SYSTEM, name: `calico-node-${node}`, owner: 'DaemonSet' },
  { node, uid: randomUUID(), namespace: SYSTEM, name: `kube-proxy-${node}`, owner: 'Node' },
  { node, uid: randomUUID(), namespace: 'default', name: `web-${node}`, owner: 'ReplicaSet' },
];

function fingerprintsIn(pem: string): string[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => {
    try {
      return [new X509Certificate(block).fingerprint256];
    } catch {
      return [];
    }
  });
}
