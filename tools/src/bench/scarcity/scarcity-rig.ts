import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { dnsTokenStore, teamStore } from '@corral/auth';
import { connectPrisma } from '@corral/database';
import { freePort, redisForTests, waitFor } from '@corral/testing';
import { startRig, UNLIMITED } from '../rig.js';

export const ZONE = 'bench.test';
/** Time runs this many times faster than in production, so that an hourly budget takes three minutes. */
export const SPEED = 20;
const REQUESTS_PER_HOUR = 3_600 * SPEED;
const GATEWAYS = 3;
/** The time that a request may wait for the budget. The production value of 8 s would be too short at this speed. */
const UPSTREAM_WAIT = '1s';
const WRITE_WAIT = '2s';

/** The budget as the upstream itself counts it. */
export interface UpstreamBudget {
  readonly remaining: number;
  /** The number of requests so far that it answered with 429. */
  readonly refused: number;
  /** The number of requests so far. */
  readonly calls: number;
}

export interface Team {
  readonly slug: string;
  readonly token: string;
}

export interface ScarcityRig {
  readonly gateways: readonly string[];
  readonly teams: readonly Team[];
  /** Whether the replicas share the budget over a Redis; otherwise they use Postgres. */
  readonly hasRedis: boolean;
  leave(remaining: number): Promise<void>;
  budget(): Promise<UpstreamBudget>;
  stop(): Promise<void>;
}

/** Three gateways and a reconciler as processes, with an upstream that grants as documented, only faster. */
export async function startScarcityRig(teamCount: number, withRedis: boolean): Promise<ScarcityRig> {
  const rig = await startRig();
  try {
    const redis = withRedis ? await redisForTests() : null;
    if (redis !== null) rig.onStop(redis.stop);
    const [api, admin, worker] = [await freePort(), await freePort(), await freePort()];
    const adminUrl = `http://127.0.0.1:${admin}/admin`;
    const cloudToken = randomBytes(32).toString('hex');
    const cloud = {
      LOCAL_CLOUD_API_PORT: String(api),
      LOCAL_CLOUD_ADMIN_PORT: String(admin),
      LOCAL_CLOUD_TOKENS: cloudToken,
      LOCAL_CLOUD_ZONES: ZONE,
      LOCAL_CLOUD_REQUESTS_PER_HOUR: String(REQUESTS_PER_HOUR),
      LOCAL_CLOUD_DATA_DIR: join(rig.folder, 'local-cloud'),
    };
    await rig.run('tools/local-cloud/programs/main.js', cloud, `${adminUrl}/calls`);
    const shared = {
      DATABASE_URL: rig.databaseUrl,
      DNS_ZONE_NAME: ZONE,
      HOST: '127.0.0.1',
      ...(redis === null ? {} : { REDIS_URL: redis.url }),
      HCLOUD_API_URL: `http://127.0.0.1:${api}/v1`,
      HCLOUD_TOKEN: cloudToken,
      UPSTREAM_WAIT_MS: UPSTREAM_WAIT,
    };
    // Of the limits of a team, only the upstream budget is measured.
    const unlimited = { LIMIT_PER_ADDRESS: UNLIMITED, LIMIT_PER_TOKEN: UNLIMITED, LIMIT_PER_TEAM: UNLIMITED };
    const gateway = {
      ...shared,
      ...unlimited,
      WRITE_WAIT_MS: WRITE_WAIT,
      METRICS_PORT: '0',
      CONNECTIONS_PER_ADDRESS: UNLIMITED,
      DNS_RECORDS_PER_TEAM: '1000000',
    };
    const startWorker = { ...shared, METRICS_PORT: String(worker) };
    await rig.run('apps/reconciler/dist/main.js', startWorker, `http://127.0.0.1:${worker}/readyz`);
    await waitFor('the zone to be known', async () => {
      const { rows } = await rig.pool.query("SELECT 1 FROM dns_sync_run WHERE state = 'succeeded'");
      return rows.length > 0;
    });
    const gateways: string[] = [];
    while (gateways.length < GATEWAYS) {
      const port = await freePort();
      const url = `http://127.0.0.1:${port}`;
      await rig.run('apps/dns-gateway/dist/main.js', { ...gateway, PORT: String(port) }, `${url}/readyz`);
      gateways.push(`${url}/v1`);
    }
    const ask = async <T>(path: string, body?: object): Promise<T> => {
      const headers = { 'content-type': 'application/json' };
      const post = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) };
      return (await (await fetch(`${adminUrl}/${path}`, post)).json()) as T;
    };
    return {
      gateways,
      teams: await createTeams(rig.databaseUrl, teamCount),
      hasRedis: redis !== null,
      leave: (remaining) => ask('budget', { remaining }),
      async budget() {
        const { remaining, refused } = await ask<UpstreamBudget>('budget');
        const { byRoute } = await ask<{ byRoute: Record<string, number> }>('calls');
        return { remaining, refused, calls: Object.values(byRoute).reduce((sum, count) => sum + count, 0) };
      },
      stop: rig.stop,
    };
  } catch (error) {
    await rig.stop();
    throw error;
  }
}

async function createTeams(databaseUrl: string, count: number): Promise<Team[]> {
  const prisma = connectPrisma(databaseUrl);
  try {
    const teams: Team[] = [];
    while (teams.length < count) {
      const slug = `team-${teams.length}`;
      const team = await teamStore(prisma).createTeam(slug);
      const { token } = await dnsTokenStore(prisma).issueToken(team, { name: 'bench' });
      teams.push({ slug, token });
    }
    return teams;
  } finally {
    await prisma.$disconnect();
  }
}
