import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { teamStore, userStore } from '@corral/auth';
import { connectPrisma, type Pool } from '@corral/database';
import { connectGarden, type GardenClient } from '@corral/garden';
import { silentLog } from '@corral/service';
import { freePort, type RunningProcess } from '@corral/testing';
import { exchange } from '../load/exchange.js';
import { type Rig, startRig, UNLIMITED, yieldCores } from '../rig.js';

export const TEAM = 'bench';
const REF = 'main';
const RELIST_MS = 600_000;

/** Sends a request below the path of the team. @throws Error unless it is answered 2xx */
export type Call = (method: string, path: string, body?: object) => Promise<{ status: number; body: unknown }>;

/** A cluster API with the options of its image. */
export interface BenchApi {
  readonly teamUrl: string;
  readonly cookie: string;
  readonly call: Call;
  /** Resident memory, in MiB. */
  memory(): number;
}

export interface ClusterRig {
  readonly pool: Pool;
  readonly databaseUrl: string;
  /** The API for all other calls. */
  readonly baseUrl: string;
  /** The connection of the benchmark itself to the garden. */
  readonly garden: GardenClient;
  readonly call: Call;
  /** Creates one more team with a connection. */
  addTeam(slug: string): Promise<Call>;
  /** Starts one more API on the same database. */
  startApi(): Promise<BenchApi>;
  startReconcilers(count: number): Promise<void>;
  stopReconcilers(): Promise<void>;
  /** Lets none of them run. They stay warm. @returns a function that resumes all or as many, first the one with the watch */
  suspendReconcilers(): Promise<(count?: number) => void>;
  /** From now on, reconcilers and garden only get the CPU time that the APIs leave: in production they have other machines. */
  yieldCores(): void;
  /** The calls that the garden got since the last reset, by verb and route. */
  gardenCalls(): Promise<Record<string, number>>;
  resetCalls(): Promise<void>;
  /** Process IDs by the name of the part. */
  pids(): Readonly<Record<string, readonly number[]>>;
  /** The resident memory of each process, in MiB. */
  memory(): Promise<Record<string, number>>;
  stop(): Promise<void>;
}

/** A garden that does in an instant what takes minutes elsewhere: only the product is measured. */
export const speed = {
  LOCAL_CLOUD_GARDEN_CREATE_MS: '50',
  LOCAL_CLOUD_GARDEN_RECONCILE_MS: '50',
};

export interface ClusterRigOptions {
  readonly relistMs?: number;
  /** Kubeconfig paths for a garden other than that of the local cloud, with one account for each service. */
  readonly kubeconfigs?: { readonly clusterApi: string; readonly reconciler: string };
}

export async function startClusterRig(options: ClusterRigOptions = {}): Promise<ClusterRig> {
  const rig = await startRig({ countsStatements: true });
  try {
    return await fillRig(rig, options);
  } catch (error) {
    await rig.stop();
    throw error;
  }
}

async function fillRig(rig: Rig, { relistMs = RELIST_MS, kubeconfigs }: ClusterRigOptions): Promise<ClusterRig> {
  const { folder, pool, databaseUrl, run } = rig;
  const token = randomBytes(32).toString('hex');
  const [cloudPort, adminPort] = [await freePort(), await freePort()];
  const adminUrl = `http://127.0.0.1:${adminPort}/admin`;
  const dataDir = join(folder, 'local-cloud');
  const cloud = await run(
    'tools/local-cloud/programs/main.js',
    {
      LOCAL_CLOUD_API_PORT: String(cloudPort),
      LOCAL_CLOUD_ADMIN_PORT: String(adminPort),
      LOCAL_CLOUD_TOKENS: token,
      LOCAL_CLOUD_ZONES: 'bench.test',
      LOCAL_CLOUD_REQUESTS_PER_HOUR: UNLIMITED,
      LOCAL_CLOUD_DATA_DIR: dataDir,
      ...speed,
    },
    `${adminUrl}/calls`,
  );
  const kubeconfigPath = join(dataDir, 'garden.kubeconfig');
  const garden = connectGarden({
    kubeconfigText: readFileSync(kubeconfigPath, 'utf8'),
    cloudProfileName: 'hcloud',
    log: silentLog,
  });
  const shared = {
    DATABASE_URL: databaseUrl,
    HCLOUD_API_URL: `http://127.0.0.1:${cloudPort}/v1`,
    GARDEN_KUBECONFIG: kubeconfigs?.clusterApi ?? kubeconfigPath,
    SECRET_KEYS: `bench:${randomBytes(32).toString('base64')}`,
  };
  const startApi = async (env: Record<string, string>) => {
    const port = await freePort();
    const baseUrl = `http://127.0.0.1:${port}`;
    const api = await run(
      'apps/cluster-api/dist/main.js',
      {
        ...shared,
        PUBLIC_URL: baseUrl,
        HOST: '127.0.0.1',
        PORT: String(port),
        METRICS_PORT: '0',
        LIMIT_PER_ADDRESS: UNLIMITED,
        LIMIT_PER_PERSON: UNLIMITED,
        CLUSTERS_PER_TEAM: UNLIMITED,
        CONNECTIONS_MAX: UNLIMITED,
        CONNECTIONS_PER_ADDRESS: UNLIMITED,
        EVENT_STREAMS_PER_PERSON: UNLIMITED,
        EVENT_STREAMS_PER_TEAM: UNLIMITED,
        EVENT_STREAMS_MAX: UNLIMITED,
        ...env,
      },
      `${baseUrl}/readyz`,
    );
    return { baseUrl, teamUrl: `${baseUrl}/api/v1/teams/${TEAM}`, pid: api.pid };
  };
  const api = await startApi({ NODE_ENV: 'development', DEV_SIGN_IN: 'true' });
  const addTeam = async (slug: string): Promise<{ cookie: string; call: Call }> => {
    const cookie = await signIn(databaseUrl, api.baseUrl, slug);
    const call = caller(`${api.baseUrl}/api/v1/teams/${slug}`, cookie);
    await call('PUT', `/connections/${REF}/`, { spec: { provider: 'hcloud', token } });
    return { cookie, call };
  };
  const { cookie, call } = await addTeam(TEAM);

  const reconcilers: (RunningProcess & { readonly metricsUrl: string })[] = [];
  const startReconciler = async (): Promise<void> => {
    const port = await freePort();
    const env = {
      ...shared,
      ...(kubeconfigs === undefined ? {} : { GARDEN_KUBECONFIG: kubeconfigs.reconciler }),
      DNS_ZONE_NAME: 'bench.test',
      HCLOUD_TOKEN: token,
      METRICS_PORT: String(port),
      GARDEN_RELIST_INTERVAL_MS: String(relistMs),
    };
    const url = `http://127.0.0.1:${port}`;
    const reconciler = await run('apps/reconciler/dist/main.js', env, `${url}/readyz`);
    reconcilers.push({ ...reconciler, metricsUrl: `${url}/metrics` });
  };
  const isWatching = async (metricsUrl: string): Promise<boolean> =>
    /^corral_reconcile_watching\{.*\} 1$/m.test(await (await fetch(metricsUrl)).text());
  return {
    pool,
    garden,
    call,
    databaseUrl,
    baseUrl: api.baseUrl,
    addTeam: async (slug) => (await addTeam(slug)).call,
    async startApi() {
      const { teamUrl, pid } = await startApi({ REQUESTS_IN_FLIGHT_MAX: UNLIMITED });
      return { teamUrl, cookie, call: caller(teamUrl, cookie), memory: () => residentMiB(pid) };
    },
    async startReconcilers(count) {
      await Promise.all(Array.from({ length: count }, startReconciler));
    },
    async stopReconcilers() {
      await Promise.all(reconcilers.splice(0).map((reconciler) => reconciler.stop()));
    },
    async suspendReconcilers() {
      const watching = await Promise.all(reconcilers.map(({ metricsUrl }) => isWatching(metricsUrl)));
      const first = watching.indexOf(true);
      if (first === -1) throw new Error('No reconciler has the watch.');
      const ordered = [...reconcilers.slice(first), ...reconcilers.slice(0, first)];
      for (const reconciler of ordered) reconciler.kill('SIGSTOP');
      return (count = ordered.length) => {
        for (const reconciler of ordered.slice(0, count)) reconciler.kill('SIGCONT');
      };
    },
    yieldCores() {
      yieldCores([cloud, ...reconcilers].map(({ pid }) => pid));
    },
    gardenCalls: async () => gardenCallsIn(await (await fetch(`${adminUrl}/calls`)).json()),
    pids: () => ({
      'cluster API': [api.pid],
      reconcilers: reconcilers.map(({ pid }) => pid),
      garden: [cloud.pid],
    }),
    async resetCalls() {
      const { ok, status } = await fetch(`${adminUrl}/calls`, { method: 'DELETE' });
      if (!ok) throw new Error(`The calls were not reset: ${status}`);
    },
    async memory() {
      const named = [['local cloud', cloud] as const, ['cluster-api', api] as const];
      const all = [...named, ...reconcilers.map((each, at) => [`reconciler ${at + 1}`, each] as const)];
      return Object.fromEntries(all.map(([name, { pid }]) => [name, residentMiB(pid)]));
    },
    async stop() {
      await garden.close();
      await rig.stop();
    },
  };
}

/** The declaration of every cluster of a benchmark. */
export const clusterSpec = (maximum: number) => ({
  connectionRef: REF,
  region: 'hel1',
  kubernetesVersion: '1.34.3',
  nodePools: [{ name: 'general', machineType: 'cpx31', minimum: 1, maximum }],
});

/** Creates a team with an administrator. @returns the cookie of their session */
export async function signIn(databaseUrl: string, baseUrl: string, slug: string): Promise<string> {
  const email = `${slug}@bench.test`;
  const prisma = connectPrisma(databaseUrl);
  const team = await teamStore(prisma).createTeam(slug);
  const users = userStore(prisma);
  await users.saveMember(team, await users.createUser({ email }), 'admin');
  await prisma.$disconnect();
  return signInAs(baseUrl, email);
}

/** @returns the cookie of the session */
export async function signInAs(baseUrl: string, email: string): Promise<string> {
  const answer = await fetch(`${baseUrl}/auth/dev-login/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email }),
  });
  const cookie = answer.headers.get('set-cookie')?.split(';')[0];
  if (cookie === undefined) throw new Error(`The sign-in failed: ${await answer.text()}`);
  return cookie;
}

const caller = (teamUrl: string, cookie: string): Call => {
  const agent = new Agent({ keepAlive: true });
  return async (method, path, body) => {
    const sent = body === undefined ? '' : JSON.stringify(body);
    const headers = { cookie, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const { status, text } = await exchange({ url: `${teamUrl}${path}`, method, headers, sent }, agent);
    if (status >= 300) throw new Error(`${method} ${path} was answered ${status}: ${text}`);
    return { status, body: text === '' ? null : JSON.parse(text) };
  };
};

function gardenCallsIn(calls: unknown): Record<string, number> {
  const { byRoute } = calls as { byRoute: Record<string, number> };
  return Object.fromEntries(Object.entries(byRoute).filter(([key]) => key.includes('/apis/')));
}

export function residentMiB(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kilobytes) / 1024);
}
