import { randomBytes } from 'node:crypto';
import { createEmptyDatabase } from '@corral/testing';
import { signIn } from '../clusters/client.js';
import { type GardenView, gardenView } from '../clusters/garden-view.js';
import { type LocalCloud, startLocalCloud } from './local-cloud.js';
import { type App, type Release, thisRelease } from './previous-release.js';
import { type Program, runAdmin } from './program.js';
import { type RoundRobin, startRoundRobin } from './round-robin.js';
import {
  api,
  type Ends,
  type Env,
  gateway,
  ownFolder,
  reconciler,
  startAll,
  UNLIMITED,
  undo,
  undoing,
  ZONE,
} from './system-parts.js';

const REPLICAS = [1, 2] as const;
const PASSWORD = 'a password of both releases';
const DRAIN_DELAY_MS = '5s';
const CHECK_EVERY_MS = 200;

/** A replica whose release changes with its next start. */
interface Replica {
  readonly program: Program;
  /** Stops it as an orchestrator does, and starts the other release in its place. */
  replaceBy(release: Release): Promise<void>;
}

export interface TwoReleases {
  readonly cloud: LocalCloud;
  readonly garden: GardenView;
  /** Two of each service, in the order in which an upgrade replaces them: one of each, then the others. */
  readonly replicas: readonly Replica[];
  /** Addresses that reach all replicas that are ready. */
  readonly dns: RoundRobin;
  readonly clusters: RoundRobin;
  readonly dnsToken: string;
  readonly cookie: string;
  /** Migrates as the image of this release does before it starts services. */
  migrate(): Promise<void>;
  stop(): Promise<void>;
}

/** An installation of the release before, with a team, a member, a connection and a DNS token, all made by that release. */
export async function startPreviousRelease(previous: Release): Promise<TwoReleases> {
  const ends: Ends = [];
  try {
    const database = await createEmptyDatabase();
    ends.push(() => database.drop());
    const providerToken = randomBytes(32).toString('hex');
    const cloud = await startLocalCloud({ dataDir: await ownFolder(ends), projectTokens: [providerToken] });
    ends.push(() => cloud.program.stop());
    const rolePrefix = `two_releases_${randomBytes(4).toString('hex')}_`;
    const admin = (release: Release, ...args: string[]) =>
      runAdmin(
        args,
        {
          DATABASE_URL: database.url,
          DATABASE_ROLE_PREFIX: rolePrefix,
          DNS_ZONE_NAME: ZONE,
          MIGRATIONS_DIR: release.migrationsDir,
          DNS_GATEWAY_DATABASE_PASSWORD: PASSWORD,
          CLUSTER_API_DATABASE_PASSWORD: PASSWORD,
          RECONCILER_DATABASE_PASSWORD: PASSWORD,
        },
        release.programOf('admin'),
      );
    await admin(previous, 'migrate');
    const services = await makeServices({ databaseUrl: database.url, rolePrefix, cloud, release: previous });
    await startAll(
      services.map(({ program }) => program),
      ends,
    );
    const reachable = (name: string) =>
      services.flatMap(({ app, base }) => (app === name && base !== undefined ? [base] : []));
    const balance = async (bases: readonly string[]): Promise<RoundRobin> => {
      const readyUrls = bases.map((base) => `${base}/readyz`);
      const proxy = await startRoundRobin(bases, { readyUrls, checkEveryMs: CHECK_EVERY_MS });
      ends.push(() => proxy.stop());
      return proxy;
    };
    const [dns, clusters] = [await balance(reachable('dns-gateway')), await balance(reachable('cluster-api'))];

    await admin(previous, 'team', 'create', 'acme');
    await admin(previous, 'user', 'create', 'ann@acme.test');
    await admin(previous, 'team', 'add-member', 'acme', 'ann@acme.test', '--role', 'admin');
    const issued = await admin(previous, '--json', 'token', 'issue', 'acme', '--name', 'two releases');
    const cookie = await signIn(clusters.base, 'ann@acme.test');
    const connected = await fetch(`${clusters.base}/api/v1/teams/acme/connections/main/`, {
      method: 'PUT',
      headers: { cookie, 'content-type': 'application/json' },
      body: JSON.stringify({ spec: { name: 'Project', provider: 'hcloud', token: providerToken } }),
    });
    if (connected.status !== 201) throw new Error(`The team got no connection: ${await connected.text()}`);
    return {
      cloud,
      garden: await gardenView(cloud),
      replicas: services.map(({ program, replaceBy }) => ({ program, replaceBy })),
      dns,
      clusters,
      dnsToken: (JSON.parse(issued) as { token: string }).token,
      cookie,
      migrate: async () => void (await admin(thisRelease, 'migrate')),
      stop: undoing(ends),
    };
  } catch (error) {
    await undo(ends);
    throw error;
  }
}

interface Surroundings {
  readonly databaseUrl: string;
  readonly rolePrefix: string;
  readonly cloud: LocalCloud;
  readonly release: Release;
}

async function makeServices({ databaseUrl, rolePrefix, cloud, release }: Surroundings) {
  const keys = { SECRET_KEYS: `test:${randomBytes(32).toString('base64')}` };
  const shared = {
    DNS_ZONE_NAME: ZONE,
    HCLOUD_API_URL: cloud.apiUrl,
    HCLOUD_TOKEN: cloud.token,
    LOG_LEVEL: 'warn',
    DRAIN_DELAY_MS,
    JOB_LOCK_MS: '1s',
    RECONCILE_LEASE_MS: '3s',
    RECONCILE_SWEEP_INTERVAL_MS: '1s',
  };
  const databaseOf = (app: App): Env => {
    const url = new URL(databaseUrl);
    url.username = `${rolePrefix}${app.replaceAll('-', '_')}`;
    url.password = '';
    return { DATABASE_URL: url.toString(), DATABASE_PASSWORD: PASSWORD };
  };
  const { HCLOUD_TOKEN: _, ...withoutToken } = shared;
  const { clusterApi, reconciler: reconcilerPath } = cloud.serviceKubeconfigPaths;
  const made: (Replica & { app: App; base?: string })[] = [];
  for (const index of REPLICAS) {
    const replica = async (app: App, make: (file: () => string) => Promise<Program & { base?: string }>) => {
      let current = release;
      const program = await make(() => current.programOf(app));
      const replaceBy = async (next: Release): Promise<void> => {
        const { code } = await program.stop();
        if (code !== 0) throw new Error(`${program.name} ended with ${code}.\n${program.output()}`);
        current = next;
        await program.start();
        await program.untilReady();
      };
      made.push({ app, program, replaceBy, ...(program.base === undefined ? {} : { base: program.base }) });
    };
    await replica('dns-gateway', (file) => gateway(index, { ...shared, ...databaseOf('dns-gateway') }, { file }));
    await replica('cluster-api', (file) =>
      api({
        name: `cluster-api ${index}`,
        file,
        env: {
          ...withoutToken,
          ...keys,
          ...databaseOf('cluster-api'),
          DEV_SIGN_IN: 'true',
          LIMIT_PER_ADDRESS: UNLIMITED,
          LIMIT_PER_PERSON: UNLIMITED,
          LIMIT_PER_SESSION: UNLIMITED, // its name in earlier releases
          GARDEN_KUBECONFIG: clusterApi,
        },
      }),
    );
    await replica('reconciler', (file) => {
      const env = { ...shared, ...keys, ...databaseOf('reconciler'), GARDEN_KUBECONFIG: reconcilerPath };
      return reconciler(index, { file, env });
    });
  }
  return made;
}
