import { createServer } from 'node:http';
import { join } from 'node:path';
import { createAdmin, type LocalCloudAdmin } from './admin/admin.js';
import { buildAdminApp } from './admin/build-admin-app.js';
import { createClock } from './clock.js';
import { startMachines } from './compute/machines.js';
import { Servers } from './compute/servers.js';
import type { ExtraFields } from './dns/bodies.js';
import { DnsProject } from './dns/dns-project.js';
import { CallCounts } from './faults/call-counts.js';
import { FaultRules } from './faults/fault-rules.js';
import type { AccountName } from './garden/accounts.js';
import type { GardenSettings } from './garden/settings.js';
import type { ProviderNode } from './garden/shoots/provider.js';
import { startGarden } from './garden/start-garden.js';
import { Budget } from './hcloud/budget.js';
import { buildDnsApi } from './hcloud/build-hcloud-api.js';
import { LOOPBACK, listen } from './listen.js';
import { startMailSink } from './mail-sink.js';
import type { ServedZone } from './name-server/resolve.js';
import { startNameServer } from './name-server/start-name-server.js';
import { ProjectTokens } from './project-tokens.js';

export interface LocalCloudOptions {
  /** Default 0: a free port. */
  apiPort?: number;
  /** UDP. Default 0: a free port. */
  dnsPort?: number;
  /** Default 0: a free port. */
  adminPort?: number;
  /** Port of the mail server that stores all mails. Default 0: a free port. */
  smtpPort?: number;
  /** Default 0: a free port. */
  gardenPort?: number;
  /** Port of the API servers of all Shoots. Default 0: a free port. */
  shootPort?: number;
  /** Bearer tokens of the zones' project. */
  tokens: readonly string[];
  /** Tokens of other projects. They are valid for clusters but have no zones. */
  projectTokens?: readonly string[];
  /** Read-only tokens of other projects. */
  readOnlyTokens?: readonly string[];
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
  /** Without a path. The routes are below `/admin`. */
  readonly adminUrl: string;
  readonly dnsPort: number;
  readonly smtpPort: number;
  /** The garden cluster, `https://…`. */
  readonly gardenUrl: string;
  /** Kubeconfig of the garden's technical user, for manual use. */
  readonly gardenKubeconfig: string;
  /** Kubeconfigs of all accounts, including the restricted ones of the services. */
  readonly gardenKubeconfigs: Readonly<Record<AccountName, string>>;
  /** Path of the technical user's kubeconfig; null without a data folder. */
  readonly gardenKubeconfigPath: string | null;
  readonly admin: LocalCloudAdmin;
  close(): Promise<void>;
}

/** Starts the local cloud and returns once all addresses answer. */
export async function startLocalCloud(options: LocalCloudOptions): Promise<LocalCloud> {
  const { tokens, zones, actionMs = 150, requestsPerHour = 3600 } = options;
  const clock = createClock();
  const project = new DnsProject({ clock, zones, actionMs, dataDir: options.dataDir });
  const servers = new Servers({ clock, actionMs, dataDir: options.dataDir });
  const budget = new Budget(requestsPerHour, clock.now());
  const faults = new FaultRules();
  const calls = new CallCounts();
  let extra: ExtraFields = {};
  const setExtraFields = (fields: ExtraFields): void => {
    extra = fields;
  };
  const projectTokens = new ProjectTokens([...tokens, ...(options.projectTokens ?? [])]);
  for (const token of options.readOnlyTokens ?? []) projectTokens.add(token, { readOnly: true });
  // The garden starts after the API that serves its nodes.
  let nodesIn: (project: string) => ProviderNode[] = () => [];
  const shared = { project, servers, projectTokens, clock, budget, faults, calls };
  const api = buildDnsApi({ ...shared, nodesIn: (of) => nodesIn(of), tokens, extraFields: () => extra });

  const started: { close(): Promise<void> }[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(started.map((server) => server.close()));
    project.close();
    servers.close();
  };
  const start = async <S extends { close(): Promise<void> }>(starting: Promise<S>): Promise<S> => {
    const server = await starting;
    started.push(server);
    return server;
  };
  try {
    const { port: apiPort } = await start(listen(createServer(api), options.apiPort ?? 0));
    const garden = await start(
      startGarden({
        port: options.gardenPort ?? 0,
        shootPort: options.shootPort ?? 0,
        dataDir: options.dataDir,
        settings: options.garden ?? {},
        clock,
        faults,
        calls,
        projectTokens,
      }),
    );
    nodesIn = garden.nodesIn;
    const joinMs = (): number => garden.settings().joinMs;
    started.push(startMachines({ servers, clock, shoots: garden.machines, joinMs }));
    const mail = await start(startMailSink(LOOPBACK, options.smtpPort ?? 0));
    const admin = createAdmin({ ...shared, mail, setExtraFields, garden });
    const { port: adminPort } = await start(listen(createServer(buildAdminApp(admin)), options.adminPort ?? 0));
    const { port: dnsPort } = await start(startNameServer(options.dnsPort ?? 0, servedZones(project)));
    return {
      apiUrl: `http://${LOOPBACK}:${apiPort}/v1`,
      adminUrl: `http://${LOOPBACK}:${adminPort}`,
      dnsPort,
      smtpPort: mail.port,
      gardenUrl: garden.url,
      gardenKubeconfig: garden.kubeconfigs['technical-user'],
      gardenKubeconfigs: garden.kubeconfigs,
      gardenKubeconfigPath: options.dataDir === undefined ? null : join(options.dataDir, 'garden.kubeconfig'),
      admin,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Zones by name for the name server. Digits are not treated as a zone id here. */
const servedZones =
  (project: DnsProject) =>
  (name: string): ServedZone | null => {
    const zone = /^\d+$/.test(name) ? null : project.findZone(name);
    return zone && { name: zone.facts.name, ttl: zone.facts.ttl, table: zone.table };
  };
