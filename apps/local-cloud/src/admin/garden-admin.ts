import type { HeldPod } from '../garden/cluster/contents.js';
import { isReady, type Node } from '../garden/cluster/nodes.js';
import type { PodOptions } from '../garden/cluster/pods.js';
import { MAINTENANCE_MANAGER, maintainedSpec } from '../garden/controllers/maintenance.js';
import type { GardenSettings } from '../garden/garden-settings.js';
import type { HeldShootFault, ShootFault } from '../garden/gardenlet/shoot-faults.js';
import { simulationOf } from '../garden/gardenlet/simulation.js';
import { type CloudProfile, cloudProfiles } from '../garden/kinds/cloud-profile.js';
import { configMaps, type Secret } from '../garden/kinds/core-kinds.js';
import type { Condition, LastOperation, Shoot } from '../garden/kinds/shoot/shoot.js';
import { shoots } from '../garden/kinds/shoot/shoots.js';
import { isFields, type KubeObject } from '../garden/kube/object.js';
import { mergePatch } from '../garden/patch/merge-patch.js';
import type { AccountName, Rule } from '../garden/rights/accounts.js';
import { otherSeed } from '../garden/seed/seeds.js';
import type { ShootLife } from '../garden/shoot-history.js';
import type { Garden } from '../garden/start-garden.js';
import { type Held, objectOf } from '../garden/store/held.js';
import { readJoinCommand } from '../machines/read-join-data.js';

export interface HeldShoot {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly observedGeneration: number;
  readonly seedName: string | null;
  readonly hibernated: boolean;
  readonly deletionTimestamp: string | null;
  readonly lastOperation: LastOperation | null;
  /** Names of the machines, by pool. */
  readonly machines: Readonly<Record<string, readonly string[]>>;
}

/** A node of a Shoot's cluster, as tests want to know it. */
export interface ShownNode {
  readonly name: string;
  readonly pool: string;
  /** Null for the node of a machine of the Shoot, and of one that is no server of the provider. */
  readonly serverId: number | null;
  readonly isReady: boolean;
  readonly isUnschedulable: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface GardenContents {
  readonly namespaces: readonly string[];
  readonly projects: readonly { readonly name: string; readonly namespace: string | null }[];
  /** Keys only: values are never shown. */
  readonly secrets: readonly { readonly namespace: string; readonly name: string; readonly keys: readonly string[] }[];
  readonly credentialsBindings: readonly { readonly namespace: string; readonly name: string }[];
  readonly shoots: readonly HeldShoot[];
  readonly openWatches: number;
}

/** A change of a Shoot by somebody else. */
export interface ShootEdit {
  /** Field manager. Default `somebody-else`. */
  readonly manager?: string;
  /** Merge patch of the object, by the rules of admission. */
  readonly patch?: Readonly<Record<string, unknown>>;
  /** Merge patch of the status, past all rules. */
  readonly status?: Readonly<Record<string, unknown>>;
  /** Conditions and constraints to put in place, by type. */
  readonly conditions?: readonly Pick<Condition, 'type' | 'status' | 'reason' | 'message'>[];
}

/** What tests and people at play can do to the garden. */
export interface GardenAdmin {
  /** Default: that of the technical user. @throws Error for an account that is not there */
  kubeconfig(account?: AccountName): string;
  /** What an account may do. */
  rights(account: AccountName): readonly Rule[];
  /** @param rules null brings the documented ones back */
  setRights(account: AccountName, rules: readonly Rule[] | null): void;
  contents(): GardenContents;
  /** Every Shoot that there ever was, oldest first. */
  shootHistory(): ShootLife[];
  addShootFaults(...faults: ShootFault[]): HeldShootFault[];
  shootFaults(): HeldShootFault[];
  /** Flows that were made to stop go on. */
  clearShootFaults(): void;
  /** Moves the control plane to another seed. Default: the other one of the same part of the world. */
  migrateShoot(namespace: string, name: string, seedName?: string): void;
  editShoot(namespace: string, name: string, edit: ShootEdit): KubeObject;
  /**
   * The daily maintenance of a Shoot: as Gardener's controller manager it raises the versions that have expired, and those
   * whose updates are left to it.
   */
  maintainShoot(namespace: string, name: string): KubeObject;
  /** A restore of the garden from a backup by other means: nobody holds any field any more. */
  forgetManagers(namespace: string, name: string): KubeObject;
  /** Replaces what a ConfigMap holds, as a controller does. */
  writeConfigMap(namespace: string, name: string, data: Readonly<Record<string, string>>): KubeObject;
  /** Changes the catalogue by a merge patch of its spec: versions expire, machine types sell out. */
  patchCloudProfile(patch: Readonly<Record<string, unknown>>): KubeObject;
  /** The Shoot is gone at once, without a flow. */
  vanishShoot(namespace: string, name: string): void;
  /** Of a Shoot's cluster, also while its API server is away. */
  nodes(namespace: string, shoot: string): ShownNode[];
  /** Makes a node fall silent, so that it is not Ready any more, or speak again. */
  silenceNode(namespace: string, shoot: string, node: string, isSilent: boolean): void;
  pods(namespace: string, shoot: string): HeldPod[];
  /** Puts a pod on a node. */
  addPod(namespace: string, shoot: string, pod: PodOptions): HeldPod;
  /** Protects a pod by a disruption budget that forbids its eviction, or lifts that. */
  protectPod(namespace: string, shoot: string, pod: Pick<HeldPod, 'namespace' | 'name'>, isProtected: boolean): HeldPod;
  /**
   * Runs a join command on a machine that is no server of the provider, freshly installed: it is a node at once.
   *
   * @returns the name of the node
   * @throws Error for what is no join command, and when the cluster turns the machine away
   */
  runJoinCommand(run: { readonly command: string; readonly architecture?: 'amd64' | 'arm64' }): string;
  /**
   * Ends all watches; with `expireHistory` none of them can resume. `silently`, their connections stay open, but nothing
   * comes any more.
   */
  dropWatches(options?: { expireHistory?: boolean; silently?: boolean }): void;
  settings(): GardenSettings;
  /** What is left out stays. */
  changeSettings(change: Partial<GardenSettings>): GardenSettings;
}

export function createGardenAdmin(garden: Garden): GardenAdmin {
  const { store, objects, gardenlet, watches, history, settings, clusters } = garden;
  const list = <T extends KubeObject>(plural: string): T[] => store.list(plural).map((held) => objectOf<T>(held));
  const placeOf = ({ metadata: { namespace = '', name = '' } }: KubeObject) => ({ namespace, name });
  const getHeld = (namespace: string, name: string): Held => {
    const held = store.get('shoots', namespace, name);
    if (held === null) throw new Error(`There is no Shoot ${namespace}/${name}.`);
    return held;
  };
  const getShoot = (namespace: string, name: string): Shoot => objectOf<Shoot>(getHeld(namespace, name));
  const write = (fieldManager: string, subresource: '' | 'binding') => ({
    user: 'system:admin',
    fieldManager,
    subresource,
    dryRun: false,
  });
  return {
    kubeconfig(account = 'technical-user') {
      const kubeconfig = garden.kubeconfigs[account];
      if (kubeconfig === undefined) throw new Error(`There is no account ${account}.`);
      return kubeconfig;
    },
    rights: (account) => garden.rights.of(account),
    setRights: (account, rules) => garden.rights.set(account, rules),
    contents: () => ({
      namespaces: list('namespaces').map(({ metadata }) => metadata.name ?? ''),
      projects: list('projects').map(({ metadata, spec }) => ({
        name: metadata.name ?? '',
        namespace: (spec as { namespace?: string }).namespace ?? null,
      })),
      secrets: list<Secret>('secrets').map((secret) => ({ ...placeOf(secret), keys: Object.keys(secret.data ?? {}) })),
      credentialsBindings: list('credentialsbindings').map(placeOf),
      shoots: store.list('shoots').map((held) => shownShoot(objectOf(held), simulationOf(held).reconciled?.machines)),
      openWatches: watches.count,
    }),
    shootHistory: () => history.list(),
    addShootFaults: (...faults) => gardenlet.faults.add(faults),
    shootFaults: () => gardenlet.faults.list(),
    clearShootFaults: () => gardenlet.clearFaults(),
    migrateShoot(namespace, name, seedName) {
      const shoot = getShoot(namespace, name);
      const target = seedName ?? otherSeed(shoot.spec.seedName ?? '');
      const moved = { ...shoot, spec: { ...shoot.spec, seedName: target } };
      objects.update(shoots, namespace, name, moved, write('garden-operator', 'binding'));
    },
    editShoot(namespace, name, { manager = 'somebody-else', patch, status, conditions = [] }) {
      if (patch !== undefined) {
        objects.patch(shoots, namespace, name, { type: 'merge', body: patch }, write(manager, ''));
      }
      const shoot = getShoot(namespace, name);
      if (status === undefined && conditions.length === 0) return shoot;
      const merged = mergePatch(shoot.status, status ?? {});
      if (!isFields(merged)) throw new Error('`status` is an object.');
      const next = { ...shoot, status: merged as unknown as Shoot['status'] };
      for (const condition of conditions) putCondition(next.status, condition);
      return objectOf(store.put('shoots', next));
    },
    maintainShoot(namespace, name) {
      const shoot = getShoot(namespace, name);
      const profile = objects.get<CloudProfile>(cloudProfiles, '', shoot.spec.cloudProfile?.name ?? 'hcloud');
      const maintained = { ...shoot, spec: maintainedSpec(shoot.spec, profile, garden.clock.now()) };
      return objects.update(shoots, namespace, name, maintained, write(MAINTENANCE_MANAGER, '')).object;
    },
    forgetManagers(namespace, name) {
      const { metadata, ...shoot } = getShoot(namespace, name);
      const { managedFields: _, ...rest } = metadata;
      return objectOf(store.put('shoots', { ...shoot, metadata: rest } as Shoot));
    },
    writeConfigMap(namespace, name, data) {
      const map = { ...objects.get(configMaps, namespace, name), data };
      return objects.update(configMaps, namespace, name, map, write('gardenlet', '')).object;
    },
    patchCloudProfile(patch) {
      const body = { spec: patch };
      return objects.patch(cloudProfiles, '', 'hcloud', { type: 'merge', body }, write('garden-operator', '')).object;
    },
    vanishShoot(namespace, name) {
      getShoot(namespace, name);
      store.remove('shoots', namespace, name);
    },
    nodes(namespace, shoot) {
      const held = getHeld(namespace, shoot);
      const servers = new Map(clusters.read(held).joined.map(({ name, serverId }) => [name, serverId]));
      return clusters.nodes(held).map((node) => shownNode(node, servers.get(node.metadata.name) ?? null));
    },
    silenceNode(namespace, shoot, node, isSilent) {
      clusters.silenceNode(getHeld(namespace, shoot), node, isSilent);
    },
    pods: (namespace, shoot) => [...clusters.read(getHeld(namespace, shoot)).pods],
    addPod(namespace, shoot, pod) {
      if (typeof pod.node !== 'string') throw new Error('A pod needs the name of a `node`.');
      return clusters.putPod(getHeld(namespace, shoot), pod);
    },
    protectPod(namespace, shoot, pod, isProtected) {
      const held = getHeld(namespace, shoot);
      return clusters.protectPod(held, clusters.pod(held, pod.namespace, pod.name), isProtected);
    },
    runJoinCommand({ command, architecture = 'amd64' }) {
      const data = typeof command === 'string' ? readJoinCommand(command) : null;
      if (data?.hostname == null) throw new Error('`command` is no whole join command.');
      const name = data.hostname;
      const nothing = { serverType: '', location: '', rebuild: 0 };
      const outcome = garden.machines.join({ serverId: null, name, architecture, ...nothing }, data);
      if (outcome === 'later') throw new Error('The API server of the cluster is away. Run the command again.');
      if (outcome === 'never')
        throw new Error('The cluster turns the machine away: the token, or what it names, is over.');
      return name;
    },
    dropWatches({ expireHistory = false, silently = false } = {}) {
      if (silently) watches.stallAll();
      else watches.dropAll();
      if (expireHistory) store.forgetHistory();
    },
    settings: () => settings.read(),
    changeSettings: (change) => settings.change(change),
  };
}

const shownNode = (node: Node, serverId: number | null): ShownNode => ({
  name: node.metadata.name,
  pool: node.metadata.labels['worker.gardener.cloud/pool'] ?? '',
  serverId,
  isReady: isReady(node),
  isUnschedulable: node.spec.unschedulable === true,
  labels: node.metadata.labels,
  annotations: node.metadata.annotations ?? {},
});

function shownShoot({ metadata, status }: Shoot, machines: readonly { pool: string; name: string }[] = []): HeldShoot {
  const byPool: Record<string, string[]> = {};
  for (const { pool, name } of machines) byPool[pool] = [...(byPool[pool] ?? []), name];
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    generation: metadata.generation ?? 0,
    observedGeneration: status.observedGeneration ?? 0,
    seedName: status.seedName ?? null,
    hibernated: status.hibernated,
    deletionTimestamp: metadata.deletionTimestamp ?? null,
    lastOperation: status.lastOperation ?? null,
    machines: byPool,
  };
}

const constraintTypes = new Set([
  'HibernationPossible',
  'MaintenancePreconditionsSatisfied',
  'CACertificateValiditiesAcceptable',
  'CRDsWithProblematicConversionWebhooks',
]);

function putCondition(
  status: Shoot['status'],
  condition: Pick<Condition, 'type' | 'status' | 'reason' | 'message'>,
): void {
  const field = constraintTypes.has(condition.type) ? 'constraints' : 'conditions';
  const at = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const others = (status[field] ?? []).filter(({ type }) => type !== condition.type);
  status[field] = [...others, { ...condition, lastTransitionTime: at, lastUpdateTime: at }];
}
