import { join } from 'node:path';
import { freePort, type RunningProcess } from '@corral/testing';
import { type Rig, UNLIMITED } from './rig.js';

export const ZONE = 'bench.test';
/** The secrets of an installation whose data may stay: they protect nothing but themselves. */
export const CLOUD_TOKEN = 'be'.repeat(32);
const SECRET_KEYS = `bench:${Buffer.alloc(32, 'b').toString('base64')}`;

/** The pause between two walks over the zone that no start causes. */
const DAY_MS = '86400000';

export interface Cloud {
  readonly apiUrl: string;
  /** Ends without a slash. */
  readonly adminUrl: string;
  readonly kubeconfigPath: string;
  readonly pid: number;
}

export interface Service {
  readonly url: string;
  readonly process: RunningProcess;
}

/** What the chart requests for a reconciler is 0.4 of what it requests for an API: a process with this niceness gets as much. */
const RECONCILER_NICENESS = 4;
/** They are on other machines, and use none of the installation's processors. */
const ELSEWHERE_NICENESS = 10;

/** A garden that does in an instant what takes minutes elsewhere: only the product is measured. */
const speed = { LOCAL_CLOUD_GARDEN_CREATE_MS: '50', LOCAL_CLOUD_GARDEN_RECONCILE_MS: '50' };

/** @param dataDir what the upstream and the garden keep */
export async function startCloud({ run }: Rig, dataDir: string, zones: readonly string[] = [ZONE]): Promise<Cloud> {
  const [apiPort, adminPort] = [await freePort(), await freePort()];
  const adminUrl = `http://127.0.0.1:${adminPort}/admin`;
  const env = {
    LOCAL_CLOUD_API_PORT: String(apiPort),
    LOCAL_CLOUD_ADMIN_PORT: String(adminPort),
    LOCAL_CLOUD_TOKENS: CLOUD_TOKEN,
    LOCAL_CLOUD_ZONES: zones.join(','),
    LOCAL_CLOUD_REQUESTS_PER_HOUR: UNLIMITED,
    LOCAL_CLOUD_DATA_DIR: dataDir,
    ...speed,
  };
  const { pid } = await run('tools/local-cloud/programs/main.js', env, `${adminUrl}/calls`, ELSEWHERE_NICENESS);
  const kubeconfigPath = join(dataDir, 'garden.kubeconfig');
  return { pid, adminUrl, kubeconfigPath, apiUrl: `http://127.0.0.1:${apiPort}/v1` };
}

/** Starts the services of one installation on the database of the rig and on the cloud. */
export function services(rig: Rig, cloud: Cloud, redisUrl?: string) {
  const shared = {
    DATABASE_URL: rig.databaseUrl,
    ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    HCLOUD_API_URL: cloud.apiUrl,
    HOST: '127.0.0.1',
  };
  const zone = { DNS_ZONE_NAME: ZONE, HCLOUD_TOKEN: CLOUD_TOKEN };
  const garden = { GARDEN_KUBECONFIG: cloud.kubeconfigPath, SECRET_KEYS };
  const start = async (
    app: string,
    env: (port: string, url: string) => Record<string, string>,
    niceness = 0,
  ): Promise<Service> => {
    const port = String(await freePort());
    const url = `http://127.0.0.1:${port}`;
    const all = { ...shared, ...env(port, url) };
    return { url, process: await rig.run(`apps/${app}/dist/main.js`, all, `${url}/readyz`, niceness) };
  };
  return {
    gateway: (env: Record<string, string> = {}) =>
      start('dns-gateway', (port) => ({ ...zone, PORT: port, METRICS_PORT: '0', ...env })),
    clusterApi: (env: Record<string, string> = {}) =>
      start('cluster-api', (port, url) => ({
        ...garden,
        PORT: port,
        METRICS_PORT: '0',
        PUBLIC_URL: url,
        // Needs no identity provider.
        NODE_ENV: 'development',
        DEV_SIGN_IN: 'true',
        ...env,
      })),
    reconciler: (env: Record<string, string> = {}) =>
      start(
        'reconciler',
        (port) => ({ ...zone, ...garden, METRICS_PORT: port, DNS_SYNC_INTERVAL_MS: DAY_MS, ...env }),
        RECONCILER_NICENESS,
      ),
  };
}
