import { randomUUID } from 'node:crypto';
import type { JoinData } from '../compute/join-data.js';
import type { JoiningMachine, JoinOutcome, ShootsOfMachines } from '../compute/machines.js';
import { nodes, pods, secrets, shoots } from '../kube/kinds.js';
import { clusterOf, type Held, type ObjectStore } from '../kube/store.js';
import { isReady, nodesOf, POOL, providerIdOf, putNode, SYSTEM, setReady } from './nodes.js';
import type { Secret } from './objects.js';
import type { GardenParts } from './parts.js';
import { findWorker, isServing, type Shoot } from './shoots/shoot.js';

/** Joins machines to Shoots as nodes, and keeps track of them when the machines change. */
export function joiningMachines(parts: GardenParts): ShootsOfMachines {
  const { store, clock, authorities } = parts;
  return {
    join(machine, data) {
      // Shoots share an address. The certificate authority tells them apart.
      const isOfIt = (shoot: Held): boolean =>
        authorities.get(shoot).certificate.trim() === data.certificateAuthority.trim();
      const held = store.list(shoots).find(isOfIt);
      if (held === undefined) return 'never';
      const known = store.list(secrets, clusterOf(held));
      if (!known.some(({ object }) => admits(object, data.bootstrapToken, clock.now()))) return 'never';
      if (!isServing(held.object)) return 'later';
      return joinTo(parts, held, machine, data);
    },
    heard(serverId, rebuild) {
      for (const shoot of store.list(shoots)) {
        for (const held of nodesOf(store, shoot)) {
          const { spec, status } = held.object;
          const ready = status.nodeInfo.bootID === String(rebuild);
          if (spec.providerID === providerIdOf(serverId) && isReady(held) !== ready) setReady(store, held, ready);
        }
      }
    },
  };
}

/** Whether this is the Secret of a presented token, `id.secret`, and the token is valid. One without an expiration never expires. */
function admits({ type, data = {} }: Secret, shown: string, nowMs: number): boolean {
  if (type !== 'bootstrap.kubernetes.io/token') return false;
  const value = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
  const isExpired = value('expiration') !== '' && Date.parse(value('expiration')) <= nowMs;
  return `${value('token-id')}.${value('token-secret')}` === shown && !isExpired;
}

function joinTo(parts: GardenParts, shoot: Held<Shoot>, machine: JoiningMachine, data: JoinData): JoinOutcome {
  const { store } = parts;
  const { serverId, rebuild, architecture } = machine;
  const cluster = clusterOf(shoot);
  const name = data.hostname || machine.name.toLowerCase();
  const { spec } = shoot.object;
  const config = store.find({ cluster, kind: secrets, namespace: SYSTEM, name: data.secretName });
  const worker = findWorker(spec, config?.labels[POOL] ?? '');
  const ref = { cluster, kind: nodes, namespace: '', name };
  const before = store.find(ref);
  const providerID = serverId === null ? null : providerIdOf(serverId);
  // A node can join again from its own machine only.
  const isTaken = before !== null && (before.object.spec.providerID ?? null) !== providerID;
  if (worker === undefined || (worker.machine.architecture ?? 'amd64') !== architecture || isTaken) return 'never';
  const { version } = spec.kubernetes;
  if (before === null) {
    putNode(parts, cluster, { name, worker, version, providerID });
    addFirstPods(store, cluster, name);
  }
  const held = store.get(ref);
  const nodeInfo = { ...held.object.status.nodeInfo, bootID: String(rebuild) };
  setReady(store, held, true, { nodeInfo });
  return 'joined';
}

/** One pod of a DaemonSet, the mirror of a static pod, and an ordinary one. */
function addFirstPods(store: ObjectStore, cluster: string, nodeName: string): void {
  const owners = [
    [SYSTEM, 'calico-node', 'DaemonSet'],
    [SYSTEM, 'kube-proxy', 'Node'],
    ['default', 'web', 'ReplicaSet'],
  ] as const;
  for (const [namespace, prefix, kind] of owners) {
    const uid = randomUUID();
    const annotations: Record<string, string> = kind === 'Node' ? { 'kubernetes.io/config.mirror': uid } : {};
    const ownerReferences = [{ apiVersion: 'v1', kind, name: nodeName, uid, controller: true }];
    const name = `${prefix}-${nodeName}`;
    store.put(
      { cluster, kind: pods, namespace, name },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace, uid, annotations, ownerReferences },
        spec: { nodeName },
        status: { phase: 'Running' },
      },
    );
  }
}
