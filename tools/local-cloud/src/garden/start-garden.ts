import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import type { Cloud } from '../cloud.js';
import { type AccountName, accountNames, openAccounts } from '../garden-accounts.js';
import { openJournal } from '../journal.js';
import { cloudProfiles, namespaces, shoots } from '../kube/kinds.js';
import type { KubeObject } from '../kube/object.js';
import { Watches } from '../kube/reads.js';
import { GARDEN, type Held, inGarden, ObjectStore, type Ref } from '../kube/store.js';
import { Writes } from '../kube/writes.js';
import { LOOPBACK, listen } from '../listen.js';
import { gardenRules } from './admission.js';
import { startControllers } from './controllers.js';
import { base64, issueGardenServer, openCredentials, renderKubeconfig, ShootAuthorities } from './credentials.js';
import { buildGardenApi } from './garden-api.js';
import { hcloudProfile } from './hcloud-profile.js';
import type { GardenParts } from './parts.js';
import { defaultSettings, type GardenSettings } from './settings.js';
import { clusterRules, startShootApi } from './shoot-api.js';
import { Gardenlet } from './shoots/gardenlet.js';
import { providerNodesOf } from './shoots/provider.js';

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
export async function startGarden(
  { clock, calls, projectTokens }: Pick<Cloud, 'clock' | 'calls' | 'projectTokens'>,
  options: GardenOptions,
) {
  const { dataDir } = options;
  const journal = openJournal(dataDir, 'garden.jsonl');
  const settings: GardenSettings = { ...defaultSettings, ...options.garden };
  const store = new ObjectStore(journal);
  const { authority, tokens } = openCredentials(store);
  const server = issueGardenServer(authority);
  const rules = gardenRules(store, clock, settings);
  const ruleOf = ({ cluster, kind }: Ref) => (cluster === GARDEN ? rules : clusterRules)[kind.plural] ?? {};
  const writes = new Writes(store, clock, ruleOf);
  const watches = new Watches(store);
  const parts: GardenParts = {
    clock,
    calls,
    projectTokens,
    settings,
    store,
    writes,
    watches,
    authorities: new ShootAuthorities(store, clock),
    realApiServers: new Map(),
    accounts: openAccounts(),
  };
  const lives = followLives(parts);
  furnish(parts);
  const shootApi = await startShootApi(parts, options.shootPort ?? 0, server);
  const gardenlet = new Gardenlet(parts, shootApi.addresses);
  const controllers = startControllers(parts);
  const api = createServer({ cert: server.certificate, key: server.key }, buildGardenApi(parts, tokens));
  const gardenApi = await listen(api, options.gardenPort ?? 0);
  const cluster = {
    server: `https://${LOOPBACK}:${gardenApi.port}`,
    'certificate-authority-data': base64(authority.certificate),
  };
  const kubeconfigs = Object.fromEntries(
    accountNames.map((account) => [account, renderKubeconfig('garden', cluster, { token: tokens[account] })]),
  ) as Record<AccountName, string>;
  if (dataDir !== undefined) writeKubeconfigs(dataDir, kubeconfigs);
  return {
    ...parts,
    kubeconfigs,
    gardenlet,
    lives,
    /** The nodes of Shoots, as servers of a cloud project. */
    nodesIn: (project: string) => providerNodesOf(parts, project),
    async close() {
      await gardenApi.close();
      watches.dropAll();
      controllers.close();
      gardenlet.close();
      await shootApi.close();
      journal.close();
    },
  };
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
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: {} };
  const all = [
    [inGarden(namespaces, '', 'default'), namespace],
    [inGarden(namespaces, '', 'garden'), namespace],
    [inGarden(cloudProfiles, '', 'hcloud'), hcloudProfile],
  ] as const;
  for (const [ref, object] of all)
    if (store.find<KubeObject>(ref) === null) writes.create(ref, object, 'garden-operator');
}

/** Every Shoot since the start, oldest first: shows whether any was created twice. */
function followLives({ store }: GardenParts) {
  const lifeOf = ({ namespace, name, uid }: Held) => ({ namespace, name, uid });
  const lives = store.list(shoots).map(lifeOf);
  store.subscribe(({ type, held }) => {
    if (held.kind === shoots && type === 'ADDED') lives.push(lifeOf(held));
  });
  return () => lives;
}
