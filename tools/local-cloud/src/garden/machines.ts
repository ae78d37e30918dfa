import { randomUUID } from 'node:crypto';
import { type JoinData, readJoinData } from '../compute/join-data.js';
import type { Server, Servers } from '../compute/servers.js';
import { nodes, pods, secrets, shoots } from '../kube/kinds.js';
import { clusterOf, type ObjectStore } from '../kube/store.js';
import { isReady, nodesOf, POOL, providerIdOf, putNode, SYSTEM, setReady } from './nodes.js';
import type { Secret } from './objects.js';
import type { GardenParts } from './parts.js';
import { findWorker, isServing } from './shoots/shoot.js';

interface Machine {
  /** Null for a machine outside the provider. */
  readonly serverId: number | null;
  readonly name: string;
  readonly architecture: 'amd64' | 'arm64';
  /** The rebuild that it runs from; 0 for a machine outside the provider. */
  readonly rebuild: number;
}

/** Restart interval of the node agent's unit, in milliseconds. */
const RETRY_MS = 1000;

/** Simulates the software on the servers: processes the user data once after each rebuild. A server that is rebuilt is silent. */
export function startMachines(parts: GardenParts, servers: Servers) {
  const { clock, settings } = parts;
  const timers = new Map<number, NodeJS.Timeout>();
  const considerIn = (id: number, ms: number): void => void timers.set(id, setTimeout(consider, ms, id));

  function consider(id: number): void {
    const now = clock.now();
    const server = servers.find(id);
    const [last] = server?.actions ?? [];
    if (server === null || last === undefined) return;
    clearTimeout(timers.get(id));
    hear(parts.store, id, server.isRebuilding ? null : server.rebuild);
    const dueAt = last.finishesAt + (server.isRebuilding ? 0 : settings.joinMs);
    if (now < dueAt) considerIn(id, dueAt - now);
    else if (server.rebuild !== null && server.rebuild !== server.firstBoot) boot(server, server.rebuild);
  }

  function boot({ id, name, architecture, userData }: Server, rebuild: number): void {
    const data = readJoinData(userData);
    const machine = { serverId: id, name, architecture: architecture === 'arm' ? 'arm64' : 'amd64', rebuild } as const;
    if (data !== null && join(parts, machine, data) === 'later') considerIn(id, RETRY_MS);
    else servers.change(id, { firstBoot: rebuild });
  }

  servers.onChange = consider;
  for (const { id } of servers.list()) consider(id);
  return {
    async close() {
      servers.onChange = () => undefined;
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}

/** @param rebuild the one that a server runs from: its node is that of another one, and so not ready */
function hear(store: ObjectStore, serverId: number, rebuild: number | null): void {
  for (const held of store.list(shoots).flatMap((shoot) => nodesOf(store, shoot))) {
    const { spec, status } = held.object;
    const ready = status.nodeInfo.bootID === String(rebuild);
    if (spec.providerID === providerIdOf(serverId) && isReady(held) !== ready) setReady(store, held, ready);
  }
}

/** Makes a machine a node of a Shoot. `later`: the API server is down. `never`: it rejects this machine. */
export function join(parts: GardenParts, machine: Machine, data: JoinData): 'joined' | 'later' | 'never' {
  const { store, clock, authorities } = parts;
  const { serverId, rebuild, architecture } = machine;
  // Shoots share an address. The certificate authority tells them apart.
  const authority = data.certificateAuthority.trim();
  const shoot = store.list(shoots).find((each) => authorities.get(each).certificate.trim() === authority);
  if (shoot === undefined) return 'never';
  const cluster = clusterOf(shoot);
  const known = store.list(secrets, cluster);
  if (!known.some(({ object }) => admits(object, data.bootstrapToken, clock.now()))) return 'never';
  if (!isServing(shoot.object)) return 'later';
  const config = known.find((secret) => secret.namespace === SYSTEM && secret.name === data.secretName);
  const worker = findWorker(shoot.object.spec, config?.labels[POOL] ?? '');
  if (worker === undefined || (worker.machine.architecture ?? 'amd64') !== architecture) return 'never';
  const name = data.hostname || machine.name.toLowerCase();
  const ref = { cluster, kind: nodes, namespace: '', name };
  const before = store.find(ref);
  const providerID = serverId === null ? null : providerIdOf(serverId);
  // A node can join again from its own machine only.
  if (before !== null && (before.object.spec.providerID ?? null) !== providerID) return 'never';
  if (before === null) {
    putNode(parts, cluster, { name, worker, version: shoot.object.spec.kubernetes.version, providerID });
    addFirstPods(store, cluster, name);
  }
  const held = store.get(ref);
  setReady(store, held, true, { nodeInfo: { ...held.object.status.nodeInfo, bootID: String(rebuild) } });
  return 'joined';
}

/** Whether this is the Secret of a presented token, `id.secret`, and the token is valid. One without an expiration never expires. */
function admits({ type, data = {} }: Secret, shown: string, nowMs: number): boolean {
  if (type !== 'bootstrap.kubernetes.io/token') return false;
  const value = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
  const isExpired = value('expiration') !== '' && Date.parse(value('expiration')) <= nowMs;
  return `${value('token-id')}.${value('token-secret')}` === shown && !isExpired;
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
