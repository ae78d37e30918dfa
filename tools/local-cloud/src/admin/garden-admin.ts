import { readJoinCommand } from '../compute/read-join-data.js';
import type { AccountName, Rule } from '../garden/accounts.js';
import { isReady, type Node } from '../garden/cluster/nodes.js';
import type { GardenSettings } from '../garden/garden-settings.js';
import { otherSeed } from '../garden/gardenlet/seeds.js';
import type { HeldShootFault, ShootFault } from '../garden/gardenlet/shoot-faults.js';
import { simulationOf } from '../garden/gardenlet/simulation.js';
import { type CloudProfile, cloudProfiles, type ExpirableVersion } from '../garden/kinds/cloud-profile.js';
import { configMaps, type Secret } from '../garden/kinds/core-kinds.js';
import type { Condition, Shoot } from '../garden/kinds/shoot/shoot.js';
import { shoots } from '../garden/kinds/shoot/shoots.js';
import { isFields, type KubeObject, mergePatch } from '../garden/kube/object.js';
import { type Held, objectOf } from '../garden/objects/held.js';
import type { ShootLife } from '../garden/shoot-history.js';
import type { Garden } from '../garden/start-garden.js';

/** A change of a Shoot by another field manager. */
export interface ShootEdit {
  /** Field manager. Default `somebody-else`. */
  readonly manager?: string;
  /** Merge patch of the object. Admission applies. */
  readonly patch?: Readonly<Record<string, unknown>>;
  /** Merge patch of the status. No rule applies. */
  readonly status?: Readonly<Record<string, unknown>>;
  /** Conditions to set, by type. */
  readonly conditions?: readonly ConditionEdit[];
}

/** What the catalogue no longer offers. */
export interface Expiry {
  readonly kubernetesVersion?: string;
  readonly image?: { readonly name: string; readonly version: string };
  readonly machineType?: string;
}

/** RFC 3339. Before the start of any test. */
const LONG_AGO = '2020-01-01T00:00:00Z';

type ConditionEdit = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

export type GardenAdmin = ReturnType<typeof createGardenAdmin>;

/** Controls of the garden for tests and manual experiments. Functions throw an Error for objects that do not exist. */
export function createGardenAdmin(garden: Garden) {
  const { store, objects, gardenlet, watches, history, settings, clusters } = garden;
  const list = <T extends KubeObject>(plural: string): T[] => store.list(plural).map((held) => objectOf<T>(held));
  const placeOf = ({ metadata: { namespace = '', name = '' } }: KubeObject) => ({ namespace, name });
  const getHeld = (namespace: string, name: string): Held => {
    const held = store.get('shoots', namespace, name);
    if (held === null) throw new Error(`There is no Shoot ${namespace}/${name}.`);
    return held;
  };
  const getShoot = (namespace: string, name: string): Shoot => objectOf<Shoot>(getHeld(namespace, name));
  const write = (fieldManager: string, subresource: '' | 'binding' = '') => ({
    user: 'system:admin',
    fieldManager,
    subresource,
  });
  const catalogue = (): CloudProfile => objects.get<CloudProfile>(cloudProfiles, '', 'hcloud');
  const patchCloudProfile = (patch: Readonly<Record<string, unknown>>): KubeObject => {
    const body = { spec: patch };
    return objects.patch(cloudProfiles, '', 'hcloud', { type: 'merge', body }, write('garden-operator')).object;
  };
  return {
    rights: (account: AccountName): readonly Rule[] => garden.rights.of(account),
    /** @param rules null restores the documented ones */
    setRights: (account: AccountName, rules: readonly Rule[] | null): void => garden.rights.set(account, rules),
    /** For Secrets, keys only. Values are never shown. */
    contents: () => ({
      secrets: list<Secret>('secrets').map((secret) => ({ ...placeOf(secret), keys: Object.keys(secret.data ?? {}) })),
      credentialsBindings: list('credentialsbindings').map(placeOf),
      shoots: store.list('shoots').map((held) => ({ name: held.name, machines: machinesByPool(held) })),
      openWatches: watches.count,
    }),
    /** Every Shoot ever created, oldest first. */
    shootHistory: (): ShootLife[] => history.list(),
    addShootFaults: (...faults: ShootFault[]): HeldShootFault[] => gardenlet.faults.add(faults),
    /** Stuck flows continue. */
    clearShootFaults: (): void => gardenlet.clearFaults(),
    /** Moves the control plane to the other seed for the same regions. */
    migrateShoot(namespace: string, name: string): void {
      const shoot = getShoot(namespace, name);
      const moved = { ...shoot, spec: { ...shoot.spec, seedName: otherSeed(shoot.spec.seedName ?? '') } };
      objects.update(shoots, namespace, name, moved, write('garden-operator', 'binding'));
    },
    editShoot(
      namespace: string,
      name: string,
      { manager = 'somebody-else', patch, status, conditions = [] }: ShootEdit,
    ): KubeObject {
      if (patch !== undefined) {
        objects.patch(shoots, namespace, name, { type: 'merge', body: patch }, write(manager));
      }
      const shoot = getShoot(namespace, name);
      if (status === undefined && conditions.length === 0) return shoot;
      const merged = mergePatch(shoot.status, status ?? {});
      if (!isFields(merged)) throw new Error('`status` is an object.');
      const next = { ...shoot, status: merged as unknown as Shoot['status'] };
      for (const condition of conditions) putCondition(next.status, condition);
      return objectOf(store.put('shoots', next));
    },
    /** Removes all finalizers. A Shoot that waits for them only is gone then. */
    removeFinalizers(namespace: string, name: string): void {
      const body = { metadata: { finalizers: null } };
      objects.patch(shoots, namespace, name, { type: 'merge', body }, write('somebody-else'));
    },
    /** Removes `managedFields`, as a restore from a backup that does not contain them does. */
    forgetManagers(namespace: string, name: string): KubeObject {
      const { metadata, ...shoot } = getShoot(namespace, name);
      const { managedFields: _, ...rest } = metadata;
      return objectOf(store.put('shoots', { ...shoot, metadata: rest } as Shoot));
    },
    /** Replaces the data of a ConfigMap, as a controller does. */
    writeConfigMap(namespace: string, name: string, data: Readonly<Record<string, string>>): KubeObject {
      const map = { ...objects.get(configMaps, namespace, name), data };
      return objects.update(configMaps, namespace, name, map, write('gardenlet')).object;
    },
    catalogue,
    /** Applies a merge patch to the spec of the catalogue, for example to remove a machine type. */
    patchCloudProfile,
    /** From now on new uses are refused, as Gardener does: those that exist stay. */
    expire(expiry: Expiry): KubeObject {
      const { kubernetes, machineImages, machineTypes } = catalogue().spec;
      const { kubernetesVersion, image, machineType } = expiry;
      const found = [
        kubernetesVersion === undefined || kubernetes.versions.some(({ version }) => version === kubernetesVersion),
        image === undefined ||
          machineImages.some((each) => each.name === image.name && each.versions.some(isVersion(image.version))),
        machineType === undefined || machineTypes.some(({ name }) => name === machineType),
      ];
      if (found.includes(false)) throw new Error('The catalogue has no such version, image or machine type.');
      return patchCloudProfile({
        kubernetes: { versions: expired(kubernetes.versions, kubernetesVersion) },
        machineImages: machineImages.map((each) =>
          each.name === image?.name ? { ...each, versions: expired(each.versions, image.version) } : each,
        ),
        machineTypes: machineTypes.map((each) => (each.name === machineType ? { ...each, usable: false } : each)),
      });
    },
    /** Removes the Shoot immediately, without a flow. */
    vanishShoot(namespace: string, name: string): void {
      getShoot(namespace, name);
      store.remove('shoots', namespace, name);
    },
    /** Nodes of a Shoot's cluster, also while its API server is down. */
    nodes(namespace: string, shoot: string) {
      const held = getHeld(namespace, shoot);
      const servers = new Map(clusters.read(held).joined.map(({ name, serverId }) => [name, serverId]));
      return clusters.nodes(held).map((node) => shownNode(node, servers.get(node.metadata.name) ?? null));
    },
    /** Stops or resumes the node's status reports. A silent node is not Ready. */
    silenceNode(namespace: string, shoot: string, node: string, isSilent: boolean): void {
      clusters.silenceNode(getHeld(namespace, shoot), node, isSilent);
    },
    /**
     * Runs a join command on a freshly installed machine outside the provider. The machine becomes a node immediately.
     *
     * @returns the name of the node
     * @throws Error if the command is not a join command or the cluster refuses the machine
     */
    runJoinCommand({ command, architecture = 'amd64' }: { command: string; architecture?: 'amd64' | 'arm64' }): string {
      const data = typeof command === 'string' ? readJoinCommand(command) : null;
      if (data?.hostname == null) throw new Error('`command` is no whole join command.');
      const name = data.hostname;
      const outcome = garden.machines.join({ serverId: null, name, architecture, rebuild: 0 }, data);
      if (outcome === 'later') throw new Error('The API server of the cluster is away. Run the command again.');
      if (outcome === 'never')
        throw new Error('The cluster turns the machine away: the token, or what it names, is over.');
      return name;
    },
    /** Ends all watches. With `expireHistory`, none of them can resume. */
    dropWatches({ expireHistory = false }: { expireHistory?: boolean } = {}): void {
      watches.dropAll();
      if (expireHistory) store.forgetHistory();
    },
    /** Omitted settings keep their values. */
    changeSettings: (change: Partial<GardenSettings>): GardenSettings => settings.change(change),
  };
}

const isVersion =
  (wanted: string) =>
  ({ version }: ExpirableVersion): boolean =>
    version === wanted;

const expired = <V extends ExpirableVersion>(versions: readonly V[], gone: string | undefined): V[] =>
  versions.map((each) =>
    each.version === gone ? { ...each, classification: 'deprecated', expirationDate: LONG_AGO } : each,
  );

/** @param serverId null for a node of the Shoot's own machines and for a machine outside the provider */
const shownNode = (node: Node, serverId: number | null) => ({
  name: node.metadata.name,
  pool: node.metadata.labels['worker.gardener.cloud/pool'] ?? '',
  serverId,
  isReady: isReady(node),
  isUnschedulable: node.spec.unschedulable === true,
  labels: node.metadata.labels,
  annotations: node.metadata.annotations ?? {},
});

function machinesByPool(held: Held): Record<string, string[]> {
  const machines: Record<string, string[]> = {};
  for (const { pool, name } of simulationOf(held).reconciled?.machines ?? []) {
    machines[pool] = [...(machines[pool] ?? []), name];
  }
  return machines;
}

function putCondition(status: Shoot['status'], condition: ConditionEdit): void {
  const at = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const others = (status.conditions ?? []).filter(({ type }) => type !== condition.type);
  status.conditions = [...others, { ...condition, lastTransitionTime: at, lastUpdateTime: at }];
}
