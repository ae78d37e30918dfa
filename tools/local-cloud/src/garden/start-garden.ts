import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import type { Clock } from '../clock.js';
import type { CallCounts } from '../faults/call-counts.js';
import type { FaultRules } from '../faults/fault-rules.js';
import { openJournal } from '../journal.js';
import { LOOPBACK, listen } from '../listen.js';
import type { TokenState } from '../project-tokens.js';
import { type AccountName, accountNames, accounts, Rights } from './accounts.js';
import { Clusters } from './cluster/clusters.js';
import { JoiningMachines } from './cluster/joining-machines.js';
import { startControllers } from './controllers.js';
import { issueGardenServer, openCredentials, renderKubeconfig } from './credentials.js';
import { createSettings, type GardenSettings } from './garden-settings.js';
import { Gardenlet } from './gardenlet/gardenlet.js';
import { providerNodesOf, tokenFaultOf } from './gardenlet/provider.js';
import { buildGardenApi } from './http/build-garden-api.js';
import { Watches } from './http/watch.js';
import { cloudProfiles } from './kinds/cloud-profile.js';
import { namespaces } from './kinds/core-kinds.js';
import { hcloudProfile } from './kinds/hcloud-profile.js';
import type { Kind } from './kinds/kind.js';
import type { KubeObject } from './kube/object.js';
import type { StoreRecord } from './objects/held.js';
import { ObjectStore } from './objects/object-store.js';
import { Objects } from './objects/objects.js';
import { ShootAuthorities } from './shoot-api/shoot-authorities.js';
import { startShootApi } from './shoot-api/start-shoot-api.js';
import { ShootHistory } from './shoot-history.js';

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
  /** State of a project token at the provider. */
  readonly tokenState: (token: string) => TokenState;
  /** Project of a token. */
  readonly projectOf: (token: string) => string;
}

export type Garden = Awaited<ReturnType<typeof startGarden>>;

const kubeconfigFiles: Readonly<Record<AccountName, string>> = {
  'technical-user': 'garden.kubeconfig',
  'cluster-api': 'garden-cluster-api.kubeconfig',
  reconciler: 'garden-reconciler.kubeconfig',
};

/** Starts the garden cluster, its controllers, and the API servers of its Shoots. */
export async function startGarden(options: GardenOptions) {
  const { clock, faults, calls, dataDir } = options;
  const { authority, tokens } = await openCredentials(dataDir);
  const rights = new Rights();
  const server = await issueGardenServer(authority);
  const garden = openGarden(dataDir, options.settings, clock);
  const { store, objects, settings } = garden;

  const running: { close(): void | Promise<void> }[] = [garden];
  const run = <T extends { close(): void | Promise<void> }>(part: T): T => {
    running.unshift(part);
    return part;
  };
  const close = async (): Promise<void> => {
    for (const part of running.splice(0)) await part.close();
  };
  try {
    const authorities = new ShootAuthorities(store);
    const clusters = new Clusters(store, clock);
    const shootApiDeps = { store, authorities, clusters, clock, faults, calls };
    const shootApi = run(await startShootApi(shootApiDeps, options.shootPort, server));
    const gardenlet = run(
      new Gardenlet({
        store,
        objects,
        clock,
        speed: settings.read,
        tokenFaultOf: (shoot) => tokenFaultOf(store, shoot, options.tokenState),
        clusters,
        addresses: shootApi.addresses,
      }),
    );
    run(startControllers({ store, objects, authorities, clock, settings: settings.read }));
    const watches = run(new Watches(store, settings.read));
    const api = buildGardenApi({
      store,
      objects,
      watches,
      clock,
      faults,
      calls,
      users: new Map(accountNames.map((account) => [tokens[account], { name: accounts[account].userName, account }])),
      rights,
      authorities,
      settings: settings.read,
    });
    const { port } = run(await listen(createServer({ cert: server.certificate, key: server.key }, api), options.port));
    const url = `https://${LOOPBACK}:${port}`;
    const cluster = { name: 'garden', server: url, authority: authority.certificate };
    const kubeconfigs = byAccount((account) => renderKubeconfig(account, { token: tokens[account] }, [cluster]));
    const kubeconfigPaths =
      dataDir === undefined ? null : byAccount((account) => join(dataDir, kubeconfigFiles[account]));
    for (const account of kubeconfigPaths === null ? [] : accountNames) {
      writeFileSync(kubeconfigPaths?.[account] ?? '', kubeconfigs[account], { mode: 0o600 });
    }
    return {
      ...garden,
      url,
      kubeconfigs,
      /** Null without a data folder. */
      kubeconfigPaths,
      rights,
      clock,
      gardenlet,
      watches,
      clusters,
      /** The Shoots, as the simulated machines see them. */
      machines: new JoiningMachines(store, clusters, clock),
      /** The nodes of Shoots, as servers of a cloud project. */
      nodesIn: (project: string) => providerNodesOf(store, project, options.projectOf),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const byAccount = (make: (account: AccountName) => string): Readonly<Record<AccountName, string>> =>
  Object.fromEntries(accountNames.map((account) => [account, make(account)])) as Record<AccountName, string>;

/** Number of past events per resource that watches can resume from. */
const HISTORY_LENGTH = 5000;

/** Opens the garden in the data folder or creates one: its state before its servers start. */
function openGarden(dataDir: string | undefined, initial: Partial<GardenSettings>, clock: Clock) {
  const journal = dataDir === undefined ? null : openJournal(dataDir, 'garden.jsonl');
  const settings = createSettings(initial);
  const history = new ShootHistory();
  const store = new ObjectStore({
    historyLength: HISTORY_LENGTH,
    now: clock.now,
    ...(journal === null ? {} : { keep: (line: string) => journal.append(line) }),
  });
  for (const record of journal?.entries<StoreRecord>() ?? []) {
    if (!history.restore(record)) store.restore(record);
  }
  store.forgetHistory();
  history.follow(store, clock.now);
  journal?.compact(function* () {
    // History first: the Shoots in the following lines are already part of it.
    yield* history.lines();
    yield* store.lines();
  });
  const objects = new Objects({ store, clock, settings: settings.read });
  furnish(store, objects);
  return { store, objects, history, settings, close: () => journal?.close() };
}

/** Creates the objects that every garden has initially. */
function furnish(store: ObjectStore, objects: Objects): void {
  const write = { user: 'system:admin', fieldManager: 'garden-operator', subresource: '' } as const;
  const create = (kind: Kind, object: KubeObject): void => {
    if (store.get(kind.plural, '', object.metadata.name ?? '') === null) objects.create(kind, '', object, write);
  };
  for (const name of ['default', 'garden']) {
    create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  create(cloudProfiles, hcloudProfile);
}
