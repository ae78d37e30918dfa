import { createServer } from 'node:http';
import { createAdmin, type LocalCloudAdmin } from './admin/admin.js';
import { buildAdminApp } from './admin/admin-app.js';
import { createClock } from './clock.js';
import type { Cloud } from './cloud.js';
import { startMachines } from './compute/machines.js';
import { Servers } from './compute/servers.js';
import { Zones } from './dns/zones.js';
import { Calls } from './faults/calls.js';
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
  const clock = createClock();
  const projectTokens = new ProjectTokens([...tokens, ...(options.projectTokens ?? [])]);
  const cloud: Cloud = {
    clock,
    calls: new Calls(),
    zones: new Zones({ clock, zones: options.zones, actionMs, dataDir }),
    servers: new Servers(clock, actionMs, dataDir),
    budget: new Budget(requestsPerHour, clock.now()),
    tokens,
    projectTokens,
    extraFields: {},
    // The garden replaces it once it has started.
    nodesIn: () => [],
  };

  const started: { close(): Promise<void> }[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(started.map((server) => server.close()));
    cloud.zones.close();
    cloud.servers.close();
  };
  const start = async <S extends { close(): Promise<void> }>(starting: Promise<S>): Promise<S> => {
    const server = await starting;
    started.push(server);
    return server;
  };
  try {
    const { port: apiPort } = await start(listen(createServer(buildHcloudApi(cloud)), options.apiPort ?? 0));
    const garden = await start(startGarden(cloud, options));
    cloud.nodesIn = garden.nodesIn;
    started.push(startMachines(cloud.servers, clock, garden.machines, () => garden.settings.joinMs));
    const mail = await start(startMailSink(LOOPBACK, options.smtpPort ?? 0));
    const admin = createAdmin(cloud, garden, mail);
    const { port: adminPort } = await start(listen(createServer(buildAdminApp(admin)), options.adminPort ?? 0));
    const { port: dnsPort } = await start(startNameServer(options.dnsPort ?? 0, cloud.zones));
    return {
      apiUrl: `http://${LOOPBACK}:${apiPort}/v1`,
      adminUrl: `http://${LOOPBACK}:${adminPort}`,
      dnsPort,
      smtpPort: mail.port,
      gardenKubeconfig: garden.kubeconfigs['technical-user'],
      gardenKubeconfigs: garden.kubeconfigs,
      admin,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
