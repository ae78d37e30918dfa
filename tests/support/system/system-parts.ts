import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  connectPool,
  connectPrisma,
  type DatabaseService,
  databaseServices,
  grantServiceRights,
  type Pool,
  roleOf,
} from '@corral/database';
import { prepareQueue, queueSchema } from '@corral/queue';
import { createTestDatabase, explainFailures, freePort, patientTransactions } from '@corral/testing';
import { type LocalCloud, type LocalCloudOptions, startLocalCloud, UNLIMITED, ZONE } from './local-cloud.js';
import { type Program, type ProgramSpec, program } from './program.js';

export type Env = Readonly<Record<string, string | undefined>>;
/** Clean-up functions, in the order in which the things were created. */
export type Ends = (() => Promise<unknown>)[];

export { DEMO_ZONE, UNLIMITED, ZONE } from './local-cloud.js';

/** Longer than any program may take to end. Jest's own bound would not say what hangs. */
const CLEAN_UP_MS = 120_000;

/** Functions that undo further lists, in which each function has a bound of its own. */
const nested = new WeakSet<() => Promise<unknown>>();

/** `undo` as a clean-up function of another list. */
export function undoing(ends: Ends): () => Promise<void> {
  const end = () => undo(ends);
  nested.add(end);
  return end;
}

/**
 * Runs all clean-up functions, last first, also after one that fails. It may be called repeatedly.
 *
 * @throws Error with the text of a function that hangs. AggregateError if several fail
 */
export async function undo(ends: Ends): Promise<void> {
  const errors: unknown[] = [];
  for (const end of ends.splice(0).reverse()) {
    await (nested.has(end) ? end() : endWithin(end)).catch((error: unknown) => errors.push(error));
  }
  if (errors.length > 1) throw new AggregateError(errors, errors.map(String).join('\n'));
  if (errors.length === 1) throw errors[0];
}

async function endWithin(end: () => Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const hangs = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`This clean-up does not end: ${end}`)), CLEAN_UP_MS);
  });
  await Promise.race([end(), hangs]).finally(() => clearTimeout(timer));
}

/** A temporary folder, which accounts without rights may enter, as Postgres does. */
export async function ownFolder(ends: Ends): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-test-'));
  ends.push(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o755);
  return folder;
}

export async function ownDatabase(ends: Ends): Promise<string> {
  const database = await createTestDatabase();
  ends.push(() => database.drop());
  return database.url;
}

/** The password has characters with a meaning in URLs, shells and SQL. */
const PASSWORD = `p@ss:/?#[]%25 '"$\\&+=${'x'.repeat(4)}`;

/**
 * How each service connects to the database: with its own role, as in production, so that every test of the whole system also
 * shows that the list of rights is complete.
 */
export async function serviceDatabases(databaseUrl: string): Promise<{ readonly [service in DatabaseService]: Env }> {
  await prepareQueue({ databaseUrl });
  const passwords = Object.fromEntries(databaseServices.map((service) => [service, PASSWORD]));
  await grantServiceRights({ databaseUrl, queueSchema, passwords });
  const envOf = (service: DatabaseService): Env => {
    const url = new URL(databaseUrl);
    url.username = roleOf(service);
    url.password = '';
    return { DATABASE_URL: url.toString(), DATABASE_PASSWORD: PASSWORD };
  };
  return { 'dns-gateway': envOf('dns-gateway'), 'cluster-api': envOf('cluster-api'), reconciler: envOf('reconciler') };
}

/** What the programs of a system stand on, and the environment that they share. */
export async function ownGround(
  ends: Ends,
  {
    databaseUrl: given,
    redisUrl,
    ...cloudOptions
  }: LocalCloudOptions & { readonly databaseUrl?: string | undefined; readonly redisUrl?: string | undefined },
) {
  const databaseUrl = given ?? (await ownDatabase(ends));
  const cloud: LocalCloud = await startLocalCloud(cloudOptions);
  ends.push(() => cloud.program.stop());
  const shared = {
    REDIS_URL: redisUrl,
    DNS_ZONE_NAME: ZONE,
    HCLOUD_API_URL: cloud.apiUrl,
    HCLOUD_TOKEN: cloud.token,
    LOG_LEVEL: 'warn',
  };
  return {
    databaseUrl,
    cloud,
    pool: ownPool(databaseUrl, ends),
    databases: await serviceDatabases(databaseUrl),
    shared,
  };
}

/** Works on the rows of a system as its operators do. */
export async function withPrisma<T>(
  databaseUrl: string,
  work: (prisma: ReturnType<typeof connectPrisma>) => Promise<T>,
): Promise<T> {
  const prisma = connectPrisma(databaseUrl, patientTransactions);
  try {
    return await work(prisma);
  } finally {
    await prisma.$disconnect();
  }
}

export function ownPool(databaseUrl: string, ends: Ends): Pool {
  const pool = connectPool({ databaseUrl, applicationName: 'system test', onIdleError: () => undefined });
  const callOff = explainFailures('last events', () => lastEvents(pool));
  ends.push(() => {
    callOff();
    return pool.end();
  });
  return pool;
}

/** The latest events that the product itself records, newest last. */
async function lastEvents(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ line: string }>(`
    SELECT line FROM (
      SELECT created_at AS at, concat_ws(' ', 'write', id, operation, name, type, state, upstream_status) AS line
      FROM dns_audit_entry
      UNION ALL
      SELECT created_at, concat_ws(' ', 'audit', id, action, target_kind, target_name) FROM audit_entry
      UNION ALL
      SELECT updated_at, concat_ws(' ', 'operation', id, kind, target_name, state, progress || '%', nullif(error, '{}'))
      FROM operation
    ) AS event ORDER BY at DESC LIMIT 15`);
  return rows
    .map(({ line }) => line)
    .reverse()
    .join('\n');
}

/** @param make gets 1, 2, … */
export async function many<T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let index = 1; index <= count; index += 1) made.push(await make(index));
  return made;
}

/** Starts all programs concurrently and waits until each is ready. */
export async function startAll(programs: readonly Program[], ends: Ends): Promise<void> {
  ends.push(() => Promise.all(programs.map((each) => each.stop())));
  await Promise.all(programs.map((each) => each.start()));
  await Promise.all(programs.map((each) => each.untilReady()));
}

/** An API with its own address, which is `base`. */
export async function api(
  spec: Pick<ProgramSpec, 'name' | 'file' | 'env' | 'nodeArgs'>,
): Promise<Program & { base: string }> {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const ports = { HOST: '127.0.0.1', PORT: String(port), METRICS_PORT: '0' };
  // All clients of a test share one address.
  const env = { ...ports, CONNECTIONS_PER_ADDRESS: UNLIMITED, ...spec.env };
  return Object.assign(program({ ...spec, env, readyUrl: `${base}/readyz` }), { base });
}

/** A worker, whose health checks are on its metrics port. */
export async function reconciler(
  index: number,
  spec: Pick<ProgramSpec, 'env' | 'nodeArgs'> & Partial<Pick<ProgramSpec, 'file'>>,
): Promise<Program & { metricsUrl: string }> {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const made = program({
    name: `reconciler ${index}`,
    file: 'apps/reconciler/dist/main.js',
    ...spec,
    env: { METRICS_PORT: String(port), ...spec.env },
    readyUrl: `${base}/readyz`,
  });
  return Object.assign(made, { metricsUrl: `${base}/metrics` });
}

export interface Gateway extends Program {
  /** The address without a path. */
  readonly base: string;
  /** The address, which ends in `/v1`. */
  readonly url: string;
}

/** Intervals that are short enough for a test. */
const shortTimes = { SETTLE_AFTER_MS: '700ms', SETTLE_WITHIN_MS: '1s', ACTION_POLL_MS: '100ms' } as const;
/** How long a gateway waits at most: longer than any answer takes on a busy machine. */
const patient = { UPSTREAM_TIMEOUT_MS: '30s', UPSTREAM_WAIT_MS: '30s', WRITE_WAIT_MS: '60s' } as const;
/** Settings for tests in which a gateway gives up: the same ratios as in production. */
export const shortWaits = {
  UPSTREAM_TIMEOUT_MS: '1s',
  UPSTREAM_WAIT_MS: '1500ms',
  WRITE_WAIT_MS: '2500ms',
} as const;

export async function gateway(
  index: number,
  env: Env,
  spec: Partial<Pick<ProgramSpec, 'nodeArgs' | 'file'>> = {},
): Promise<Gateway> {
  const limits = { LIMIT_PER_ADDRESS: UNLIMITED, LIMIT_PER_TOKEN: UNLIMITED, LIMIT_PER_TEAM: UNLIMITED };
  const made = await api({
    name: `dns-gateway ${index}`,
    file: 'apps/dns-gateway/dist/main.js',
    ...spec,
    env: { ...shortTimes, ...patient, ...limits, ...env },
  });
  return Object.assign(made, { url: `${made.base}/v1` });
}
