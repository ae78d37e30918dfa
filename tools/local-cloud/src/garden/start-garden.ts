import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { type Clock, timestamp } from '../clock.js';
import type { ShootsOfMachines } from '../compute/machines.js';
import type { CallCounts } from '../faults/call-counts.js';
import type { FaultRules } from '../faults/fault-rules.js';
import { openJournal } from '../journal.js';
import { LOOPBACK, listen } from '../listen.js';
import type { ProjectTokens } from '../project-tokens.js';
import { type AccountName, accountNames, accounts, Rights } from './accounts.js';
import { Clusters } from './cluster/clusters.js';
import { joiningMachines } from './cluster/joining-machines.js';
import { startControllers } from './controllers.js';
import { issueGardenServer, openCredentials, renderKubeconfig } from './credentials.js';
import { buildGardenApi } from './http/garden-api.js';
import { Watches } from './http/watches.js';
import { cloudProfiles, namespaces } from './kinds/core-kinds.js';
import { hcloudProfile } from './kinds/hcloud-profile.js';
import type { Kind } from './kinds/kind.js';
import type { KubeObject } from './kube/object.js';
import { defaultSettings, type GardenSettings, withSettings } from './settings.js';
import { ShootAuthorities } from './shoot-api/shoot-authorities.js';
import { startShootApi } from './shoot-api/start-shoot-api.js';
import { Gardenlet } from './shoots/gardenlet.js';
import { providerNodesOf, tokenFaultOf } from './shoots/provider.js';
import { ObjectStore, objectOf } from './store.js';
import { Writes } from './writes.js';

interface GardenOptions {
  /** 0 selects a free port. */
  readonly port: number;
  /** Port of the API servers of all Shoots; 0 selects a free port. */
  readonly shootPort: number;
  readonly dataDir: string | undefined;
  readonly settings: Partial<GardenSettings>;
  readonly clock: Clock;
  readonly faults: FaultRules;
  readonly calls: CallCounts;
  readonly projectTokens: ProjectTokens;
}

export type Garden = Awaited<ReturnType<typeof startGarden>>;

const kubeconfigFiles: Readonly<Record<AccountName, string>> = {
  'technical-user': 'garden.kubeconfig',
  'cluster-api': 'garden-cluster-api.kubeconfig',
  reconciler: 'garden-reconciler.kubeconfig',
};

/** Starts the garden cluster, its controllers, and the API servers of its Shoots. */
export async function startGarden(options: GardenOptions) {
  const { clock, faults, calls, dataDir, projectTokens } = options;
  const { authority, tokens } = await openCredentials(dataDir);
  const server = await issueGardenServer(authority);
  const journal = openJournal(dataDir, 'garden.jsonl');
  const running: { close(): void | Promise<void> }[] = [journal];
  const run = <T extends { close(): void | Promise<void> }>(part: T): T => {
    running.unshift(part);
    return part;
  };
  const close = async (): Promise<void> => {
    for (const part of running.splice(0)) await part.close();
  };
  let settings = withSettings(defaultSettings, options.settings);
  const readSettings = (): GardenSettings => settings;
  const rights = new Rights();
  try {
    const store = new ObjectStore(journal);
    const lives = followLives(store, clock);
    const writes = new Writes(store, clock, readSettings);
    furnish(store, writes);
    const authorities = new ShootAuthorities(store);
    const clusters = new Clusters(store, clock);
    const shootApiDeps = { store, authorities, clusters, clock, faults, calls };
    const { addresses } = run(await startShootApi(shootApiDeps, options.shootPort, server));
    const gardenlet = run(
      new Gardenlet({
        store,
        clock,
        clusters,
        addresses,
        speed: readSettings,
        tokenFaultOf: (shoot) => tokenFaultOf(store, shoot, (token) => projectTokens.stateOf(token)),
      }),
    );
    run(startControllers({ store, writes, authorities, clock, settings: readSettings }));
    const watches = new Watches(store);
    run({ close: () => watches.dropAll() });
    const users = new Map(
      accountNames.map((account) => [tokens[account], { name: accounts[account].userName, account }]),
    );
    const api = buildGardenApi({
      store,
      writes,
      watches,
      clock,
      faults,
      calls,
      users,
      rights,
      authorities,
      settings: readSettings,
    });
    const { port } = run(await listen(createServer({ cert: server.certificate, key: server.key }, api), options.port));
    const url = `https://${LOOPBACK}:${port}`;
    const cluster = { name: 'garden', server: url, authority: authority.certificate };
    const kubeconfigs = Object.fromEntries(
      accountNames.map((account) => [account, renderKubeconfig(account, { token: tokens[account] }, [cluster])]),
    ) as Record<AccountName, string>;
    if (dataDir !== undefined) {
      for (const account of accountNames) {
        writeFileSync(join(dataDir, kubeconfigFiles[account]), kubeconfigs[account], { mode: 0o600 });
      }
    }
    const machines: ShootsOfMachines = joiningMachines(store, clusters, clock);
    return {
      url,
      kubeconfigs,
      store,
      writes,
      rights,
      gardenlet,
      watches,
      clusters,
      machines,
      lives,
      settings: readSettings,
      changeSettings(change: Partial<GardenSettings>): GardenSettings {
        settings = withSettings(settings, change);
        return settings;
      },
      /** The nodes of Shoots, as servers of a cloud project. */
      nodesIn: (project: string) => providerNodesOf(store, project, (token) => projectTokens.projectOf(token)),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Creates what every garden has. */
function furnish(store: ObjectStore, writes: Writes): void {
  const create = (kind: Kind, object: KubeObject): void => {
    const isThere = store.get(kind.plural, '', object.metadata.name ?? '') !== null;
    if (!isThere) writes.create(kind, '', object, { fieldManager: 'garden-operator' });
  };
  for (const name of ['default', 'garden'])
    create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  create(cloudProfiles as Kind, hcloudProfile);
}

/** The life of one Shoot. Later Shoots of the same name have their own. */
export interface ShootLife {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** RFC 3339; null while it exists. */
  readonly deletedAt: string | null;
}

/** Every Shoot since the start, oldest first: shows whether any was created twice. */
function followLives(store: ObjectStore, clock: Clock): () => ShootLife[] {
  const lives = new Map<string, ShootLife>();
  const begin = ({ namespace, name, uid, createdAt }: Omit<ShootLife, 'deletedAt'>): void =>
    void lives.set(uid, { namespace, name, uid, createdAt, deletedAt: null });
  for (const held of store.list('shoots')) {
    begin({ ...held, createdAt: objectOf(held).metadata.creationTimestamp ?? '' });
  }
  store.subscribe('shoots', ({ type, held }) => {
    const now = timestamp(clock.now());
    if (type === 'ADDED') begin({ ...held, createdAt: now });
    const life = lives.get(held.uid);
    if (type === 'DELETED' && life !== undefined) lives.set(held.uid, { ...life, deletedAt: now });
  });
  return () => [...lives.values()];
}
