import pg from 'pg';
import { type Queryable, takesNoWrites } from './connect.js';
import { migrationNames } from './generated/migration-names.js';
import { isDatabaseAway } from './statement-errors.js';

/*
 * What a service asks of its Postgres before it works with it: direct sessions, a server that takes writes, and all migrations.
 */

export interface CheckedDatabase {
  /** The pool of the checks themselves. Its statements should not wait for those of requests. */
  readonly pool: Queryable;
  readonly databaseUrl: string;
  readonly applicationName: string;
}

/**
 * The check of readiness. Sessions are looked at until they are known to be direct, the rest each time.
 *
 * @returns a function that rejects with a sentence that says what to do
 */
export function databaseCheck({ pool, databaseUrl, applicationName }: CheckedDatabase): () => Promise<void> {
  let isDirect = false;
  return async () => {
    if (!isDirect && (await behindTransactionPooler(databaseUrl, applicationName))) {
      throw new Error(
        'DATABASE_URL leads through a pooler that shares sessions (transaction mode). Notifications and locks do not work there: a revoked token would stay valid. Set the pooler to session mode (pool_mode = session in PgBouncer), or DATABASE_URL to Postgres itself.',
      );
    }
    isDirect = true;
    const { rows } = await pool.query<{ is_read_only: boolean }>(
      `SELECT current_setting('transaction_read_only') = 'on' AS is_read_only`,
    );
    if (rows[0]?.is_read_only !== false) throw takesNoWrites();
    const missing = await missingMigration(pool);
    if (missing !== null) {
      throw new Error(
        `The schema of the database is older than this release: the migration ${missing} is missing. Run \`corral-admin migrate\` of this release.`,
      );
    }
  };
}

/**
 * The same check when a process starts. While Postgres is unavailable it passes: readiness finds out later.
 *
 * @throws the error of the check, which should end the process
 */
export async function startCheck(check: () => Promise<void>): Promise<void> {
  await check().catch((error: unknown) => {
    if (!isDatabaseAway(error)) throw error;
  });
}

/** Migrations have indexes with `NULLS NOT DISTINCT`. */
const POSTGRES_MIN = 15;

/**
 * @param version as in `server_version_num`
 * @throws Error for a server that is too old for the migrations
 */
export function refuseOldServer(version: number): void {
  const major = Math.floor(version / 10_000);
  if (major < POSTGRES_MIN)
    throw new Error(`Postgres ${POSTGRES_MIN} or newer is needed. The server is a Postgres ${major}.`);
}

/** SQLSTATE `undefined_table`, and `insufficient_privilege`: an older `migrate` gave no right to read the table. */
const unreadable = new Set(['42P01', '42501']);

/** The migrations that were applied, by name; none if the table is absent or unreadable. */
export async function appliedMigrations(db: Queryable): Promise<{ name: string; checksum: string }[]> {
  const { rows } = await db
    .query<{ name: string; checksum: string }>(
      `SELECT migration_name AS name, checksum FROM _prisma_migrations
       WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY migration_name COLLATE "C"`,
    )
    .catch((error: { code?: string }) => {
      if (unreadable.has(error.code ?? '')) return { rows: [] };
      throw error;
    });
  return rows;
}

/**
 * @param known the migrations of this release; a database may have more, because migrations only expand
 * @returns the first of them that was not applied, or null
 */
export async function missingMigration(
  db: Queryable,
  known: readonly string[] = migrationNames,
): Promise<string | null> {
  const names = new Set((await appliedMigrations(db)).map(({ name }) => name));
  return known.find((name) => !names.has(name)) ?? null;
}

const LOOKS = 5;
const CONNECT_MS = 5_000;

/**
 * Whether sessions at the address are shared: two connections that are open at once have the same server process, or one of them has
 * several. An idle pooler gives the process that was used last, or the next in turn; a busy one is looked at several times.
 */
export async function behindTransactionPooler(databaseUrl: string, applicationName: string): Promise<boolean> {
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({
      connectionString: databaseUrl,
      application_name: applicationName,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: CONNECT_MS,
    });
    client.on('error', () => undefined); // the next statement reports it
    clients.push(client);
    await client.connect();
    return client;
  };
  const clients: pg.Client[] = [];
  try {
    const [one, other] = [await connect(), await connect()];
    const [first, second] = [await backendOf(one), await backendOf(other)];
    if (first === second) return true;
    for (let look = 0; look < LOOKS; look += 1) {
      // Twice in a row: a pooler that takes turns gives another process each time.
      for (const [client, known] of [
        [one, first],
        [one, first],
        [other, second],
        [other, second],
      ] as const) {
        if ((await backendOf(client)) !== known) return true;
      }
    }
    return false;
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  }
}

const backendOf = async (client: pg.Client): Promise<number | undefined> =>
  (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid;
