import { join } from 'node:path';
import { freePort } from '@corral/testing';
import { type Program, program } from './program.js';

export interface UpstreamRecord {
  readonly value: string;
  readonly comment: string;
}

export interface UpstreamRrset {
  readonly name: string;
  readonly type: string;
  readonly ttl: number | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly records: readonly UpstreamRecord[];
}

/** A write that the upstream accepted, as its admin address reports it. */
export interface UpstreamWrite {
  readonly seq: number;
  /** The name of the zone. */
  readonly zone: string;
  readonly method: string;
  readonly path: string;
  readonly name: string;
  readonly type: string;
  readonly body: unknown;
  readonly actionId: number | null;
  readonly actionError: { code: string; message: string } | null;
}

export interface FaultRule {
  readonly match?: { api?: string; method?: string; path?: string };
  readonly times?: number | null;
  readonly effect: Readonly<Record<string, unknown>>;
}

/** How long each kind of flow takes on the garden, in milliseconds. */
export interface GardenSpeed {
  readonly createMs: number;
  readonly reconcileMs: number;
  readonly deleteMs: number;
}

export interface LocalCloud {
  readonly program: Program;
  readonly apiUrl: string;
  readonly token: string;
  readonly dnsPort: number;
  /** The file that the cloud writes; there is none without a data folder. */
  readonly gardenKubeconfigPath: string;
  /** Credentials with exactly the permissions that each service needs. */
  readonly serviceKubeconfigPaths: { readonly clusterApi: string; readonly reconciler: string };
  /** Calls the admin address, below `/admin`. */
  admin<T>(method: string, path: string, body?: unknown): Promise<T>;
  addFaults(...rules: FaultRule[]): Promise<void>;
  clearFaults(): Promise<void>;
  /** The number of requests that arrived, by `METHOD /route/:pattern`. */
  calls(): Promise<Record<string, number>>;
  /** Those accepted since it started. */
  writes(): Promise<UpstreamWrite[]>;
  /** The request budget, and how many requests came when it was used up. */
  budget(): Promise<{ limit: number; remaining: number; refused: number }>;
  /** The names of the sets in a zone, without those at its apex. */
  namesIn(zone: string): Promise<string[]>;
  /** Everything in the zone as the list of the upstream shows it: the text of each set by `name/TYPE`. */
  stated(): Promise<Map<string, string>>;
  putRrset(name: string, type: string, rrset: { records: { value: string }[]; ttl?: number }): Promise<void>;
}

export interface LocalCloudOptions {
  /** Whether it has the zone of the demos, too. The default is false. */
  readonly demos?: boolean;
  /** How long an action runs. The default is 100. */
  readonly actionMs?: number;
  /** Requests that the upstream grants per hour. The default is more than any test sends. */
  readonly requestsPerHour?: number;
  /** The default is none, which keeps everything in memory. */
  readonly dataDir?: string;
  /** Tokens of cloud projects in which clusters are created. */
  readonly projectTokens?: readonly string[];
  readonly speed?: Partial<GardenSpeed>;
}

export const ZONE = 'example.test';
export const DEMO_ZONE = 'demos.test';
/** A number of requests per time that no test reaches. */
export const UNLIMITED = '100000000';

/** A garden that needs a moment for work that takes minutes elsewhere. */
const swift: GardenSpeed = { createMs: 600, reconcileMs: 300, deleteMs: 300 };

const TOKEN = 'upstream-token-of-the-system-tests-0123456789-0123456789-0123456';

/** Starts the upstream as its own process. No test kills it. */
export async function startLocalCloud(options: LocalCloudOptions = {}): Promise<LocalCloud> {
  const { demos = false, actionMs = 100, requestsPerHour = UNLIMITED, dataDir, projectTokens } = options;
  const speed = { ...swift, ...options.speed };
  const [apiPort, adminPort, dnsPort] = [await freePort(), await freePort(), await freePort()];
  const adminUrl = `http://127.0.0.1:${adminPort}/admin`;
  const apiUrl = `http://127.0.0.1:${apiPort}/v1`;
  const cloud = program({
    name: 'local-cloud',
    file: 'tools/local-cloud/programs/main.js',
    env: {
      LOCAL_CLOUD_API_PORT: String(apiPort),
      LOCAL_CLOUD_ADMIN_PORT: String(adminPort),
      LOCAL_CLOUD_DNS_PORT: String(dnsPort),
      LOCAL_CLOUD_SMTP_PORT: String(await freePort()),
      LOCAL_CLOUD_TOKENS: TOKEN,
      LOCAL_CLOUD_ZONES: demos ? `${ZONE},${DEMO_ZONE}` : ZONE,
      LOCAL_CLOUD_ACTION_MS: String(actionMs),
      LOCAL_CLOUD_REQUESTS_PER_HOUR: String(requestsPerHour),
      LOCAL_CLOUD_DATA_DIR: dataDir,
      LOCAL_CLOUD_PROJECT_TOKENS: projectTokens?.join(','),
      LOCAL_CLOUD_GARDEN_CREATE_MS: String(speed.createMs),
      LOCAL_CLOUD_GARDEN_RECONCILE_MS: String(speed.reconcileMs),
      LOCAL_CLOUD_GARDEN_DELETE_MS: String(speed.deleteMs),
    },
    readyUrl: `${adminUrl}/calls`,
  });
  await cloud.start();
  await cloud.untilReady();

  const admin = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${adminUrl}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    }).catch((cause: unknown) => {
      throw new Error(`The local cloud does not answer.\n${cloud.output()}`, { cause });
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`The local cloud's admin address answered ${response.status}: ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  };
  return {
    program: cloud,
    apiUrl,
    token: TOKEN,
    dnsPort,
    admin,
    gardenKubeconfigPath: join(dataDir ?? '', 'garden.kubeconfig'),
    serviceKubeconfigPaths: {
      clusterApi: join(dataDir ?? '', 'garden-cluster-api.kubeconfig'),
      reconciler: join(dataDir ?? '', 'garden-reconciler.kubeconfig'),
    },
    addFaults: (...rules) => admin('POST', '/faults', rules),
    clearFaults: () => admin('DELETE', '/faults'),
    calls: async () => (await admin<{ byRoute: Record<string, number> }>('GET', '/calls')).byRoute,
    budget: () => admin('GET', '/budget'),
    async namesIn(name) {
      const { zones } = await admin<{ zones: ZoneContents[] }>('GET', '/zones');
      const { rrsets } = zones.find((zone) => zone.name === name) ?? { rrsets: [] };
      return rrsets.map((rrset) => rrset.name).filter((each) => each !== '@');
    },
    writes: async () => (await admin<{ writes: UpstreamWrite[] }>('GET', '/writes')).writes,
    putRrset: (name, type, rrset) => admin('PUT', `/rrsets/${ZONE}/${name}/${type}`, rrset),
    async stated() {
      const sets = new Map<string, string>();
      for (let page: number | null = 1; page !== null; ) {
        const url = `${apiUrl}/zones/${ZONE}/rrsets?per_page=100&page=${page}`;
        const response = await fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } });
        const list = (await response.json()) as StatedPage;
        for (const rrset of list.rrsets) sets.set(rrset.id, JSON.stringify(rrset));
        page = list.meta.pagination.next_page;
      }
      return sets;
    },
  };
}

interface ZoneContents {
  readonly name: string;
  readonly rrsets: readonly { readonly name: string }[];
}

interface StatedPage {
  readonly rrsets: readonly { readonly id: string }[];
  readonly meta: { readonly pagination: { readonly next_page: number | null } };
}
