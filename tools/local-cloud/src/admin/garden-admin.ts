import { readJoinCommand } from '../compute/join-data.js';
import { isReady } from '../garden/cluster/nodes.js';
import {
  type CatalogueVersion,
  type CloudProfile,
  cloudProfiles,
  configMaps,
  type Secret,
} from '../garden/kinds/core-kinds.js';
import type { Kind } from '../garden/kinds/kind.js';
import type { Fields, KubeObject } from '../garden/kube/object.js';
import { mergePatch } from '../garden/kube/patches.js';
import type { RealApiServer } from '../garden/shoot-api/real-api-server.js';
import type { ShootFault } from '../garden/shoots/gardenlet.js';
import type { Condition, Shoot } from '../garden/shoots/shoot.js';
import { shoots } from '../garden/shoots/shoots.js';
import type { Garden } from '../garden/start-garden.js';
import { type Held, objectOf } from '../garden/store.js';
import type { AccountName, Rule } from '../garden-accounts.js';

/** A change of a Shoot by another field manager. */
export interface ShootEdit {
  /** Field manager. Default `somebody-else`. */
  readonly manager?: string;
  /** Merge patch of the object. Admission applies. */
  readonly patch?: Fields;
  /** Merge patch of the status. No rule applies. */
  readonly status?: Fields;
  /** Conditions to set, by type. */
  readonly conditions?: readonly Pick<Condition, 'type' | 'status' | 'reason' | 'message'>[];
}

/** What the catalogue no longer offers. */
export interface Expiry {
  readonly kubernetesVersion?: string;
  readonly image?: { readonly name: string; readonly version: string };
  readonly machineType?: string;
}

const OPERATOR = 'garden-operator';
/** RFC 3339. Before the start of any test. */
const LONG_AGO = '2020-01-01T00:00:00Z';

/** Controls of the garden for tests and manual experiments. Functions throw an Error for objects that do not exist. */
export function createGardenAdmin(garden: Garden) {
  const { store, writes, gardenlet, watches, clusters } = garden;
  const getHeld = (namespace: string, name: string): Held => {
    const held = store.get('shoots', namespace, name);
    if (held === null) throw new Error(`There is no Shoot ${namespace}/${name}.`);
    return held;
  };
  const merge = (kind: Kind, namespace: string, name: string, body: Fields, manager = OPERATOR): KubeObject =>
    writes.patch(kind, namespace, name, { type: 'merge', body, isStrict: false }, manager).object;
  const catalogue = (): CloudProfile => writes.get<CloudProfile>(cloudProfiles as Kind, '', 'hcloud');
  const patchCloudProfile = (spec: Fields): void => void merge(cloudProfiles as Kind, '', 'hcloud', { spec });
  return {
    rights: (account: AccountName): readonly Rule[] => garden.rights.of(account),
    /** @param rules null restores the documented ones */
    setRights: (account: AccountName, rules: readonly Rule[] | null): void => garden.rights.set(account, rules),
    /** All objects, of Secrets the keys only. */
    contents: () => ({
      secrets: store.list('secrets').map((held) => ({
        namespace: held.namespace,
        name: held.name,
        keys: Object.keys(objectOf<Secret>(held).data ?? {}),
      })),
      credentialsBindings: store.list('credentialsbindings').map(({ namespace, name }) => ({ namespace, name })),
      openWatches: watches.count,
    }),
    shootHistory: garden.lives,
    addShootFaults: (...faults: ShootFault[]) => gardenlet.faults.add(...faults),
    /** Stuck flows continue. */
    clearShootFaults: (): void => gardenlet.clearFaults(),
    editShoot(namespace: string, name: string, edit: ShootEdit): Shoot {
      const { manager = 'somebody-else', patch, status = {}, conditions = [] } = edit;
      if (patch !== undefined) merge(shoots as Kind, namespace, name, patch, manager);
      const shoot = objectOf<Shoot>(getHeld(namespace, name));
      if (edit.status === undefined && conditions.length === 0) return shoot;
      const next = mergePatch(shoot.status, status) as Shoot['status'];
      const at = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
      for (const condition of conditions) {
        const others = (next.conditions ?? []).filter(({ type }) => type !== condition.type);
        next.conditions = [...others, { ...condition, lastTransitionTime: at, lastUpdateTime: at }];
      }
      return objectOf(store.put('shoots', { ...shoot, status: next }));
    },
    /** A Shoot that waits for finalizers only is gone then. */
    removeFinalizers: (namespace: string, name: string): void =>
      void merge(shoots as Kind, namespace, name, { metadata: { finalizers: null } }),
    /** Forgets who holds which field, as a restore from a backup does. */
    forgetManagers(namespace: string, name: string): void {
      const shoot = objectOf<Shoot>(getHeld(namespace, name));
      delete shoot.metadata.managedFields;
      store.put('shoots', shoot);
    },
    writeConfigMap: (namespace: string, name: string, data: Readonly<Record<string, string>>): void =>
      void merge(configMaps, namespace, name, { data }),
    catalogue,
    /** @param spec merge patch of the specification: lists are replaced */
    patchCloudProfile,
    /** Ends what the catalogue offers. Shoots that have it keep it. */
    expire({ kubernetesVersion, image, machineType }: Expiry): void {
      const { kubernetes, machineImages, machineTypes } = catalogue().spec;
      patchCloudProfile({
        kubernetes: { versions: expired(kubernetes.versions, kubernetesVersion) },
        machineImages: machineImages.map((each) =>
          each.name === image?.name ? { ...each, versions: expired(each.versions, image.version) } : each,
        ),
        machineTypes: machineTypes.map((each) => (each.name === machineType ? { ...each, usable: false } : each)),
      });
    },
    /** Removes the Shoot immediately, without a flow. */
    vanishShoot: (namespace: string, name: string): void => store.remove('shoots', namespace, name),
    /** Nodes of a Shoot's cluster, also while its API server is down. */
    nodes: (namespace: string, shoot: string) =>
      clusters.nodes(getHeld(namespace, shoot)).map((node) => ({
        name: node.metadata.name,
        isReady: isReady(node),
        labels: node.metadata.labels,
        addresses: node.status.addresses.map(({ address }) => address),
      })),
    /** Puts an object into a Shoot's cluster, also its status. @param key `group/plural/namespace/name`; null deletes it */
    putObject(namespace: string, shoot: string, key: string, object: KubeObject | null): void {
      if (object === null) clusters.deleteObject(getHeld(namespace, shoot), key);
      else clusters.putObject(getHeld(namespace, shoot), key, object);
    },
    /** Has a real API server keep the objects of a Shoot's cluster, until this process ends. Those that are here stay behind. */
    useRealApiServer: (namespace: string, shoot: string, server: RealApiServer): void =>
      clusters.useRealApiServer(getHeld(namespace, shoot), server),
    /** Stops or resumes the node's status reports. A silent node is not ready. */
    silenceNode: (namespace: string, shoot: string, node: string, isSilent: boolean): void =>
      clusters.silenceNode(getHeld(namespace, shoot), node, isSilent),
    /**
     * Runs a join command on a freshly installed machine outside the provider. The machine becomes a node immediately.
     *
     * @returns the name of the node
     * @throws Error if the command is not a join command or the cluster refuses the machine
     */
    runJoinCommand({ command, architecture = 'amd64' }: { command: string; architecture?: 'amd64' | 'arm64' }): string {
      const data = readJoinCommand(String(command));
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
    changeSettings: garden.changeSettings,
  };
}

const expired = <V extends CatalogueVersion>(versions: readonly V[], gone: string | undefined): V[] =>
  versions.map((each) =>
    each.version === gone ? { ...each, classification: 'deprecated', expirationDate: LONG_AGO } : each,
  );
