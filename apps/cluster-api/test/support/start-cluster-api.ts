import { randomBytes, randomUUID } from 'node:crypto';
import { memoryBuckets, systemClock } from '@corral/admission';
import {
  accountTokenUseRecorder,
  accountVerifier,
  deviceSignInStore,
  sessionStore,
  sessionUseRecorder,
  signInCodeStore,
  type TeamRecord,
  teamStore,
  userStore,
} from '@corral/auth';
import type { AccountNarrowing, Role } from '@corral/contracts';
import { connectPool, connectPrisma, type PoolOptions } from '@corral/database';
import type { GardenClient } from '@corral/garden';
import { connectProjects } from '@corral/hcloud';
import type { JobName, Queue } from '@corral/queue';
import { KeyRing } from '@corral/secrets';
import { callGuard, createHealth, createMetrics, type Log, silentLog } from '@corral/service';
import { createTestDatabase, patientPool } from '@corral/testing';
import { type ChangeLimits, changeDefaults, eventDefaults, operationWaitLimits } from '../../src/app-config.js';
import { type AppConfig, type AppDeps, buildApp } from '../../src/build-app.js';
import { issuerCalls } from '../../src/token-exchange/issuer-calls.js';
import { issuerKeys } from '../../src/token-exchange/issuer-keys.js';
import { refusalLog } from '../../src/token-exchange/refusal-log.js';
import { recordRefusals } from '../../src/token-exchange/store.js';
import { quotas } from './a-cluster.js';
import { checkedClient, type Requests, type TestUser } from './checked-client.js';
import { fakeGarden } from './fake-garden.js';

export const PUBLIC_URL = 'http://corral.test';
export const CONSOLE_URL = 'http://console.test';
const HOUR_MS = 3_600_000;
/** Waits for the same time as `patientPool`, and for the same reason. */
const patientChanges: ChangeLimits = { ...changeDefaults, waitMs: 30_000 };

export interface TestTeam extends TeamRecord {
  readonly admin: TestUser;
  readonly member: TestUser;
  /** `/api/v1/teams/{slug}` followed by `rest`. */
  path(rest: string): string;
  /** Requests of the administrator and of the member. Their paths begin as `path` does. */
  readonly asAdmin: Requests;
  readonly asMember: Requests;
}

export interface TestOptions {
  readonly config?: Partial<AppConfig>;
  readonly deps?: Partial<AppDeps>;
  /** Default: `fakeGarden()`. */
  readonly garden?: GardenClient;
  readonly log?: Log;
  /** Number of Postgres connections, half of them for changes. */
  readonly connections?: number;
  /** Default: the statement timeout. */
  readonly lockTimeoutMs?: number;
}

/** Starts the cluster API as `main.ts` wires it, on its own database. */
export async function startClusterApi(options: TestOptions = {}) {
  const database = await createTestDatabase();
  const log = options.log ?? silentLog;
  // Changes have a pool of their own, as each occupies a connection for a whole transaction.
  const connect = (more: Partial<PoolOptions> = {}) => {
    const connectionsMax = (options.connections ?? 12) / 2;
    const onIdleError = () => undefined;
    const common = { databaseUrl: database.url, applicationName: 'test', connectionsMax, onIdleError };
    return connectPool({ ...common, ...patientPool, ...more });
  };
  const pool = connect();
  const changePool = connect(options.lockTimeoutMs === undefined ? {} : { lockTimeoutMs: options.lockTimeoutMs });
  const [db, changes] = [connectPrisma(pool), connectPrisma(changePool)];
  const times = { idleMs: 12 * HOUR_MS, absoluteMs: 168 * HOUR_MS };
  const sessions = sessionStore(pool, db, times);
  const sessionUse = sessionUseRecorder(pool, times, () => undefined);
  const accountUse = accountTokenUseRecorder(pool, () => undefined);
  /** Jobs sent to the queue, oldest first. */
  const wakeups: { readonly job: JobName; readonly payload: unknown }[] = [];
  const calls = issuerCalls(callGuard({ privateHosts: [], allowLoopback: true }));
  const refusals = refusalLog({
    write: (entry) => recordRefusals(db, entry),
    after: systemClock.after,
    onError: () => undefined,
  });
  const secrets = new KeyRing([{ id: 'test', bytes: randomBytes(32) }]);
  const deps: AppDeps = {
    config: {
      publicUrl: () => PUBLIC_URL,
      quotas,
      gardenFeatures: new Set(),
      trustProxy: false,
      secureCookies: true,
      devSignIn: false,
      requestsInFlightMax: 1_000,
      readConnections: 1_000,
      dnsRecordsPerTeam: 200,
      dnsRequestsPerTeamPerMinute: 600,
      dnsApi: { endpoint: 'https://dns.test/v1', zone: 'example.test' },
      events: eventDefaults,
      changes: patientChanges,
      operationWaits: operationWaitLimits,
      adoptedServersPerTeam: 50,
      consoleEnabled: true,
      securityContact: 'https://security.example.test',
      consoleUrl: () => CONSOLE_URL,
      billingSecrets: [],
      subscriptionRequired: false,
      limits: {
        perAddressPerMinute: 100_000,
        perPersonPerMinute: 100_000,
        signInRequestsPerAddressPerMinute: 100_000,
        devices: { signInsPerAddress: 100_000, wrongCodesPerAddress: 100_000, wrongCodesPerPerson: 100_000 },
      },
      ...options.config,
    },
    prisma: db,
    pool,
    changes: { prisma: changes, connections: (options.connections ?? 12) / 2 },
    sessions,
    codes: signInCodeStore(db, times),
    devices: deviceSignInStore(db, times),
    sessionUse,
    accounts: accountVerifier(pool),
    accountUse,
    log,
    oidc: null,
    issuerCalls: calls,
    webhookGuard: callGuard({ privateHosts: [], allowLoopback: false }),
    issuerKeys: issuerKeys({ calls, coolDownMs: 0 }),
    refusals,
    now: Date.now,
    buckets: memoryBuckets(Date.now),
    readBudgets: async () => ({}),
    eventNotifications: () => undefined,
    secrets,
    verifyToken: async () => 'valid',
    // Nothing listens there. Tests of servers pass a fake provider.
    projects: connectProjects({ baseUrl: 'http://127.0.0.1:9/v1', timeoutMs: 1_000 }),
    garden: options.garden ?? fakeGarden(),
    queue: { nudge: async (job: JobName, payload: unknown) => void wakeups.push({ job, payload }) } as Queue,
    health: createHealth({ checks: { database: () => pool.query('SELECT 1') }, log }),
    metrics: createMetrics({ service: 'test' }),
    ...options.deps,
  };
  const app = buildApp(deps);

  const api = checkedClient(app, PUBLIC_URL);

  const teams = teamStore(db);
  const users = userStore(db);
  /** Starts a new session. @returns its `Cookie` header */
  const signIn = async ({ id }: Pick<TestUser, 'id'>): Promise<string> =>
    `sessionid=${(await sessions.start(id, null)).secret}`;
  const createUser = async (
    email: string,
    memberships: readonly { team: TeamRecord; role: Role }[] = [],
  ): Promise<TestUser> => {
    const user = await users.createUser({ email });
    for (const { team, role } of memberships) await users.saveMember(team, user, role);
    return { id: user.id, email, cookie: await signIn(user) };
  };
  /** Default: a slug that no other team has. */
  const createTeam = async (slug = `t-${randomUUID().slice(0, 8)}`): Promise<TestTeam> => {
    const team = await teams.createTeam(slug);
    const [admin, member] = [
      await createUser(`admin@${slug}.test`, [{ team, role: 'admin' }]),
      await createUser(`member@${slug}.test`, [{ team, role: 'member' }]),
    ];
    const path = (rest: string) => `/api/v1/teams/${slug}${rest}`;
    return { ...team, admin, member, path, asAdmin: api.as(admin, path), asMember: api.as(member, path) };
  };
  return {
    app,
    /** The dependencies of the app, for further replicas. */
    deps,
    db,
    /** The connection pool for reads. */
    pool,
    databaseUrl: database.url,
    /** The keys that encrypt stored secrets. */
    secrets,
    wakeups,
    createTeam,
    createUser,
    signIn,
    /** Creates a service account with a token that is valid for a day. @returns the token */
    async createAccount(
      team: TestTeam,
      name: string,
      { role, ...narrowing }: Partial<AccountNarrowing> & { role: Role },
    ): Promise<string> {
      const path = `/service-accounts/${name}/`;
      await team.asAdmin.put(path).send({ spec: { role, narrowing } });
      return (await team.asAdmin.post(`${path}tokens/`).send({ expiresInDays: 1 })).body.token;
    },
    /** Every answer is checked against the contract. */
    api,
    acme: await createTeam('acme'),
    globex: await createTeam('globex'),
    async close(): Promise<void> {
      await sessionUse.close();
      await accountUse.close();
      await refusals.close();
      await Promise.all([db.$disconnect(), changes.$disconnect()]);
      await Promise.all([pool.end(), changePool.end()]);
      await database.drop();
    },
  };
}
export type TestClusterApi = Awaited<ReturnType<typeof startClusterApi>>;
