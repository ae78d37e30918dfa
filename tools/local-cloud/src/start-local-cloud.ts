import { createServer } from 'node:http';
import { createAdmin, type LocalCloudAdmin } from './admin/admin.js';
import { buildAdminApp } from './admin/admin-app.js';
import { Clock } from './clock.js';
import type { Cloud } from './cloud.js';
import { Servers } from './compute/servers.js';
import { Zones } from './dns/zones.js';
import { Calls } from './faults/calls.js';
import { startMachines } from './garden/machines.js';
import type { GardenSettings } from './garden/settings.js';
import { startGarden } from './garden/start-garden.js';
import type { AccountName } from './garden-accounts.js';
import { Budget } from './hcloud/budget.js';
import { buildHcloudApi } from './hcloud/hcloud-api.js';
import { LOOPBACK, listen } from './listen.js';
import { startMailSink } from './mail-sink.js';
import { startNameServer } from './name-server.js';
import { ProjectTokens } from './project-tokens.js';

/** A port that is 0 or omitted is a free one. */
export interface LocalCloudOptions {
  apiPort?: number;
  /** UDP. */
  dnsPort?: number;
  adminPort?: number;
  /** Port of the mail server that stores all mails. */
  smtpPort?: number;
  gardenPort?: number;
  /** Port of the API servers of all Shoots. */
  shootPort?: number;
  /** Bearer tokens of the zones' project. */
  tokens: readonly string[];
  /** Tokens of other projects. They are valid for clusters but have no zones. */
  projectTokens?: readonly string[];
  /** Created at start unless the data folder contains them. */
  zones: readonly { readonly name: string }[];
  /** Data folder. Default: state in memory only. */
  dataDir?: string;
  /** Run time of an action, in milliseconds. Default 150. */
  actionMs?: number;
  /** Default 3600. */
  requestsPerHour?: number;
  /** Durations of Shoot operations and other garden settings. Omitted settings keep their defaults. */
  garden?: Partial<GardenSettings>;
}

export interface LocalCloud {
  /** Ends in `/v1`. */
  readonly apiUrl: string;
  /** The address without a path. The routes are below `/admin`. */
  readonly adminUrl: string;
  readonly dnsPort: number;
  readonly smtpPort: number;
  /** Kubeconfig of the garden's technical user, for manual use. */
  readonly gardenKubeconfig: string;
  /** Kubeconfigs of all accounts, including the restricted ones of the services. */
  readonly gardenKubeconfigs: Readonly<Record<AccountName, string>>;
  readonly admin: LocalCloudAdmin;
  close(): Promise<void>;
}

/** Starts the local cloud and returns once all addresses answer. */
export async function startLocalCloud(options: LocalCloudOptions): Promise<LocalCloud> {
  const { tokens, dataDir, actionMs = 150, requestsPerHour = 3600 } = options;
  const clock = new Clock();
  const projectTokens = new ProjectTokens([...tokens, ...(options.projectTokens ?? [])]);
  const calls = new Calls();
  const names = options.zones.map(({ name }) => name);
  const zones = new Zones(clock, actionMs, dataDir, names);
  const servers = new Servers(clock, actionMs, dataDir);
  const garden = await startGarden({ clock, calls, projectTokens }, options);
  const budget = new Budget(requestsPerHour, clock.now());
  const shared = { clock, calls, projectTokens, zones, servers, budget, tokens };
  const cloud: Cloud = { ...shared, extraFields: {}, nodesIn: garden.nodesIn };
  const api = await listen(createServer(buildHcloudApi(cloud)), options.apiPort ?? 0);
  const machines = startMachines(garden, servers);
  const mail = await startMailSink(LOOPBACK, options.smtpPort ?? 0);
  const admin = createAdmin(cloud, garden, mail);
  const adminApi = await listen(createServer(buildAdminApp(admin)), options.adminPort ?? 0);
  const nameServer = await startNameServer(options.dnsPort ?? 0, zones);
  return {
    apiUrl: `http://${LOOPBACK}:${api.port}/v1`,
    adminUrl: `http://${LOOPBACK}:${adminApi.port}`,
    dnsPort: nameServer.port,
    smtpPort: mail.port,
    gardenKubeconfig: garden.kubeconfigs['technical-user'],
    gardenKubeconfigs: garden.kubeconfigs,
    admin,
    async close() {
      await Promise.all([api, garden, machines, mail, adminApi, nameServer].map((part) => part.close()));
      zones.close();
      servers.close();
    },
  };
}
