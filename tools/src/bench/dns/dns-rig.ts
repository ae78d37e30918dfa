import { join } from 'node:path';
import { dnsTokenStore, teamStore } from '@corral/auth';
import { connectPrisma, type Pool } from '@corral/database';
import { zoneSyncStore } from '@corral/dns-data';
import { freePort, type RunningProcess, redisForTests } from '@corral/testing';
import { bearer, type Load } from '../load/load.js';
import { type Rig, startRig, UNLIMITED } from '../rig.js';
import { cpuSecondsOf } from '../sizing/meter.js';
import { readRedis } from '../sizing/redis-info.js';

export const ZONE = 'bench.test';
const UPSTREAM_TOKEN = 'upstream-token-of-the-benchmark-0123456789';

/** Request limits that are never reached, as they are not measured here. */
const gatewaySettings = {
  DNS_ZONE_NAME: ZONE,
  HCLOUD_TOKEN: UPSTREAM_TOKEN,
  METRICS_PORT: '0',
  HOST: '127.0.0.1',
  LIMIT_PER_ADDRESS: UNLIMITED,
  LIMIT_PER_TOKEN: UNLIMITED,
  LIMIT_PER_TEAM: UNLIMITED,
  CONNECTIONS_PER_ADDRESS: UNLIMITED,
  DNS_RECORDS_PER_TEAM: '100000',
};

export interface DnsRig {
  readonly gatewayUrl: string;
  readonly gatewayPid: number;
  readonly cloudUrl: string;
  readonly cloudToken: string;
  readonly zoneId: number;
  readonly token: string;
  readonly pool: Pool;
  /** The number of calls that the upstream has got so far. */
  upstreamCalls(): Promise<number>;
  /** Reads of these bodies: below `/bare` without anything else, below `/v1` after one statement. */
  startBareExpress(bodies: Record<string, string>): Promise<string>;
  /** The floor of a write behind a server of its own. @returns its address. */
  startFloorServer(): Promise<string>;
  /** More gateways, which share limits and budget over a Redis of their own. Null if redis-server is not installed. */
  startReplicas(count: number): Promise<Replicas | null>;
  /** The parts that every benchmark needs. */
  readonly base: Rig;
  stop(): Promise<void>;
}

/** The reads that are measured. */
export type Paths = { readonly list: string; readonly get: string };

export const readOf = (rig: DnsRig, path: string, url = rig.gatewayUrl): Load => ({
  url,
  headers: bearer(rig.token),
  path,
});

export interface Replicas {
  readonly urls: readonly string[];
  /** What they have used so far. */
  readUse(): Promise<ReplicasUse>;
}

export interface ReplicasUse {
  /** That they have sent to Postgres. */
  readonly statements: number;
  readonly redisRoundTrips: number;
  readonly cpuSeconds: number;
}

/** Starts real processes on their own durable Postgres. */
export async function startDnsRig(): Promise<DnsRig> {
  const rig = await startRig({ countsStatements: true });
  const { folder, pool, databaseUrl, run } = rig;
  const [apiPort, adminPort] = [await freePort(), await freePort()];
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  const cloudUrl = `http://127.0.0.1:${apiPort}/v1`;
  await run(
    'tools/local-cloud/programs/main.js',
    {
      LOCAL_CLOUD_API_PORT: String(apiPort),
      LOCAL_CLOUD_ADMIN_PORT: String(adminPort),
      LOCAL_CLOUD_TOKENS: UPSTREAM_TOKEN,
      LOCAL_CLOUD_ZONES: ZONE,
      LOCAL_CLOUD_REQUESTS_PER_HOUR: UNLIMITED,
      LOCAL_CLOUD_DATA_DIR: join(folder, 'local-cloud'),
    },
    `${adminUrl}/admin/calls`,
  );
  const zoneId = await mirrorZone(pool, cloudUrl);
  const token = await issueToken(databaseUrl);
  const startGateway = async (env: Record<string, string> = {}): Promise<{ url: string; child: RunningProcess }> => {
    const port = await freePort();
    const settings = { ...gatewaySettings, DATABASE_URL: databaseUrl, HCLOUD_API_URL: cloudUrl, PORT: String(port) };
    const readyUrl = `http://127.0.0.1:${port}/readyz`;
    const child = await run('apps/dns-gateway/dist/main.js', { ...settings, ...env }, readyUrl);
    return { url: `http://127.0.0.1:${port}/v1`, child };
  };
  const { url: gatewayUrl, child: gateway } = await startGateway();

  return {
    cloudUrl,
    zoneId,
    token,
    pool,
    cloudToken: UPSTREAM_TOKEN,
    gatewayUrl,
    gatewayPid: gateway.pid,
    base: rig,
    upstreamCalls: async () => ((await (await fetch(`${adminUrl}/admin/calls`)).json()) as { total: number }).total,
    async startBareExpress(bodies) {
      const port = await freePort();
      const env = { PORT: String(port), BODIES: JSON.stringify(bodies), DATABASE_URL: databaseUrl, OWNER: 'acme' };
      const [firstPath] = Object.keys(bodies);
      await run('tools/dist/bench/dns/bare-express.js', env, `http://127.0.0.1:${port}/v1${firstPath}`);
      return `http://127.0.0.1:${port}`;
    },
    async startFloorServer() {
      const url = `http://127.0.0.1:${await freePort()}`;
      const env = {
        PORT: new URL(url).port,
        DATABASE_URL: databaseUrl,
        CLOUD_URL: cloudUrl,
        CLOUD_TOKEN: UPSTREAM_TOKEN,
      };
      await run('tools/dist/bench/dns/floor-server.js', env, url);
      return url;
    },
    async startReplicas(count) {
      const redis = await redisForTests();
      if (redis === null) return null;
      rig.onStop(redis.stop);
      // Postgres counts statements by role.
      const role = `replicas_${count}`;
      const asRole = new URL(databaseUrl);
      await pool.query(`CREATE ROLE ${role} SUPERUSER LOGIN PASSWORD '${asRole.password}'`);
      asRole.username = role;
      const env = { REDIS_URL: redis.url, DATABASE_URL: asRole.href };
      const started: Awaited<ReturnType<typeof startGateway>>[] = [];
      while (started.length < count) started.push(await startGateway(env));
      return {
        urls: started.map(({ url }) => url),
        readUse: async () => ({
          statements: await statementsOf(pool, role),
          redisRoundTrips: (await readRedis(redis.url)).roundTrips,
          cpuSeconds: started.reduce((sum, { child }) => sum + cpuSecondsOf(child.pid), 0),
        }),
      };
    },
    stop: rig.stop,
  };
}

async function statementsOf(pool: Pool, role: string): Promise<number> {
  const { rows } = await pool.query<{ calls: number }>(
    'SELECT coalesce(sum(calls), 0)::float8 AS calls FROM pg_stat_statements WHERE userid = $1::regrole',
    [role],
  );
  return (rows[0] as { calls: number }).calls;
}

async function mirrorZone(pool: Pool, cloudUrl: string): Promise<number> {
  const response = await fetch(`${cloudUrl}/zones/${ZONE}`, { headers: { authorization: `Bearer ${UPSTREAM_TOKEN}` } });
  const { zone } = (await response.json()) as { zone: { id: number; name: string } };
  await zoneSyncStore(pool).saveZone({ ...zone, body: JSON.stringify(zone) });
  return zone.id;
}

async function issueToken(databaseUrl: string): Promise<string> {
  const prisma = connectPrisma(databaseUrl);
  const team = await teamStore(prisma).createTeam('acme');
  const { token } = await dnsTokenStore(prisma).issueToken(team, { name: 'bench' });
  await prisma.$disconnect();
  return token;
}
