import { readJoinCommand } from '../compute/join-data.js';
import { join } from '../garden/machines.js';
import { isReady, nodesOf, setReady } from '../garden/nodes.js';
import type { CatalogueVersion, CloudProfile } from '../garden/objects.js';
import type { RealApiServer } from '../garden/parts.js';
import type { GardenSettings } from '../garden/settings.js';
import type { ShootFault } from '../garden/shoots/gardenlet.js';
import type { Shoot } from '../garden/shoots/shoot.js';
import type { Garden } from '../garden/start-garden.js';
import type { AccountName } from '../garden-accounts.js';
import { cloudProfiles, credentialsBindings, type Kind, nodes, secrets, shoots } from '../kube/kinds.js';
import type { Fields, KubeObject } from '../kube/object.js';
import type { PolicyRule } from '../kube/serve-kube.js';
import { clusterOf, inGarden, type Ref } from '../kube/store.js';

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
  const { store, writes, gardenlet, watches, accounts, realApiServers } = garden;
  const getHeld = (namespace: string, name: string) => store.get(inGarden(shoots, namespace, name));
  const merge = (ref: Ref, body: Fields, manager: string): KubeObject =>
    writes.patch(ref, { type: 'merge', isStrict: false, body }, manager);
  const profile = inGarden(cloudProfiles, '', 'hcloud');
  const catalogue = (): CloudProfile => store.get(profile).object;
  const patchCloudProfile = (spec: Fields): void => void merge(profile, { spec }, OPERATOR);
  const placesOf = (kind: Kind) => store.list(kind).map(({ namespace, name }) => ({ namespace, name }));
  return {
    rights: (account: AccountName): readonly PolicyRule[] => accounts[account].rules,
    /** @param rules null restores the documented ones */
    setRights(account: AccountName, rules: readonly PolicyRule[] | null): void {
      accounts[account].rules = rules ?? accounts[account].granted;
    },
    contents: () => ({
      secrets: placesOf(secrets),
      credentialsBindings: placesOf(credentialsBindings),
      openWatches: watches.count,
    }),
    shootHistory: garden.lives,
    addShootFaults: (...faults: ShootFault[]) => gardenlet.faults.add(...faults),
    /** Stuck flows continue. */
    clearShootFaults: (): void => gardenlet.clearFaults(),
    /** Changes a Shoot as another field manager, by a merge patch. Admission applies. */
    editShoot(namespace: string, name: string, { manager, patch }: { manager?: string; patch?: Fields }): Shoot {
      if (patch !== undefined) merge(inGarden(shoots, namespace, name), patch, manager ?? 'somebody-else');
      return getHeld(namespace, name).object;
    },
    /** Forgets who holds which field, as a restore from a backup does. */
    forgetManagers(namespace: string, name: string): void {
      const held = getHeld(namespace, name);
      const { managedFields: _, ...metadata } = held.object.metadata;
      store.put(held, { ...held.object, metadata });
    },
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
    vanishShoot: (namespace: string, name: string): void => store.remove(inGarden(shoots, namespace, name)),
    /** Nodes of a Shoot's cluster, also while its API server is down. */
    nodes: (namespace: string, shoot: string) =>
      nodesOf(store, getHeld(namespace, shoot)).map((held) => ({
        name: held.name,
        isReady: isReady(held),
        labels: held.labels,
        addresses: held.object.status.addresses.map(({ address }) => address),
      })),
    /** Puts an object into a Shoot's cluster, also its status. @param key `group/plural/namespace/name` */
    putObject(namespace: string, shoot: string, key: string, object: KubeObject): void {
      const [group = '', plural = '', within = '', name = ''] = key.split('/');
      const kind: Kind = { group, version: '', plural, kind: object.kind, namespaced: within !== '' };
      store.put({ cluster: clusterOf(getHeld(namespace, shoot)), kind, namespace: within, name }, object);
    },
    /** Has a real API server keep the objects of a Shoot's cluster, until this process ends. Those that are here stay behind. */
    useRealApiServer: (namespace: string, shoot: string, server: RealApiServer): void =>
      void realApiServers.set(clusterOf(getHeld(namespace, shoot)), server),
    /** Stops or resumes the node's status reports. A silent node is not ready. */
    silenceNode(namespace: string, shoot: string, name: string, isSilent: boolean): void {
      const cluster = clusterOf(getHeld(namespace, shoot));
      setReady(store, store.get({ cluster, kind: nodes, namespace: '', name }), !isSilent);
    },
    /**
     * Runs a join command on a freshly installed machine outside the provider. The machine becomes a node immediately.
     *
     * @returns the name of the node
     */
    runJoinCommand({ command }: { command: string }): string {
      const data = readJoinCommand(command);
      if (data === null) throw new Error('`command` is no whole join command.');
      const name = data.hostname;
      const outcome = join(garden, { serverId: null, name, architecture: 'amd64', rebuild: 0 }, data);
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
    changeSettings: (change: Partial<GardenSettings>): GardenSettings => Object.assign(garden.settings, change),
  };
}

const expired = <V extends CatalogueVersion>(versions: readonly V[], gone: string | undefined): V[] =>
  versions.map((each) =>
    each.version === gone ? { ...each, classification: 'deprecated', expirationDate: LONG_AGO } : each,
  );
