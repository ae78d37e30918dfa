import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { dnsTokenStore, teamStore, userStore } from '@corral/auth';
import { connectPrisma, type Pool } from '@corral/database';
import { freePort, redisForTests, waitFor } from '@corral/testing';
import { clusterSpec, signInAs, speed } from '../clusters/cluster-rig.js';
import { type ProcessGroups, parentOf } from '../load/cpu-shares.js';
import { bearer } from '../load/load.js';
import { type Rig, startRig, UNLIMITED, yieldCores } from '../rig.js';

export const ZONE = 'bench.test';
const DEMO_ZONE = 'demos.test';
const TOKENS = 5;
const SESSIONS = 2;
/** How many clusters and record sets each team changes in turn. */
export const [CLUSTERS, SETS] = [10, 40];
const SETTLED_MS = 60_000;

/** A team with everything that it needs to use both services. Its requests come from its own address. */
export interface Tenant {
  readonly slug: string;
  readonly address: string;
  /** The address without a path. */
  readonly gateway: string;
  readonly api: string;
  readonly tokens: readonly string[];
  readonly cookies: readonly string[];
}

export interface NeighboursRig {
  readonly base: Rig;
  /** All processes except those of the rude callers. */
  readonly processes: ProcessGroups;
  readonly cloud: { readonly url: string; readonly token: string };
  /** Null if redis-server is not installed. */
  readonly redisUrl: string | null;
  /** @param at determines the address of the team: 127.0.1.1, 127.0.1.2 … */
  startTenant(slug: string, at: number): Promise<Tenant>;
}

/**
 * Starts both services and a reconciler as processes, with their default limits.
 *
 * @param env more variables for all three
 */
export async function startNeighboursRig(env: Record<string, string> = {}): Promise<NeighboursRig> {
  const base = await startRig();
  try {
    // As in production, where the queue and the shared limits are in Redis.
    const redis = await redisForTests();
    if (redis !== null) base.onStop(redis.stop);
    const services = await startServices(base, { ...env, ...(redis === null ? {} : { REDIS_URL: redis.url }) });
    const { rows } = await base.pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return {
      base,
      cloud: { url: services.cloudUrl, token: services.cloudToken },
      redisUrl: redis?.url ?? null,
      processes: { ...services.processes, Postgres: rows.map(({ pid }) => parentOf(pid)), polite: [process.pid] },
      startTenant: (slug, at) => startTenant(base, services, { slug, at }),
    };
  } catch (error) {
    await base.stop();
    throw error;
  }
}

interface Services {
  readonly gateway: string;
  readonly api: string;
  readonly cloudUrl: string;
  readonly cloudToken: string;
  readonly processes: ProcessGroups;
}

const portNames = ['cloud', 'admin', 'gardenCloud', 'gardenAdmin', 'gateway', 'api', 'worker'] as const;

async function startServices({ folder, databaseUrl, run }: Rig, more: Record<string, string>): Promise<Services> {
  const ports = Object.fromEntries(
    await Promise.all(portNames.map(async (name) => [name, await freePort()])),
  ) as Record<(typeof portNames)[number], number>;
  const at = (port: number) => `http://127.0.0.1:${port}`;
  const cloudToken = randomBytes(32).toString('hex');
  const cloud = {
    LOCAL_CLOUD_API_PORT: String(ports.cloud),
    LOCAL_CLOUD_ADMIN_PORT: String(ports.admin),
    LOCAL_CLOUD_TOKENS: cloudToken,
    LOCAL_CLOUD_ZONES: `${ZONE},${DEMO_ZONE}`,
    // Teams share the upstream budget fairly, which has its own simulations. Ten writes a second exceed the share of any team.
    LOCAL_CLOUD_REQUESTS_PER_HOUR: UNLIMITED,
    LOCAL_CLOUD_DATA_DIR: join(folder, 'local-cloud'),
    ...speed,
  };
  const upstream = await run('tools/local-cloud/programs/main.js', cloud, `${at(ports.admin)}/admin/calls`);
  // A separate process, as in production, so that it can leave the CPU to the measured processes.
  const gardenCloud = {
    ...cloud,
    LOCAL_CLOUD_DATA_DIR: join(folder, 'garden'),
    LOCAL_CLOUD_API_PORT: String(ports.gardenCloud),
    LOCAL_CLOUD_ADMIN_PORT: String(ports.gardenAdmin),
  };
  const gardener = await run('tools/local-cloud/programs/main.js', gardenCloud, `${at(ports.gardenAdmin)}/admin/calls`);
  const cloudUrl = `${at(ports.cloud)}/v1`;
  const shared = { ...more, DATABASE_URL: databaseUrl, HCLOUD_API_URL: cloudUrl, HOST: '127.0.0.1' };
  const zones = { DNS_ZONE_NAME: ZONE, HCLOUD_TOKEN: cloudToken, DEMOS_ENABLED: 'true', DEMO_ZONE_NAME: DEMO_ZONE };
  const garden = {
    GARDEN_KUBECONFIG: join(folder, 'garden', 'garden.kubeconfig'),
    SECRET_KEYS: `bench:${randomBytes(32).toString('base64')}`,
  };
  const reconciler = { ...shared, ...zones, ...garden, METRICS_PORT: String(ports.worker) };
  const gateway = { ...shared, ...zones, PORT: String(ports.gateway), METRICS_PORT: '0' };
  const api = {
    ...shared,
    ...garden,
    PORT: String(ports.api),
    METRICS_PORT: '0',
    PUBLIC_URL: at(ports.api),
    NODE_ENV: 'development',
    DEV_SIGN_IN: 'true',
  };
  const started = await Promise.all([
    run('apps/reconciler/dist/main.js', reconciler, `${at(ports.worker)}/readyz`),
    run('apps/dns-gateway/dist/main.js', gateway, `${at(ports.gateway)}/readyz`),
    run('apps/cluster-api/dist/main.js', api, `${at(ports.api)}/readyz`),
  ]);
  const [loop, gatewayPid, apiPid] = started.map(({ pid }) => pid) as [number, number, number];
  yieldCores([loop, gardener.pid]);
  const processes = {
    'DNS gateway': [gatewayPid],
    'cluster API': [apiPid],
    reconciler: [loop],
    'DNS upstream': [upstream.pid],
    garden: [gardener.pid],
  };
  return { gateway: at(ports.gateway), api: at(ports.api), cloudUrl, cloudToken, processes };
}

async function startTenant(
  { databaseUrl, pool }: Rig,
  { gateway, api, cloudToken }: Services,
  { slug, at }: { slug: string; at: number },
): Promise<Tenant> {
  const email = `${slug}@bench.test`;
  const tokens = await createTeam(databaseUrl, slug, email);
  const cookies: string[] = [];
  while (cookies.length < SESSIONS) cookies.push(await signInAs(api, email));
  const tenant: Tenant = { slug, address: `127.0.1.${at}`, gateway, api, tokens, cookies };
  await declare(tenant, '/connections/main/', { spec: { provider: 'hcloud', token: cloudToken } });
  for (let index = 0; index < CLUSTERS; index += 1) {
    await declare(tenant, `/clusters/c${index}/`, { spec: clusterSpec(2) });
  }
  for (let index = 0; index < SETS; index += 1) {
    const body = { name: `w${index}.${slug}`, type: 'A', records: [{ value: '192.0.2.1' }] };
    const headers = bearer(tokens[index % TOKENS] as string);
    await send(`${gateway}/v1/zones/${ZONE}/rrsets`, { method: 'POST', headers, body });
  }
  const areConverged = async () => (await countOpenClusters(pool)) === 0;
  await waitFor(`the clusters of ${slug} to converge`, areConverged, { timeoutMs: SETTLED_MS });
  return tenant;
}

/** @returns the DNS tokens of the team */
async function createTeam(databaseUrl: string, slug: string, email: string): Promise<string[]> {
  const prisma = connectPrisma(databaseUrl);
  try {
    const team = await teamStore(prisma).createTeam(slug);
    const users = userStore(prisma);
    await users.saveMember(team, await users.createUser({ email }), 'admin');
    const tokens: string[] = [];
    while (tokens.length < TOKENS) {
      tokens.push((await dnsTokenStore(prisma).issueToken(team, { name: `bench ${tokens.length}` })).token);
    }
    return tokens;
  } finally {
    await prisma.$disconnect();
  }
}

async function countOpenClusters(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ open: number }>(
    'SELECT count(*)::int AS open FROM cluster WHERE observed_generation < generation OR due_at IS NOT NULL',
  );
  return rows[0]?.open ?? 0;
}

const declare = ({ api, slug, cookies }: Tenant, path: string, body: object) =>
  send(`${api}/api/v1/teams/${slug}${path}`, { method: 'PUT', headers: { cookie: cookies[0] as string }, body });

async function send(
  url: string,
  { method, headers, body }: { method: string; headers: Record<string, string>; body: object },
): Promise<Response> {
  const answer = await fetch(url, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${url} was answered ${answer.status}: ${await answer.text()}`);
  return answer;
}
