import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import { publicAddresses } from '../compute/addresses.js';
import { nodes, secrets } from '../kube/kinds.js';
import type { KubeObject } from '../kube/object.js';
import { clusterOf, type Held, type ObjectStore, type Ref } from '../kube/store.js';
import type { Rule } from '../kube/writes.js';
import { base64 } from './credentials.js';
import type { Node } from './objects.js';
import type { GardenParts } from './parts.js';
import { type Shoot, type Worker, workersOf } from './shoots/shoot.js';

/** Namespace of all objects that nodes need from a Shoot. */
export const SYSTEM = 'kube-system';
export const POOL = 'worker.gardener.cloud/pool';

/** The nodes of a Shoot, by name: one for each machine, and those that joined by themselves. */
export const nodesOf = (store: ObjectStore, shoot: Pick<Ref, 'namespace' | 'name'>): Held<Node>[] =>
  store.list(nodes, clusterOf(shoot));

/** The number of a machine's server: stable for a name, and distinct from ids of other servers. */
export const idOf = (name: string): number =>
  2 ** 40 + Number.parseInt(createHash('sha256').update(name).digest('hex').slice(0, 9), 16);

export const providerIdOf = (serverId: number): string => `hcloud://${serverId}`;

/** Whether a node is one of the Shoot's own machines. Each is also a server of the provider. */
export const isMachine = ({ name, object }: Held<Node>): boolean => object.spec.providerID === providerIdOf(idOf(name));

export const isReady = ({ object }: Held<Node>): boolean => object.status.conditions[0]?.status === 'True';

/** Says whether a node reports its status. A silent one is not ready. @param change of its status */
export function setReady(
  store: ObjectStore,
  held: Held<Node>,
  ready: boolean,
  change: Partial<Node['status']> = {},
): void {
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'Unknown' }];
  store.put(held, { ...held.object, status: { ...held.object.status, conditions, ...change } });
}

const VERSION = 'worker.gardener.cloud/kubernetes-version';

/** What the kubelet of a node says: it is ready, and has no inner addresses. */
export const nodeRule: Rule = {
  admit(object, old) {
    const { metadata, spec } = object as Node;
    const before = (old as Node | null)?.status;
    object.status = {
      addresses: publicAddresses(spec.providerID ?? metadata.name).map((address) => ({ type: 'ExternalIP', address })),
      conditions: [{ type: 'Ready', status: 'True' }],
      ...before,
      nodeInfo: { ...before?.nodeInfo, kubeletVersion: `v${metadata.labels[VERSION]}` },
    };
  },
};

/** Makes or renews a node of a pool. What clients have added to it stays. @param providerID null outside the provider */
export function putNode(
  { writes }: GardenParts,
  cluster: string,
  { name, worker, version, providerID }: { name: string; worker: Worker; version: string; providerID: string | null },
): void {
  const own = { 'kubernetes.io/hostname': name, [POOL]: worker.name, [VERSION]: version };
  const body = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { labels: { ...worker.labels, ...own }, annotations: { ...worker.annotations } },
    spec: providerID === null ? {} : { providerID },
  };
  const patch = { type: 'apply', body, force: true } as const;
  writes.patch({ cluster, kind: nodes, namespace: '', name }, patch, 'machine-controller');
}

/** Gives the cluster of a Shoot the nodes of its machines, and the Secrets that node agents read. */
export function settleCluster(parts: GardenParts, ref: Ref<Shoot>, shoot: Shoot): void {
  const { store } = parts;
  const cluster = clusterOf(ref);
  const wanted = machineNamesOf(shoot);
  const { version } = shoot.spec.kubernetes;
  for (const node of nodesOf(store, ref).filter(isMachine)) {
    if (!wanted.has(node.name)) store.remove(node);
  }
  for (const [name, worker] of wanted) {
    putNode(parts, cluster, { name, worker, version, providerID: providerIdOf(idOf(name)) });
  }
  settleConfigs(store, cluster, shoot);
}

const suffixOf = (...parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 5);

const minorOf = ({ spec }: Shoot): string[] => spec.kubernetes.version.split('.', 2);

/** `minimum` machines of each pool in each of its zones. Another minor version or machine makes others, of other names. */
function machineNamesOf(shoot: Shoot): Map<string, Worker> {
  const { technicalID, uid, hibernated } = shoot.status;
  const names = new Map<string, Worker>();
  for (const worker of hibernated ? [] : workersOf(shoot.spec)) {
    const template = suffixOf(minorOf(shoot), worker.machine, worker.providerConfig);
    for (const zone of worker.zones ?? []) {
      for (let index = 0; index < worker.minimum; index += 1) {
        const suffix = suffixOf(uid, worker.name, zone, template, index);
        names.set(`${technicalID}-${worker.name}-${zone}-${template}-${suffix}`, worker);
      }
    }
  }
  return names;
}

const AGENT_VERSION = 'v1.150.0';
const AGENT_IMAGE = `europe-docker.pkg.dev/gardener-project/releases/gardener/node-agent:${AGENT_VERSION}`;

/**
 * Keeps the configuration Secrets that node agents read, one per worker pool
 * (`pkg/component/extensions/operatingsystemconfig/original/components/nodeagent/secrets.go`).
 */
function settleConfigs(store: ObjectStore, cluster: string, shoot: Shoot): void {
  const wanted = new Map(workersOf(shoot.spec).map((worker) => [configNameOf(shoot, worker), worker]));
  const isConfig = ({ labels }: Held): boolean => labels['gardener.cloud/role'] === 'operating-system-config';
  for (const config of store.list(secrets, cluster).filter(isConfig)) {
    if (!wanted.delete(config.name)) store.remove(config);
  }
  for (const [name, worker] of wanted)
    store.put({ cluster, kind: secrets, namespace: SYSTEM, name }, configOf(shoot, name, worker));
}

/** Another minor version, image or runtime leads to another Secret. */
const configNameOf = (shoot: Shoot, { name, machine, cri }: Worker): string =>
  `gardener-node-agent-${name}-${suffixOf(minorOf(shoot), machine.image, cri)}`;

function configOf({ metadata, spec }: Shoot, name: string, worker: Worker): KubeObject {
  const agent = {
    apiVersion: 'nodeagent.config.gardener.cloud/v1alpha1',
    kind: 'NodeAgentConfiguration',
    controllers: { operatingSystemConfig: { secretName: name, kubernetesVersion: spec.kubernetes.version } },
  };
  const files = [
    {
      path: `/var/lib/gardener-node-agent/config-${AGENT_VERSION}.yaml`,
      content: { inline: { encoding: 'b64', data: base64(stringify(agent)) } },
    },
    {
      path: '/opt/bin/gardener-node-agent',
      content: { imageRef: { image: AGENT_IMAGE, filePathInImage: '/gardener-node-agent' } },
    },
  ];
  const config = { apiVersion: 'extensions.gardener.cloud/v1alpha1', kind: 'OperatingSystemConfig', spec: { files } };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace: SYSTEM,
      uid: `${metadata.uid}/${name}`,
      creationTimestamp: metadata.creationTimestamp ?? '',
      labels: { 'gardener.cloud/role': 'operating-system-config', [POOL]: worker.name },
    },
    type: 'Opaque',
    data: { 'osc.yaml': base64(stringify(config)) },
  };
}

const columns = ['Name', 'Status', 'Roles', 'Version', 'Age'];

/** A `Table` with the columns of `kubectl get nodes`. */
export const nodeTable = (all: readonly Held<Node>[], nowMs: number): object => ({
  kind: 'Table',
  apiVersion: 'meta.k8s.io/v1',
  metadata: {},
  columnDefinitions: columns.map((name) => ({ name, type: 'string', format: '', description: name, priority: 0 })),
  rows: all.map((held) => {
    const { metadata, status, spec } = held.object;
    const ready = isReady(held) ? 'Ready' : 'NotReady';
    const minutes = Math.floor((nowMs - Date.parse(metadata.creationTimestamp ?? '')) / 60_000);
    const shown = spec.unschedulable === true ? `${ready},SchedulingDisabled` : ready;
    return {
      cells: [metadata.name, shown, '<none>', status.nodeInfo.kubeletVersion, `${minutes}m`],
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata },
    };
  }),
});
