import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { timestamp } from '../clock.js';
import type { Cloud } from '../cloud.js';
import { type AccountName, accountNames, Rights } from '../garden-accounts.js';
import { openJournal } from '../journal.js';
import { LOOPBACK, listen } from '../listen.js';
import { issueGardenServer, openCredentials, ShootAuthorities } from './authorities.js';
import { Clusters } from './cluster/clusters.js';
import { joiningMachines } from './cluster/joining-machines.js';
import { startShootApi } from './cluster/shoot-api.js';
import { startControllers } from './controllers.js';
import { buildGardenApi } from './garden-api.js';
import { hcloudProfile } from './hcloud-profile.js';
import { cloudProfiles, type Kind, namespaces } from './kinds.js';
import { renderKubeconfig } from './kubeconfigs.js';
import type { KubeObject } from './object.js';
import type { GardenParts } from './parts.js';
import { Watches } from './reads.js';
import { defaultSettings, type GardenSettings } from './settings.js';
import { Gardenlet } from './shoots/gardenlet.js';
import { providerNodesOf } from './shoots/provider.js';
import { type Held, ObjectStore } from './store.js';
import { Writes } from './writes.js';

interface GardenOptions {
  /** A port that is 0 or omitted is a free one. */
  readonly gardenPort?: number;
  /** Port of the API servers of all Shoots. */
  readonly shootPort?: number;
  readonly dataDir?: string;
  readonly garden?: Partial<GardenSettings>;
}

export type Garden = Awaited<ReturnType<typeof startGarden>>;

/** Starts the garden cluster, its controllers, and the API servers of its Shoots. */
export async function startGarden({ clock, calls, projectTokens }: Cloud, options: GardenOptions) {
  const { dataDir } = options;
  const { authority, tokens } = openCredentials(dataDir);
  const server = issueGardenServer(authority);
  const journal = openJournal(dataDir, 'garden.jsonl');
  const running: { close(): void | Promise<void> }[] = [journal];
  const run = <T extends { close(): void | Promise<void> }>(part: T): T => {
    running.unshift(part);
    return part;
  };
  const close = async (): Promise<void> => {
    for (const part of running.splice(0)) await part.close();
  };
  let current: GardenSettings = { ...defaultSettings, ...options.garden };
  const settings = (): GardenSettings => current;
  try {
    const store = new ObjectStore(journal);
    const writes = new Writes(store, clock, settings);
    const [authorities, clusters] = [new ShootAuthorities(store), new Clusters(store, clock)];
    const shared = { clock, calls, projectTokens, settings };
    const parts: GardenParts = { ...shared, store, writes, authorities, clusters, rights: new Rights() };
    const lives = followLives(parts);
    furnish(parts);
    const { addresses } = run(await startShootApi(parts, options.shootPort ?? 0, server));
    const gardenlet = run(new Gardenlet(parts, addresses));
    run(startControllers(parts));
    const watches = new Watches(store);
    run({ close: () => watches.dropAll() });
    const accounts = new Map(accountNames.map((account) => [tokens[account], account]));
    const api = createServer(
      { cert: server.certificate, key: server.key },
      buildGardenApi({ ...parts, watches, accounts }),
    );
    const { port } = run(await listen(api, options.gardenPort ?? 0));
    const cluster = {
      server: `https://${LOOPBACK}:${port}`,
      'certificate-authority-data': Buffer.from(authority.certificate).toString('base64'),
    };
    const kubeconfigs = Object.fromEntries(
      accountNames.map((account) => [account, renderKubeconfig('garden', cluster, { token: tokens[account] })]),
    ) as Record<AccountName, string>;
    if (dataDir !== undefined) writeKubeconfigs(dataDir, kubeconfigs);
    return {
      ...parts,
      kubeconfigs,
      gardenlet,
      watches,
      lives,
      machines: joiningMachines(parts),
      changeSettings(change: Partial<GardenSettings>): GardenSettings {
        current = { ...current, ...change };
        return current;
      },
      /** The nodes of Shoots, as servers of a cloud project. */
      nodesIn: (project: string) => providerNodesOf(parts, project),
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
function furnish({ store, writes }: GardenParts): void {
  const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const all: [Kind, KubeObject][] = [
    [namespaces, namespace('default')],
    [namespaces, namespace('garden')],
    [cloudProfiles, hcloudProfile],
  ];
  for (const [kind, object] of all) {
    const isThere = store.get(kind.plural, '', object.metadata.name ?? '') !== null;
    if (!isThere) writes.create(kind, object, 'garden-operator');
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
function followLives({ store, clock }: GardenParts): () => ShootLife[] {
  const lives = new Map<string, ShootLife>();
  const note = ({ namespace, name, uid, object }: Held, deletedAt: string | null): void => {
    const createdAt = object.metadata.creationTimestamp ?? '';
    lives.set(uid, { namespace, name, uid, createdAt, deletedAt });
  };
  for (const held of store.list('shoots')) note(held, null);
  store.subscribe('shoots', ({ type, held }) => {
    if (type !== 'MODIFIED') note(held, type === 'DELETED' ? timestamp(clock.now()) : null);
  });
  return () => [...lives.values()];
}
