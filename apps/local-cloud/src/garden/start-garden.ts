import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../clock.js';
import type { CallCounts } from '../faults/call-counts.js';
import type { FaultRules } from '../faults/fault-rules.js';
import { listenHttps } from '../listen.js';
import type { ShootsOfMachines } from '../machines/machines.js';
import type { TokenState } from '../project-tokens.js';
import { Clusters } from './cluster/clusters.js';
import { JoiningMachines } from './cluster/joining-machines.js';
import { createAuthorityController } from './controllers/authority-controller.js';
import { createCredentialsController } from './controllers/credentials-controller.js';
import { createProjectController } from './controllers/project-controller.js';
import type { GardenSettings } from './garden-settings.js';
import { Gardenlet } from './gardenlet/gardenlet.js';
import { type ProviderNode, providerNodesOf } from './gardenlet/provider-nodes.js';
import { tokenFaultOf } from './gardenlet/provider-token.js';
import { buildGardenApi } from './http/build-garden-api.js';
import { Watches } from './http/watch.js';
import { type OpenGarden, openGarden } from './open-garden.js';
import { issueGardenServer, openCredentials } from './pki/garden-credentials.js';
import { renderKubeconfig } from './pki/kubeconfig.js';
import { type AccountName, accountNames, accounts } from './rights/accounts.js';
import { Rights } from './rights/rights.js';
import { kubeconfigIssuer } from './shoot-api/issue-kubeconfig.js';
import { ShootAuthorities } from './shoot-api/shoot-authorities.js';
import { startShootApi } from './shoot-api/start-shoot-api.js';

export interface GardenOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Port of the API servers of all Shoots; 0 takes a free one. */
  readonly shootPort: number;
  readonly dataDir: string | undefined;
  readonly settings: Partial<GardenSettings>;
  readonly clock: Clock;
  readonly faults: FaultRules;
  readonly calls: CallCounts;
  /** What the provider says to a project's token. */
  readonly tokenState: (token: string) => TokenState;
  /** Of a token. */
  readonly projectOf: (token: string) => string;
}

export interface Garden extends Pick<OpenGarden, 'store' | 'objects' | 'history' | 'settings'> {
  readonly url: string;
  readonly kubeconfigs: Readonly<Record<AccountName, string>>;
  /** Null without a data folder. */
  readonly kubeconfigPaths: Readonly<Record<AccountName, string>> | null;
  readonly rights: Rights;
  readonly clock: Clock;
  readonly gardenlet: Gardenlet;
  readonly watches: Watches;
  readonly clusters: Clusters;
  /** The Shoots as machines know them. */
  readonly machines: ShootsOfMachines;
  /** The nodes of Shoots as servers of a cloud project. */
  nodesIn(project: string): ProviderNode[];
  close(): Promise<void>;
}

const kubeconfigFiles: Readonly<Record<AccountName, string>> = {
  'technical-user': 'garden.kubeconfig',
  'cluster-api': 'garden-cluster-api.kubeconfig',
  reconciler: 'garden-reconciler.kubeconfig',
};

/** Starts the garden cluster, its controllers, and the API servers of its Shoots. */
export async function startGarden(options: GardenOptions): Promise<Garden> {
  const { host, clock, faults, calls, dataDir } = options;
  const { authority, tokens } = await openCredentials(dataDir);
  const rights = new Rights();
  const server = await issueGardenServer(authority, host);
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
    const shootApi = run(await startShootApi(shootApiDeps, { host, port: options.shootPort }, server));
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
    const soon = (): number => settings.read().reconcileMs / 20;
    run(createProjectController(store, objects, clock, soon));
    run(createCredentialsController(store, clock, soon));
    run(createAuthorityController({ store, objects, authorities, clock, settings: settings.read, afterMs: soon }));
    const watches = run(new Watches(store, settings.read, clock));
    const api = buildGardenApi({
      store,
      objects,
      watches,
      clock,
      faults,
      calls,
      users: new Map(accountNames.map((account) => [tokens[account], { name: accounts[account].userName, account }])),
      ...{ rights, settings: settings.read },
      issueKubeconfig: kubeconfigIssuer(store, authorities, clock, () => settings.read().kubeconfigSecondsMax),
    });
    const { port } = run(await listenHttps(api, host, options.port, { cert: server.certificate, key: server.key }));
    const url = `https://${host}:${port}`;
    const cluster = { name: 'garden', server: url, authority: authority.certificate };
    const kubeconfigs = byAccount((account) => renderKubeconfig(account, { token: tokens[account] }, [cluster]));
    const kubeconfigPaths =
      dataDir === undefined ? null : byAccount((account) => join(dataDir, kubeconfigFiles[account]));
    for (const account of kubeconfigPaths === null ? [] : accountNames) {
      writeFileSync(kubeconfigPaths?.[account] ?? '', kubeconfigs[account], { mode: 0o600 });
    }
    const machines = new JoiningMachines(store, clusters, clock);
    const nodesIn = (project: string) => providerNodesOf(store, project, options.projectOf);
    return {
      ...garden,
      url,
      kubeconfigs,
      kubeconfigPaths,
      rights,
      clock,
      gardenlet,
      watches,
      clusters,
      machines,
      nodesIn,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const byAccount = (make: (account: AccountName) => string): Readonly<Record<AccountName, string>> =>
  Object.fromEntries(accountNames.map((account) => [account, make(account)])) as Record<AccountName, string>;
