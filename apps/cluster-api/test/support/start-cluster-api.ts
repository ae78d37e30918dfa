import { randomBytes } from 'node:crypto';
import { type BudgetStore, memoryBuckets, systemClock } from '@corral/admission';
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
import type { Pool, Prisma } from '@corral/database';
import type { GardenClient } from '@corral/garden';
import { connectProjects } from '@corral/hcloud';
import type { JobName, Queue } from '@corral/queue';
import { KeyRing } from '@corral/secrets';
import { callGuard, createHealth, createMetrics, type Log, silentLog } from '@corral/service';
import { createTestDatabase, patientPool } from '@corral/testing';
import type { Express } from 'express';
import { type ChangeLimits, changeDefaults, eventDefaults, operationWaitLimits } from '../../src/app-config.js';
import { type AppConfig, type AppDeps, buildApp } from '../../src/build-app.js';
import { issuerCalls } from '../../src/token-exchange/issuer-calls.js';
import { issuerKeys } from '../../src/token-exchange/issuer-keys.js';
import { refusalLog } from '../../src/token-exchange/refusal-log.js';
import { recordRefusals } from '../../src/token-exchange/store.js';
import { quotas } from './a-cluster.js';
import { type ApiClient, checkedClient, type TestUser } from './checked-client.js';
import { connectDatabase, type ServiceDatabase } from './connect-database.js';
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
}

interface Wakeup {
  readonly job: JobName;
  readonly payload: unknown;
}

export interface TestClusterApi {
  readonly app: Express;
  /** The dependencies of the app, for further replicas. */
  readonly deps: AppDeps;
  /** Every answer is checked against the contract. */
  readonly api: ApiClient;
  readonly db: Prisma;
  /** The connection pool for reads. */
  readonly pool: Pool;
  /** The connection pool for changes. */
  readonly changes: ServiceDatabase['changes'];
  readonly databaseUrl: string;
  readonly acme: TestTeam;
  readonly globex: TestTeam;
  /** The keys that encrypt stored secrets. */
  readonly secrets: KeyRing;
  /** Jobs sent to the queue, oldest first. */
  readonly wakeups: Wakeup[];
  createTeam(slug: string): Promise<TestTeam>;
  createUser(email: string, memberships?: readonly { team: TeamRecord; role: Role }[]): Promise<TestUser>;
  /** Starts a new session. @returns its `Cookie` header */
  signIn(user: Pick<TestUser, 'id'>): Promise<string>;
  /** Creates a service account with a token that is valid for a day. @returns the token */
  createAccount(team: TestTeam, name: string, spec: Partial<AccountNarrowing> & { role: Role }): Promise<string>;
  close(): Promise<void>;
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
  readonly idleMs?: number;
  readonly absoluteMs?: number;
}

/** Starts the cluster API as `main.ts` wires it, on its own database. */
export async function startClusterApi(options: TestOptions = {}): Promise<TestClusterApi> {
  const database = await createTestDatabase();
  const log = options.log ?? silentLog;
  const connected = connectDatabase({
    databaseUrl: database.url,
    applicationName: 'test',
    connections: options.connections ?? 12,
    ...patientPool,
    ...(options.lockTimeoutMs !== undefined && { lockTimeoutMs: options.lockTimeoutMs }),
    onIdleError: () => undefined,
  });
  const { pool, prisma: db, changes } = connected;
  const times = { idleMs: options.idleMs ?? 12 * HOUR_MS, absoluteMs: options.absoluteMs ?? 168 * HOUR_MS };
  const sessions = sessionStore(pool, db, times);
  const sessionUse = sessionUseRecorder(pool, times, () => undefined);
  const accountUse = accountTokenUseRecorder(pool, () => undefined);
  const wakeups: Wakeup[] = [];
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
    changes,
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
    budgets: { readAll: async () => ({}) } as BudgetStore,
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
  const signIn = async ({ id }: Pick<TestUser, 'id'>): Promise<string> =>
    `sessionid=${(await sessions.start(id, null)).secret}`;
  const createUser: TestClusterApi['createUser'] = async (email, memberships = []) => {
    const user = await users.createUser({ email });
    for (const { team, role } of memberships) await users.saveMember(team, user, role);
    return { id: user.id, email, cookie: await signIn(user) };
  };
  const createTeam = async (slug: string): Promise<TestTeam> => {
    const team = await teams.createTeam(slug);
    return {
      ...team,
      admin: await createUser(`admin@${slug}.test`, [{ team, role: 'admin' }]),
      member: await createUser(`member@${slug}.test`, [{ team, role: 'member' }]),
      path: (rest) => `/api/v1/teams/${slug}${rest}`,
    };
  };
  return {
    app,
    deps,
    db,
    pool,
    changes,
    databaseUrl: database.url,
    secrets,
    wakeups,
    createTeam,
    createUser,
    signIn,
    async createAccount(team, name, { role, ...narrowing }) {
      const path = team.path(`/service-accounts/${name}/`);
      const admin = api.as(team.admin);
      await admin.put(path).send({ spec: { role, narrowing } });
      return (await admin.post(`${path}tokens/`).send({ expiresInDays: 1 })).body.token;
    },
    api,
    acme: await createTeam('acme'),
    globex: await createTeam('globex'),
    async close() {
      await sessionUse.close();
      await accountUse.close();
      await refusals.close();
      await connected.close();
      await database.drop();
    },
  };
}
