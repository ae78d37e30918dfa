import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { type Clock, timestamp } from '../clock.js';
import type { Calls } from '../faults/calls.js';
import { type AccountName, accountNames, Rights } from '../garden-accounts.js';
import { openJournal } from '../journal.js';
import { LOOPBACK, listen } from '../listen.js';
import type { ProjectTokens } from '../project-tokens.js';
import { Clusters } from './cluster/clusters.js';
import { joiningMachines } from './cluster/joining-machines.js';
import { startControllers } from './controllers.js';
import { issueGardenServer, openCredentials, renderKubeconfig } from './credentials.js';
import { buildGardenApi } from './http/garden-api.js';
import { Watches } from './http/reads.js';
import { cloudProfiles, namespaces } from './kinds/core-kinds.js';
import { hcloudProfile } from './kinds/hcloud-profile.js';
import type { Kind } from './kinds/kind.js';
import type { KubeObject } from './kube/object.js';
import { defaultSettings, type GardenSettings, withSettings } from './settings.js';
import { ShootAuthorities } from './shoot-api/authorities.js';
import { startShootApi } from './shoot-api/shoot-api.js';
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
  readonly calls: Calls;
  readonly projectTokens: ProjectTokens;
}

export type Garden = Awaited<ReturnType<typeof startGarden>>;

/** Starts the garden cluster, its controllers, and the API servers of its Shoots. */
export async function startGarden(options: GardenOptions) {
  const { clock, calls, dataDir, projectTokens } = options;
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
  let current = withSettings(defaultSettings, options.settings);
  const settings = (): GardenSettings => current;
  const rights = new Rights();
  try {
    const store = new ObjectStore(journal);
    const lives = followLives(store, clock);
    const writes = new Writes(store, clock, settings);
    furnish(store, writes);
    const authorities = new ShootAuthorities(store);
    const clusters = new Clusters(store, clock);
    const { addresses } = run(
      await startShootApi({ store, authorities, clusters, clock, calls }, options.shootPort, server),
    );
    const tokenFault = (shoot: Parameters<typeof tokenFaultOf>[1]) =>
      tokenFaultOf(store, shoot, (token) => projectTokens.stateOf(token));
    const gardenlet = run(
      new Gardenlet({ store, clock, clusters, addresses, speed: settings, tokenFaultOf: tokenFault }),
    );
    run(startControllers({ store, writes, authorities, settings }));
    const watches = new Watches(store);
    run({ close: () => watches.dropAll() });
    const accounts = new Map(accountNames.map((account) => [tokens[account], account]));
    const api = buildGardenApi({ store, writes, watches, clock, calls, accounts, rights, authorities, settings });
    const { port } = run(await listen(createServer({ cert: server.certificate, key: server.key }, api), options.port));
    const cluster = { name: 'garden', server: `https://${LOOPBACK}:${port}`, authority: authority.certificate };
    const kubeconfigs = Object.fromEntries(
      accountNames.map((account) => [account, renderKubeconfig(account, { token: tokens[account] }, [cluster])]),
    ) as Record<AccountName, string>;
    if (dataDir !== undefined) writeKubeconfigs(dataDir, kubeconfigs);
    return {
      kubeconfigs,
      store,
      writes,
      rights,
      gardenlet,
      watches,
      clusters,
      machines: joiningMachines(store, clusters, clock),
      lives,
      settings,
      changeSettings(change: Partial<GardenSettings>): GardenSettings {
        current = withSettings(current, change);
        return current;
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

/** `garden.kubeconfig` is for people, the others are for the services. */
function writeKubeconfigs(dataDir: string, kubeconfigs: Readonly<Record<AccountName, string>>): void {
  for (const account of accountNames) {
    const file = account === 'technical-user' ? 'garden.kubeconfig' : `garden-${account}.kubeconfig`;
    writeFileSync(join(dataDir, file), kubeconfigs[account], { mode: 0o600 });
  }
}

/** Creates what every garden has. */
function furnish(store: ObjectStore, writes: Writes): void {
  const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const all: [Kind, KubeObject][] = [
    [namespaces, namespace('default')],
    [namespaces, namespace('garden')],
    [cloudProfiles as Kind, hcloudProfile],
  ];
  for (const [kind, object] of all) {
    const isThere = store.get(kind.plural, '', object.metadata.name ?? '') !== null;
    if (!isThere) writes.create(kind, '', object, 'garden-operator');
  }
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
