import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { teamStore, userStore } from '@corral/auth';
import type { Pool } from '@corral/database';
import type { GardenSpeed, LocalCloud } from '../system/local-cloud.js';
import type { Program, ProgramSpec } from '../system/program.js';
import {
  api,
  type Ends,
  type Env,
  type Gateway,
  gateway,
  many,
  ownFolder,
  ownGround,
  reconciler,
  startAll,
  UNLIMITED,
  undo,
  undoing,
  withPrisma,
} from '../system/system-parts.js';
import { signIn, type TeamClient, teamClient } from './client.js';
import { type GardenView, gardenView } from './garden-view.js';

export interface ClusterSystemOptions {
  /** The default is 1. */
  readonly apis?: number;
  /** The default is 1. */
  readonly reconcilers?: number;
  /** Gateways of the DNS API. The default is none. */
  readonly gateways?: number;
  /** Each team has an administrator, a member and a connection. The default is `acme`. */
  readonly teams?: readonly string[];
  /** The default is no Redis, so that wake-ups go through Postgres. */
  readonly redisUrl?: string | undefined;
  /** The default is a new database in the Postgres of this run. The caller drops a database that it passes. */
  readonly databaseUrl?: string;
  readonly speed?: Partial<GardenSpeed>;
  /** Overrides variables of every API. */
  readonly apiEnv?: Env;
  /** Overrides variables of every reconciler. */
  readonly reconcilerEnv?: Env;
  /** Overrides variables of the gateway with this number, counted from 1. */
  readonly gatewayEnv?: (index: number) => Env;
  /** How far the clocks of the reconcilers are wrong, in order. The default is not at all. */
  readonly clockShiftsMs?: readonly number[];
}

export interface ClusterTeam {
  readonly id: string;
  readonly slug: string;
  /** The token of the connection that every team has at the ref `main`. */
  readonly providerToken: string;
  readonly admin: TeamClient;
  readonly member: TeamClient;
}

/** The number of requests of all teams that have been answered so far. */
export const answersTo = ({ teams }: Pick<ClusterSystem, 'teams'>): number =>
  teams.reduce((sum, { admin, member }) => sum + admin.answers() + member.answers(), 0);

export interface ClusterApi extends Program {
  /** The address, without a slash at its end. */
  readonly base: string;
}

export interface ClusterSystem {
  readonly cloud: LocalCloud;
  readonly garden: GardenView;
  readonly databaseUrl: string;
  readonly pool: Pool;
  readonly apis: readonly ClusterApi[];
  readonly gateways: readonly Gateway[];
  readonly reconcilers: readonly (Program & { readonly metricsUrl: string })[];
  /** Teams in the order of `teams`. */
  readonly teams: readonly ClusterTeam[];
  /** The values with which every cluster can be declared. */
  readonly surroundings: { readonly connectionRef: string; readonly region: string };
  /** Ends every process and removes everything that was created. */
  stop(): Promise<void>;
}

const CONNECTION_REF = 'main';

/** Intervals that are short enough for a test, with the same ratios as in production. */
const shortTimes = {
  JOB_LOCK_MS: '1s',
  RECONCILE_LEASE_MS: '3s',
  RECONCILE_SWEEP_INTERVAL_MS: '1s',
  CONNECTION_VERIFY_INTERVAL_MS: '1s',
} as const;

/** How long an API or reconciler waits for an answer: longer than any answer takes on a busy machine. */
const patient = { UPSTREAM_TIMEOUT_MS: '30s', UPSTREAM_WAIT_MS: '30s', GARDEN_TIMEOUT_MS: '30s' } as const;
/** Settings for tests in which the provider or the garden does not answer. */
export const shortTimeouts = { UPSTREAM_TIMEOUT_MS: '1s', UPSTREAM_WAIT_MS: '1s', GARDEN_TIMEOUT_MS: '2s' } as const;

const shiftedClock = fileURLToPath(new URL('shifted-clock.mjs', import.meta.url));

/** The cluster product as an operator runs it: real processes, real sockets, a real Postgres, and Redis if asked for. */
export async function startClusterSystem(options: ClusterSystemOptions = {}): Promise<ClusterSystem> {
  const { apis = 1, reconcilers = 1, gateways = 0, teams: slugs = ['acme'], clockShiftsMs = [] } = options;
  const ends: Ends = [];
  try {
    const tokens = new Map(slugs.map((slug) => [slug, randomBytes(32).toString('hex')]));
    const { databaseUrl, redisUrl, speed = {} } = options;
    const ground = await ownGround(ends, {
      databaseUrl,
      redisUrl,
      speed,
      dataDir: await ownFolder(ends),
      projectTokens: [...tokens.values()],
    });
    const { cloud, pool, databases } = ground;
    const garden = await gardenView(cloud);
    const shared = { ...ground.shared, ...shortTimes, ...patient };
    const keys = { SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`, WEBHOOK_HOSTS: 'localhost' };
    const { serviceKubeconfigPaths: kubeconfigs } = cloud;
    const dnsGateways = await many(gateways, (at) =>
      gateway(at, { ...shared, ...databases['dns-gateway'], ...options.gatewayEnv?.(at) }),
    );
    const servers = await many(apis, (at) =>
      clusterApi({
        name: `cluster-api ${at}`,
        env: {
          ...withoutUpstreamToken(shared),
          ...databases['cluster-api'],
          ...keys,
          GARDEN_KUBECONFIG: kubeconfigs.clusterApi,
          DNS_API_URL: dnsGateways[0]?.url,
          ...options.apiEnv,
        },
      }),
    );
    const bases = servers.map(({ base }) => base);
    const started = {
      apis: servers,
      gateways: dnsGateways,
      reconcilers: await many(reconcilers, (at) =>
        reconciler(at, {
          env: {
            ...shared,
            ...databases.reconciler,
            ...keys,
            GARDEN_KUBECONFIG: kubeconfigs.reconciler,
            DNS_API_URL: dnsGateways[0]?.url,
            CORRAL_TEST_CLOCK_SHIFT_MS: String(clockShiftsMs[at - 1] ?? 0),
            ...options.reconcilerEnv,
          },
          nodeArgs: clockShiftsMs[at - 1] === undefined ? [] : ['--import', shiftedClock],
        }),
      ),
    };
    const [ids] = await Promise.all([
      createTeams(ground.databaseUrl, slugs),
      startAll([...started.apis, ...started.reconcilers, ...started.gateways], ends),
    ]);
    const teams = await Promise.all(
      slugs.map((slug) => connectTeam(bases, { slug, id: ids.get(slug) ?? '', providerToken: tokens.get(slug) ?? '' })),
    );
    return {
      cloud,
      garden,
      databaseUrl: ground.databaseUrl,
      pool,
      teams,
      ...started,
      surroundings: { connectionRef: CONNECTION_REF, region: 'hel1' },
      stop: undoing(ends),
    };
  } catch (error) {
    await undo(ends);
    throw error;
  }
}

const withoutUpstreamToken = ({ HCLOUD_TOKEN: _, ...env }: Env): Env => env;

function clusterApi({ env, ...spec }: Pick<ProgramSpec, 'name' | 'env'>): Promise<ClusterApi> {
  return api({
    ...spec,
    file: 'apps/cluster-api/dist/main.js',
    env: {
      DEV_SIGN_IN: 'true',
      LIMIT_PER_ADDRESS: UNLIMITED,
      LIMIT_PER_PERSON: UNLIMITED,
      GARDEN_FEATURES: 'control-plane-ha,adopted-nodes',
      ...env,
    },
  });
}

const emailOf = (role: 'admin' | 'member', slug: string): string => `${role}@${slug}.test`;

const createTeams = (databaseUrl: string, slugs: readonly string[]): Promise<ReadonlyMap<string, string>> =>
  withPrisma(databaseUrl, async (prisma) => {
    const ids = new Map<string, string>();
    for (const slug of slugs) {
      const team = await teamStore(prisma).createTeam(slug);
      for (const role of ['admin', 'member'] as const) {
        const user = await userStore(prisma).createUser({ email: emailOf(role, slug) });
        await userStore(prisma).saveMember(team, user, role);
      }
      ids.set(slug, team.id);
    }
    return ids;
  });

async function connectTeam(
  bases: readonly string[],
  team: Pick<ClusterTeam, 'id' | 'slug' | 'providerToken'>,
): Promise<ClusterTeam> {
  const as = async (role: 'admin' | 'member'): Promise<TeamClient> =>
    teamClient({ bases, team: team.slug, cookie: await signIn(bases[0] as string, emailOf(role, team.slug)) });
  const [admin, member] = [await as('admin'), await as('member')];
  const connected = await admin.insist({
    method: 'PUT',
    path: `/connections/${CONNECTION_REF}/`,
    body: { spec: { name: 'Project', provider: 'hcloud', token: team.providerToken } },
  });
  if (connected.status !== 201) throw new Error(`${team.slug} got no connection: ${connected.text}`);
  return { ...team, admin, member };
}
