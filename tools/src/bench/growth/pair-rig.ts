import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyMigrations, connectPool, type Pool } from '@corral/database';
import { zoneSyncStore } from '@corral/dns-data';
import { freePort, type RunningProcess } from '@corral/testing';
import { speed } from '../clusters/cluster-rig.js';
import { type Rig, repository, startRig, UNLIMITED } from '../rig.js';
import { BILLING_SECRET } from './cluster-writes.js';
import { DEMO_ZONE, ZONE } from './dns-calls.js';
import { type Seeded, type Site, sender } from './site.js';

/** A database, with a gateway and a cluster API on it. */
export interface Installation {
  readonly pool: Pool;
  readonly databaseUrl: string;
  readonly urls: Site['urls'];
  stop(): Promise<void>;
}

export interface PairRig {
  readonly cloudToken: string;
  /** Makes a new database with the schema, starts the services on it, and lets `seed` fill it. They end with it. */
  seedDatabase<T>(seed: (installation: Installation) => Promise<T>): Promise<T>;
  /** Two installations on copies of the seeded database. `fill` runs before the services start. */
  startPair(seeded: Seeded, fill: (pool: Pool, name: Site['name']) => Promise<void>): Promise<Pair>;
  stop(): Promise<void>;
}

export interface Pair {
  readonly small: Site;
  readonly large: Site;
  /** Replaces the services by new processes on the same databases. What was kept of answers is forgotten. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const SEED = 'seed';

/** One Postgres and one local cloud for both installations, so that load on the machine affects both. */
export async function startPairRig(): Promise<PairRig> {
  const rig = await startRig();
  try {
    return await rigOn(rig);
  } catch (error) {
    await rig.stop();
    throw error;
  }
}

async function rigOn(rig: Rig): Promise<PairRig> {
  const cloud = await startCloud(rig);
  const secretKeys = `bench:${randomBytes(32).toString('base64')}`;
  const urlOf = (database: string): string => Object.assign(new URL(rig.databaseUrl), { pathname: database }).href;

  const install = async (database: string): Promise<Installation> => {
    const databaseUrl = urlOf(database);
    const pool = poolOn(databaseUrl);
    const shared = { DATABASE_URL: databaseUrl, HCLOUD_API_URL: cloud.apiUrl, HCLOUD_TOKEN: cloud.token };
    const [gateway, api] = await Promise.all([
      startGateway(rig, shared),
      startApi(rig, { ...shared, SECRET_KEYS: secretKeys, GARDEN_KUBECONFIG: cloud.kubeconfig }),
    ]);
    return {
      pool,
      databaseUrl,
      urls: { dns: gateway.url, cluster: api.url },
      async stop() {
        await Promise.all([gateway.process.stop(), api.process.stop(), pool.end()]);
      },
    };
  };
  const copy = (name: string) => rig.pool.query(`CREATE DATABASE ${name} TEMPLATE ${SEED} STRATEGY file_copy`);
  const drop = (name: string) => rig.pool.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);

  return {
    cloudToken: cloud.token,
    async seedDatabase(seed) {
      await rig.pool.query(`CREATE DATABASE ${SEED}`);
      await applyMigrations({ databaseUrl: urlOf(SEED), migrationsDir: join(repository, 'prisma', 'migrations') });
      await mirrorZones(urlOf(SEED), cloud);
      const installation = await install(SEED);
      try {
        return await seed(installation);
      } finally {
        await installation.stop();
      }
    },
    async startPair(seeded, fill) {
      const names = ['small', 'large'] as const;
      for (const name of names) {
        await copy(name);
        const pool = poolOn(urlOf(name));
        await fill(pool, name);
        await pool.end();
      }
      const siteOf = (name: Site['name'], { pool, urls }: Installation): Site => {
        const site = { name, pool, urls, seeded, kept: new Map<string, string>() };
        return { ...site, send: sender(site) };
      };
      const start = async () => {
        const [small, large] = (await Promise.all(names.map(install))) as [Installation, Installation];
        const end = () => Promise.all([small.stop(), large.stop()]);
        return { small: siteOf('small', small), large: siteOf('large', large), end };
      };
      let started = await start();
      return {
        get small() {
          return started.small;
        },
        get large() {
          return started.large;
        },
        async restart() {
          await started.end();
          started = await start();
        },
        async stop() {
          await started.end();
          await Promise.all(names.map(drop));
        },
      };
    },
    stop: rig.stop,
  };
}

const poolOn = (databaseUrl: string): Pool =>
  connectPool({ databaseUrl, applicationName: 'bench', onIdleError: () => undefined, statementTimeoutMs: 600_000 });

async function startCloud({ folder, run }: Rig) {
  const token = randomBytes(32).toString('hex');
  const [apiPort, adminPort] = [await freePort(), await freePort()];
  const dataDir = join(folder, 'local-cloud');
  const env = {
    LOCAL_CLOUD_API_PORT: String(apiPort),
    LOCAL_CLOUD_ADMIN_PORT: String(adminPort),
    LOCAL_CLOUD_TOKENS: token,
    LOCAL_CLOUD_ZONES: `${ZONE},${DEMO_ZONE}`,
    LOCAL_CLOUD_REQUESTS_PER_HOUR: UNLIMITED,
    LOCAL_CLOUD_ACTION_MS: '0',
    LOCAL_CLOUD_DATA_DIR: dataDir,
    ...speed,
  };
  await run('tools/local-cloud/programs/main.js', env, `http://127.0.0.1:${adminPort}/admin/calls`);
  const kubeconfig = join(dataDir, 'garden.kubeconfig');
  readFileSync(kubeconfig);
  return { token, kubeconfig, apiUrl: `http://127.0.0.1:${apiPort}/v1` };
}

/** Without the zones, a gateway is not ready. */
async function mirrorZones(databaseUrl: string, { apiUrl, token }: { apiUrl: string; token: string }): Promise<void> {
  const pool = poolOn(databaseUrl);
  for (const name of [ZONE, DEMO_ZONE]) {
    const response = await fetch(`${apiUrl}/zones/${name}`, { headers: { authorization: `Bearer ${token}` } });
    const { zone } = (await response.json()) as { zone: { id: number; name: string } };
    const owners = name === ZONE ? 'teams' : 'demos';
    await zoneSyncStore(pool).saveZone({ ...zone, body: JSON.stringify(zone) }, owners);
  }
  await pool.end();
}

interface Service {
  readonly url: string;
  readonly process: RunningProcess;
}

/** Limits of requests are never reached, as they are not measured here. */
const openLimits = { LIMIT_PER_ADDRESS: UNLIMITED, CONNECTIONS_PER_ADDRESS: UNLIMITED };

async function startGateway({ run }: Rig, shared: Record<string, string>): Promise<Service> {
  const port = await freePort();
  const env = {
    ...shared,
    ...openLimits,
    DNS_ZONE_NAME: ZONE,
    DEMOS_ENABLED: 'true',
    DEMO_ZONE_NAME: DEMO_ZONE,
    LIMIT_PER_TOKEN: UNLIMITED,
    LIMIT_PER_TEAM: UNLIMITED,
    DNS_RECORDS_PER_TEAM: UNLIMITED,
    METRICS_PORT: '0',
    HOST: '127.0.0.1',
    PORT: String(port),
  };
  const process = await run('apps/dns-gateway/dist/main.js', env, `http://127.0.0.1:${port}/readyz`);
  return { process, url: `http://127.0.0.1:${port}/v1` };
}

async function startApi({ run }: Rig, shared: Record<string, string>): Promise<Service> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    ...shared,
    ...openLimits,
    NODE_ENV: 'development',
    DEV_SIGN_IN: 'true',
    LIMIT_PER_PERSON: UNLIMITED,
    LIMIT_SIGN_IN: UNLIMITED,
    CLUSTERS_PER_TEAM: UNLIMITED,
    BILLING_WEBHOOK_SECRETS: BILLING_SECRET,
    DNS_API_URL: 'http://127.0.0.1/v1',
    DNS_ZONE_NAME: ZONE,
    METRICS_PORT: '0',
    PUBLIC_URL: url,
    HOST: '127.0.0.1',
    PORT: String(port),
  };
  const process = await run('apps/cluster-api/dist/main.js', env, `${url}/readyz`);
  return { process, url };
}
