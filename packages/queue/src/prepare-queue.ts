import { assertSchemaCompatibility, LATEST_SCHEMA_VERSION, runMigrations, SchemaMigrationRequiredError } from 'bullmq';
import pg from 'pg';
import { jobs } from './jobs.js';
import { CONNECT_MS, queueSchema } from './postgres-pool.js';

/**
 * Creates or migrates the schema of the queue in Postgres unless it is up to date, which only the owner of the schema may do. A
 * service whose role is not the owner needs the schema to be there: `admin migrate` prepares it.
 */
export async function prepareQueue({ databaseUrl }: { readonly databaseUrl: string }): Promise<void> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: 10_000,
    application_name: 'corral-queue',
  });
  client.on('error', () => undefined); // the next statement reports it
  try {
    await client.connect();
    if (!(await isQueuePrepared(client))) await runMigrations(client, queueSchema);
    await createJobNumbers(client);
  } finally {
    await client.end();
  }
}

/** Whether the schema of the queue in Postgres is that of this release, or a newer one that fits. Changes nothing. */
export async function isQueuePrepared(database: pg.Client | pg.Pool): Promise<boolean> {
  try {
    return (await assertSchemaCompatibility(database, queueSchema)) >= LATEST_SCHEMA_VERSION;
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return false;
    throw error;
  }
}

/** BullMQ creates the sequence of a queue with its first job, which a role without rights on the schema cannot. */
async function createJobNumbers(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT name FROM (SELECT ${queueSchema}.job_id_seq_name(queue) AS name FROM unnest($1::text[]) AS queue) AS wanted
     WHERE to_regclass('${queueSchema}.' || quote_ident(name)) IS NULL`,
    [[...new Set(Object.values(jobs).map(({ queue }) => queue))]],
  );
  if (rows.length === 0) return;
  const statements = rows.map(
    ({ name }) => `CREATE SEQUENCE IF NOT EXISTS ${queueSchema}.${pg.escapeIdentifier(name)}`,
  );
  try {
    await client.query(statements.join(';'));
  } catch (error) {
    // Another process creates them at the same time, which `IF NOT EXISTS` does not cover.
    if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error;
    await createJobNumbers(client);
  }
}

const UNIQUE_VIOLATION = '23505';
